/** Looks up a caller's session, and role in an organization, and remembers them for a few seconds. */
import { LRUCache } from 'lru-cache'
import type { Connection, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { gathered } from '../../base/flow/gather'

type Membership = {
  name: string
  email: string
  role: 'admin' | 'agent'
  /** The organization lets nobody act who signed in with a password alone. */
  require_second_factor: boolean
  /** The organization lets nobody act who signed in with a password at all. */
  is_provider_required: boolean
}

/**
 * A change that another process makes counts after this time. The API promises 10 seconds for sessions and 60 for
 * roles: the rest is for a database that answers late, and for a busy process.
 */
const REMEMBER_MS = 5000

/** Counts what was forgotten, so that a look-up that began before a change is not remembered. */
let changes = 0

const known = new LRUCache<string, Membership>({ max: 10_000, ttl: REMEMBER_MS })

/**
 * Returns the active membership of a user in an organization.
 * @throws FORBIDDEN for an organization that the user does not belong to, as for one that does not exist
 */
export async function getMembership(
  connection: Connection,
  user_id: string,
  organization_id: string,
): Promise<Membership> {
  const key = `${organization_id} ${user_id}`
  const remembered = known.get(key)
  if (remembered) return remembered
  const changes_before = changes
  const membership = await findMembership({ connection, user_id, organization_id })
  if (!membership) throw new ApiError('FORBIDDEN')
  if (changes === changes_before) known.set(key, membership)
  return membership
}

/** Nobody asks in a way that fails: a database that does not answer is not asked again for each. */
const mayRepeat = () => false

type Member = { connection: Connection; user_id: string; organization_id: string }

/** Those of an organization that are asked for at the same time are one statement: streams are judged together. */
const findMembership = gathered<Member, Membership | undefined>(
  async (asked) => {
    const { connection, organization_id } = asked[0]!
    const found = await connection.sql<(Membership & { user_id: string })[]>`
      select m.user_id, u.name, u.email, m.role, o.require_second_factor, exists (
        select 1 from identity_providers p where p.organization_id = ${organization_id} and p.required
      ) as is_provider_required
      from memberships m join users u on u.id = m.user_id join organizations o on o.id = ${organization_id}
      where m.organization_id = ${organization_id} and m.user_id = any(${asked.map(({ user_id }) => user_id)}::uuid[])
        and m.active and m.removed_at is null`
    const memberships = new Map(found.map(({ user_id, ...membership }) => [user_id, membership]))
    return asked.map(({ user_id }) => memberships.get(user_id))
  },
  { key: ({ organization_id }) => organization_id, mayRepeat },
)

/** The session of an access token: null for a token of a release without sessions. */
export type TokenOfUser = { id: string; session_id: string | null; issued_at_s: number }

/** The facts of a session that goes on. */
type Session = {
  has_second_factor: boolean
  /** The organization of a session that began at an identity provider. */
  provider_organization_id: string | null
}

const live = new LRUCache<string, Session>({ max: 10_000, ttl: REMEMBER_MS })

/** Ended sessions whose token was refused. */
const ended = new LRUCache<string, true>({ max: 10_000 })

/** Tells if a token was refused by this process because its session was ended. */
export function isEnded(token: TokenOfUser): boolean {
  return ended.has(keyOf(token))
}

/**
 * Checks that the session of an access token goes on. @throws INVALID_TOKEN when it was ended, or the account deleted
 */
export async function requireSession(connection: Connection, token: TokenOfUser): Promise<Session> {
  const key = keyOf(token)
  const remembered = live.get(key)
  if (remembered) return remembered
  const changes_before = changes
  const session = await findSession({ connection, token })
  if (!session) {
    ended.set(key, true)
    throw new ApiError('INVALID_TOKEN')
  }
  if (changes === changes_before) live.set(key, session)
  return session
}

/** Those that are asked for at the same time are one statement. */
const findSession = gathered(
  async (asked: { connection: Connection; token: TokenOfUser }[]) =>
    readSessions(
      asked[0]!.connection.sql,
      asked.map(({ token }) => token),
    ),
  { most_runs: 4, mayRepeat },
)

function keyOf({ id, session_id, issued_at_s }: TokenOfUser): string {
  return `${session_id ?? issued_at_s} ${id}`
}

/** Does the same without what is remembered, for a transaction that has locked the account. @throws INVALID_TOKEN */
export async function requireSessionNow({ sql }: Connection, token: TokenOfUser): Promise<Session> {
  const [session] = await readSessions(sql, [token])
  if (!session) throw new ApiError('INVALID_TOKEN')
  return session
}

/** @returns a session for each token, undefined for one that was ended */
async function readSessions(sql: Sql, tokens: TokenOfUser[]): Promise<(Session | undefined)[]> {
  const found = await sql<(Session & { place: number })[]>`
    select a.place::integer, exists (
      select 1 from second_factors f where f.id = u.id and f.confirmed_at is not null
    ) as has_second_factor, (
      select t.provider_organization_id from refresh_tokens t where t.id = a.session_id
    ) as provider_organization_id
    from unnest(
      ${tokens.map(({ id }) => id)}::uuid[], ${tokens.map(({ session_id }) => session_id)}::uuid[],
      ${tokens.map(({ issued_at_s }) => issued_at_s)}::double precision[]
    ) with ordinality a (id, session_id, issued_at_s, place)
    join users u on u.id = a.id
    where case when a.session_id is null
      then coalesce(u.sessions_ended_at < to_timestamp(a.issued_at_s), true)
      else exists (
        select 1 from refresh_tokens t
        where t.id = a.session_id and t.user_id = u.id and t.signed_out_at is null
          and (t.provider_organization_id is null or t.expires_at > now())
      ) end`
  const sessions = new Map(found.map(({ place, ...session }) => [place, session]))
  return tokens.map((_, place) => sessions.get(place + 1))
}

/** Forgets what is remembered of a user, after a change of the account, of a membership or of a session. */
export function forgetMemberships(user_id: string): void {
  changes++
  for (const key of known.keys()) if (key.endsWith(user_id)) known.delete(key)
  for (const key of live.keys()) if (key.endsWith(user_id)) live.delete(key)
}

/** Forgets what is remembered of all members of an organization, after a change of what it requires. */
export function forgetMembershipsIn(organization_id: string): void {
  changes++
  for (const key of known.keys()) if (key.startsWith(organization_id)) known.delete(key)
}
