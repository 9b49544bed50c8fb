import type { Connection } from '../db/transact'
import { ApiError } from '../errors'
import type { Me } from './model'

export type Account = { id: string; email: string; name: string; password_hash: string }

/** The account of an email, without regard to case. */
export async function findAccount({ sql }: Connection, email: string): Promise<Account | undefined> {
  const [account] = await sql<Account[]>`
    select id, email, name, password_hash from users where lower(email) = lower(${email.trim()})`
  return account
}

/** Where and as what an account may act: its active memberships, oldest first. */
export async function listMemberships({ sql }: Connection, user_id: string): Promise<Me['organizations']> {
  return sql<Me['organizations']>`
    select o.id, o.name, m.role
    from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = ${user_id} and m.active and m.removed_at is null
    order by m.created_at, o.id`
}

/** The caller. @throws INVALID_TOKEN when the account is gone */
export async function getMe(connection: Connection, user_id: string): Promise<Me> {
  const [me] = await connection.sql<Omit<Me, 'organizations'>[]>`
    select id, email, name from users where id = ${user_id}`
  if (!me) throw new ApiError('INVALID_TOKEN')
  return { ...me, organizations: await listMemberships(connection, user_id) }
}
