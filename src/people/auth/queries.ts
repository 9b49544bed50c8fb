import { addressKey } from '../../base/address/email'
import { lockAccount } from '../../base/db/account-lock'
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import type { Me } from './model'
import { type NotifyReason, notifyOf } from './notify'

type Account = { id: string; email: string; name: string; password_hash: string }

/** Finds the account of an email, however it is written. */
export async function findAccount({ sql }: Connection, email: string): Promise<Account | undefined> {
  const [account] = await sql<Account[]>`
    select id, email, name, password_hash from users where email_key = ${addressKey(email.trim())}`
  return account
}

/**
 * Locks an account whose password was verified before the transaction, until it ends.
 * @returns undefined when the password has been changed since
 */
export async function lockVerified(
  inner: Connection,
  { id, password_hash }: Pick<Account, 'id' | 'password_hash'>,
): Promise<Account | undefined> {
  await lockAccount(inner, id)
  const [account] = await inner.sql<Account[]>`
    select id, email, name, password_hash from users where id = ${id} and password_hash = ${password_hash}`
  return account
}

/** Lists the active memberships of an account, oldest first. */
export async function listMemberships({ sql }: Connection, user_id: string): Promise<Me['organizations']> {
  return sql<Me['organizations']>`
    select o.id, o.name, m.role
    from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = ${user_id} and m.active and m.removed_at is null
    order by m.created_at, o.id`
}

/** The caller of a route about the own account, and the id of the organization that is meant. */
export type OwnAccount = { id: string; session_id: string | null; meant_id?: string }

/**
 * Returns the caller's account with its active memberships, oldest first, and what belongs to the membership of the
 * organization that is meant. One statement reads all: a row for each membership costs less than JSON that the database
 * makes of them (76 against 124 µs of CPU for 53). A session of an identity provider has the organization of it alone.
 * @throws INVALID_TOKEN when the account was deleted
 */
export async function getMe({ sql }: Connection, { id: user_id, session_id, meant_id }: OwnAccount): Promise<Me> {
  type Row = { email: string; user_name: string; available: boolean; notify: NotifyReason[] } & (
    | Me['organizations'][number]
    | { id: null }
  )
  const rows = await sql<Row[]>`
    select u.email, u.name as user_name, o.id, o.name, m.role, m.available, m.notify
    from users u
    left join (memberships m join organizations o on o.id = m.organization_id)
      on m.user_id = u.id and m.active and m.removed_at is null
        and m.organization_id = coalesce(${kindOf(sql, session_id)}, m.organization_id)
    where u.id = ${user_id}
    order by m.created_at, o.id`
  const [me] = rows
  if (!me) throw new ApiError('INVALID_TOKEN')
  const joined = rows.flatMap((row) => (row.id === null ? [] : row))
  const organizations = joined.map(({ id, name, role }) => ({ id, name, role }))
  const meant = joined.find(({ id }) => id === meant_id)
  return { id: user_id, email: me.email, name: me.user_name, organizations, ...(meant && ownFields(meant)) }
}

/** Fields of an account that belong to a membership. */
type OwnFields = Pick<Me, 'available' | 'notify'>

function ownFields({ available, notify }: { available: boolean; notify: NotifyReason[] }): OwnFields {
  return { available, notify: notifyOf(notify) }
}

/**
 * Tells whether an account is a member of another organization too. An import elsewhere counts only for an organization
 * that knows the person by an import alone: anybody's address can stand in its files.
 */
export async function isMemberElsewhere(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  user_id: string,
): Promise<boolean> {
  const found = await sql<{ is_own: boolean; is_imported: boolean }[]>`
    select organization_id = ${organization_id} as is_own, is_imported from memberships
    where user_id = ${user_id} and removed_at is null`
  const has_joined = found.some(({ is_own, is_imported }) => is_own && !is_imported)
  return found.some(({ is_own, is_imported }) => !is_own && !(is_imported && has_joined))
}

/** SQL of the organization whose identity provider a session began at; null for one that began with a password. */
export function kindOf(sql: Sql, session_id: string | null): Fragment {
  return sql`(select k.provider_organization_id from refresh_tokens k where k.id = ${session_id}::uuid)`
}

/** Tells whether every organization of an account wants its members to sign in at its identity provider. */
export async function needsProvider({ sql }: Connection, user_id: string): Promise<boolean> {
  const [found] = await sql<{ needed: boolean }[]>`
    select coalesce(bool_and(exists (
      select 1 from identity_providers p where p.organization_id = m.organization_id and p.required
    )), false) as needed
    from memberships m where m.user_id = ${user_id} and m.active and m.removed_at is null`
  return found!.needed
}
