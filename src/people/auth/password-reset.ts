/**
 * Forgotten passwords: a link that leaves by email sets a new one. The link goes by the operator's server. Without one
 * it goes by the mailbox of the account's organization, if the account has no other: its admins could read the link,
 * but may set the password anyway.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { addressKey } from '../../base/address/email'
import { lockAccount } from '../../base/db/account-lock'
import { onDatabaseClosed } from '../../base/db/closing'
import { newId } from '../../base/db/columns'
import { type Connection, transact } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { subscriberOf } from '../../base/net/client-address'
import { inTransaction, type Origin, type Scope, SYSTEM } from '../../base/scope'
import { forgetMemberships } from '../../http/admission/membership'
import { createLimiter, rateLimited } from '../../http/admission/rate-limit'
import { hashToken, newSecretToken } from '../../http/admission/tokens'
import { enqueueLetter } from '../../mail/letters/enqueue-letter'
import { resetLetter } from '../../mail/letters/letter-texts'
import { findWay, isOwnMailbox } from '../../mail/letters/ways'
import { auditAccount, writeAccountEntries } from './account-audit'
import { hashPassword } from './password'
import { isMemberElsewhere } from './queries'
import { endSessions } from './sessions'

const VALID_S = 3600
/** Links that an account gets in an hour. */
const LINKS_PER_HOUR = 3
/** Requests for links that one client may send in an hour. */
const REQUESTS_PER_HOUR = 20
/**
 * Every answer takes as long: the time does not show which emails have an account. Measured: 15 ms for one that has.
 */
const ANSWER_MS = 200

let requests: ReturnType<typeof createLimiter> | undefined
onDatabaseClosed(() => {
  requests = undefined
})

/**
 * Sends a link to the account of an email, if there is one. Nothing tells the caller whether there is.
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws RATE_LIMITED for a client that asked too often
 */
export async function requestReset(
  connection: Connection,
  email: string,
  { ip }: Origin,
  headers: Record<string, string | number>,
): Promise<void> {
  requests ??= createLimiter('password-forgot', REQUESTS_PER_HOUR, VALID_S)
  const { consumedPoints, msBeforeNext } = await requests.consume(subscriberOf(ip)).catch((refused) => {
    if (refused instanceof Error) throw refused
    return refused
  })
  if (consumedPoints > REQUESTS_PER_HOUR) throw rateLimited(msBeforeNext, headers)
  await Promise.all([sendReset(connection, email), sleep(ANSWER_MS)])
}

/**
 * Sets a new password with the token of a link, and ends all sessions of the account.
 * @throws INVALID_TOKEN, TOKEN_EXPIRED
 */
export async function resetPassword(
  connection: Connection,
  { token, new_password }: { token: string; new_password: string },
  origin: Origin,
): Promise<void> {
  await getReset(connection, token)
  const password_hash = await hashPassword(new_password, origin.ip)
  const user_id = await transact(connection, async (inner) => {
    const { sql } = inner
    const { user_id, organization_id } = await getReset(inner, token)
    await lockAccount(inner, user_id)
    const { count } = await sql`
      update password_resets set used_at = now() where token_hash = ${hashToken(token)} and used_at is null`
    if (count === 0 || (organization_id && (await isMemberElsewhere({ sql, organization_id }, user_id)))) {
      throw new ApiError('INVALID_TOKEN')
    }
    await sql`update password_resets set used_at = now() where user_id = ${user_id} and used_at is null`
    await sql`
      update users
      set password_hash = ${password_hash}, is_password_held = ${organization_id === null}, updated_at = now()
      where id = ${user_id}`
    await endSessions(inner, user_id)
    await auditAccount({ ...inner, origin }, user_id, {
      action: 'auth.password_reset',
      resource: { type: 'user', id: user_id },
    })
    return user_id
  })
  forgetMemberships(user_id)
  await writeAccountEntries(connection, user_id)
}

/** Deletes resets a day after they expired: until then their tokens are answered with TOKEN_EXPIRED. */
export async function removeOldResets({ sql }: Connection): Promise<void> {
  await sql`delete from password_resets where expires_at < now() - interval '1 day'`
}

async function sendReset(connection: Connection, email: string): Promise<void> {
  const { sql } = connection
  const memberships = await sql<{ id: string; email: string; organization_id: string; active: boolean }[]>`
    select u.id, u.email, m.organization_id, m.active
    from users u join memberships m on m.user_id = u.id
    where u.email_key = ${addressKey(email.trim())} and m.removed_at is null and not m.is_imported
    order by m.created_at, m.organization_id`
  const first = memberships.find(({ active }) => active)
  if (!first) return
  const scope: Scope = { ...connection, organization_id: first.organization_id, actor: SYSTEM }
  if (await isOwnMailbox(scope, first.email)) return
  const way = await findWay(scope)
  if (!way || (way.type === 'mailbox' && memberships.length > 1)) return
  await inTransaction(scope, async (scope) => {
    const token = newSecretToken()
    const organization_id = way.type === 'mailbox' ? scope.organization_id : null
    const about_id = await insertReset(scope, first, token, organization_id)
    if (!about_id) return
    await enqueueLetter(scope, way, { about_id, recipient: first.email, valid_s: VALID_S, ...resetLetter(token) })
  })
}

/** @returns undefined when the account has had its links of this hour, or has another address meanwhile */
async function insertReset(
  scope: Scope,
  { id: user_id, email }: { id: string; email: string },
  token: string,
  organization_id: string | null,
): Promise<string | undefined> {
  const { sql } = scope
  await lockAccount(scope, user_id)
  const { count } = await sql`select from users where id = ${user_id} and email = ${email}`
  if (count === 0) return undefined
  const [sent] = await sql<[{ links: number }]>`
    select count(*) as links from password_resets
    where user_id = ${user_id} and created_at > now() - interval '1 hour'`
  if (sent.links >= LINKS_PER_HOUR) return undefined
  const id = newId()
  await sql`
    insert into password_resets (id, user_id, organization_id, token_hash, expires_at)
    values (
      ${id}, ${user_id}, ${organization_id}, ${hashToken(token)}, now() + make_interval(secs => ${VALID_S})
    )`
  return id
}

type Reset = { user_id: string; organization_id: string | null }

/** @throws TOKEN_EXPIRED; INVALID_TOKEN when it is unknown or used */
async function getReset({ sql }: Connection, token: string): Promise<Reset> {
  const [row] = await sql<(Reset & { expired: boolean })[]>`
    select user_id, organization_id, expires_at <= now() as expired
    from password_resets where token_hash = ${hashToken(token)} and used_at is null`
  if (!row) throw new ApiError('INVALID_TOKEN')
  if (row.expired) throw new ApiError('TOKEN_EXPIRED')
  return row
}
