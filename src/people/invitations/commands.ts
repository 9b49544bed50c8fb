/** The deeds of the organization and the operator on invitations: make them, send them again, take them back. */
import { addressKey } from '../../base/address/email'
import { audit, OPERATOR } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import type { Connection } from '../../base/db/transact'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError } from '../../base/errors'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { hashToken, newSecretToken } from '../../http/admission/tokens'
import { enqueueLetter, withdrawLetters } from '../../mail/letters/enqueue-letter'
import { invitationLetter, invitationLink } from '../../mail/letters/letter-texts'
import { isOwnMailbox, requireWay, type Way } from '../../mail/letters/ways'
import { countLetter, forgetOldLetters } from './letter-limits'

const VALID_S = 7 * 24 * 3600
/** Expired invitations can still be sent again for this time. */
const KEPT_DAYS = 30

type NewInvitation = { email: string; name: string; role?: 'admin' | 'agent'; hourly_rate?: number; currency?: string }

/**
 * Invites an address: the link leaves by email.
 * @returns the invitation's id
 * @throws EMAIL_SEND_FAILED when no email can leave, EMAIL_ALREADY_EXISTS when the address is invited already,
 *   RATE_LIMITED
 */
export async function createInvitation(scope: Scope, input: NewInvitation): Promise<string> {
  return inTransaction(scope, async (scope) => {
    const way = await requireWay(scope)
    await refuseMailbox(scope, input.email)
    const token = newSecretToken()
    const id = await insertInvitation(scope, input, token, proofOf(way))
    await enqueueInvitation(scope, way, { id, email: input.email, token })
    const changes = changesOf(null, { ...input, role: input.role ?? 'agent' })
    await audit(scope, { action: 'invitation.created', resource: { type: 'invitation', id }, changes })
    return id
  })
}

/**
 * Invites an address without an email, for the operator, who passes the link on. @returns the invitation's id and link
 */
export async function createInvitationLink(scope: Scope, input: NewInvitation): Promise<{ id: string; link: string }> {
  const token = newSecretToken()
  const id = await insertInvitation(scope, input, token, 'for all')
  return { id, link: invitationLink(token) }
}

/**
 * Sends an invitation again, for another 7 days. The link of before ends.
 * @throws USER_NOT_FOUND when there is no such invitation; EMAIL_SEND_FAILED, RATE_LIMITED
 */
export async function resendInvitation(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const [invitation] = await sql<{ email: string }[]>`
      select email from invitations where organization_id = ${organization_id} and id = ${id} for update`
    if (!invitation) throw new ApiError('USER_NOT_FOUND')
    const { email } = invitation
    const way = await requireWay(scope)
    await refuseMailbox(scope, email)
    const token = await renewToken(scope, id, proofOf(way))
    await enqueueInvitation(scope, way, { id, email, token })
    await audit(scope, { action: 'invitation.resent', resource: { type: 'invitation', id } })
  })
}

/** Takes an invitation back. @returns false when there is no such invitation */
export async function revokeInvitation(scope: Scope, id: string): Promise<boolean> {
  const { sql, organization_id } = scope
  const { count } = await sql`delete from invitations where organization_id = ${organization_id} and id = ${id}`
  if (count === 0) return false
  await withdrawLetters(scope, id)
  await audit(scope, { action: 'invitation.revoked', resource: { type: 'invitation', id } })
  return true
}

type RenewedInvitation = { organization: { id: string; name: string }; email: string; link: string }

/**
 * Makes a new link for each invitation of an address, in all organizations, for the operator. The links of before end.
 */
export async function renewLinks(connection: Connection, email: string): Promise<RenewedInvitation[]> {
  const { sql } = connection
  const found = await sql<{ organization_id: string; organization_name: string; id: string; email: string }[]>`
    select i.organization_id, o.name as organization_name, i.id, i.email
    from invitations i join organizations o on o.id = i.organization_id
    where i.email_key = ${addressKey(email)} order by i.id`
  const renewed: RenewedInvitation[] = []
  for (const { organization_id, organization_name, id, email } of found) {
    const token = await inTransaction({ ...connection, organization_id, actor: SYSTEM }, async (scope) => {
      const resource = { type: 'invitation', id } as const
      await audit({ ...scope, actor: OPERATOR }, { action: 'operator.invitation_link', resource })
      return renewToken(scope, id, 'for all')
    })
    renewed.push({ organization: { id: organization_id, name: organization_name }, email, link: invitationLink(token) })
  }
  return renewed
}

/** Deletes invitations that nobody answered or sent again, 30 days after they expired. */
export async function removeOldInvitations(connection: Connection): Promise<void> {
  await forgetOldLetters(connection)
  await connection.sql`delete from invitations where expires_at < now() - make_interval(days => ${KEPT_DAYS})`
}

/**
 * The worth of the link of an invitation: a proof to all organizations, or to its own alone (`mail/letters/ways.ts`).
 */
type Proof = 'for all' | 'for its own'

function proofOf(way: Way): Proof {
  return way.type === 'operator' ? 'for all' : 'for its own'
}

/** @throws EMAIL_ALREADY_EXISTS */
async function insertInvitation(scope: Scope, input: NewInvitation, token: string, proof: Proof): Promise<string> {
  const { sql, organization_id } = scope
  const { email, name, hourly_rate = null, currency = null } = input
  const role = input.role ?? 'agent'
  const id = newId()
  await sql`
    insert into invitations
      (organization_id, id, email, email_key, name, role, hourly_rate, currency, token_hash, is_proof, expires_at)
    values (${organization_id}, ${id}, ${email}, ${addressKey(email)}, ${name}, ${role}, ${hourly_rate}, ${currency}, ${hashToken(token)},
      ${proof === 'for all'}, now() + make_interval(secs => ${VALID_S}))`.catch((error) => {
    throw violates(error, 'invitations_email') ? alreadyInvited() : error
  })
  return id
}

/** The error for an address that is invited to the organization already. */
export function alreadyInvited(): ApiError {
  return fieldError('EMAIL_ALREADY_EXISTS', '/email', 'is invited already')
}

/** Gives an invitation a new token; letters with the one of before do not go out. */
async function renewToken(scope: Scope, id: string, proof: Proof): Promise<string> {
  const { sql, organization_id } = scope
  const token = newSecretToken()
  await sql`
    update invitations
    set token_hash = ${hashToken(token)}, is_proof = ${proof === 'for all'}, expires_at = now() + make_interval(secs => ${VALID_S})
    where organization_id = ${organization_id} and id = ${id}`
  await withdrawLetters(scope, id)
  return token
}

/** @throws EMAIL_SEND_FAILED */
async function refuseMailbox(scope: Scope, email: string): Promise<void> {
  if (!(await isOwnMailbox(scope, email))) return
  throw fieldError('EMAIL_SEND_FAILED', '/email', 'is the address of a mailbox')
}

type Invited = { id: string; email: string; token: string }

async function enqueueInvitation(scope: Scope, way: Way, { id, email, token }: Invited): Promise<void> {
  const { sql, organization_id, actor } = scope
  await countLetter(scope, email)
  const [organization] = await sql<{ name: string }[]>`select name from organizations where id = ${organization_id}`
  const letter = invitationLetter({ organization: organization!.name, inviter: actor.name, token })
  await enqueueLetter(scope, way, { about_id: id, recipient: email, valid_s: VALID_S, ...letter })
}
