import { addressKey } from '../address/email'
import type { Connection } from '../db/transact'
import { ApiError } from '../errors'
import type { Me } from './model'

type Account = { id: string; email: string; name: string; password_hash: string }

/** Finds the account of an email, however it is written. */
export async function findAccount({ sql }: Connection, email: string): Promise<Account | undefined> {
  const [account] = await sql<Account[]>`
    select id, email, name, password_hash from users where email_key = ${addressKey(email.trim())}`
  return account
}

/**
 * Locks an account whose password was verified before the transaction, until it ends. Sign-ins do not wait for each other.
 * @returns undefined when the password has been changed since
 */
export async function lockVerified(
  { sql }: Connection,
  { id, password_hash }: Pick<Account, 'id' | 'password_hash'>,
): Promise<Account | undefined> {
  const [account] = await sql<Account[]>`
    select id, email, name, password_hash from users
    where id = ${id} and password_hash = ${password_hash} for share`
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

/** Returns the caller's account with its memberships. @throws INVALID_TOKEN when the account was deleted */
export async function getMe(connection: Connection, user_id: string): Promise<Me> {
  const [me] = await connection.sql<Omit<Me, 'organizations'>[]>`
    select id, email, name from users where id = ${user_id}`
  if (!me) throw new ApiError('INVALID_TOKEN')
  return { ...me, organizations: await listMemberships(connection, user_id) }
}
