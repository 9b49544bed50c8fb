/**
 * The lock of an account. Each sign-in takes it, and all that changes who may sign in, so that they come one after the
 * other.
 */
import { addressKey } from '../address/email'
import type { Connection } from './transact'

type InTransaction = Pick<Connection, 'sql'>

/**
 * Locks an account until the caller's transaction ends: nobody signs in to it meanwhile, and it becomes a member
 * nowhere. A transaction that locks admins too locks the account first. It is no lock of the row, because on a cluster
 * that is one on every machine: nobody could sign in while one of them is away.
 */
export async function lockAccount({ sql }: InTransaction, user_id: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`account ${user_id}`}, 0))`
}

/** Locks the account of an email until the caller's transaction ends. @returns undefined when there is none */
export async function lockAccountOf(inner: InTransaction, email: string): Promise<{ id: string } | undefined> {
  const found = await findId(inner, email)
  if (!found) return undefined
  await lockAccount(inner, found.id)
  // The account may have got another email before it was locked.
  const now = await findId(inner, email)
  return now?.id === found.id ? found : lockAccountOf(inner, email)
}

/** Locks those of the accounts that nobody else has locked, without waiting. @returns their ids */
export async function lockFreeAccounts({ sql }: InTransaction, user_ids: string[]): Promise<string[]> {
  const locked = await sql<{ id: string }[]>`
    select id from unnest(${user_ids}::text[]) as id
    where pg_try_advisory_xact_lock(hashtextextended('account ' || id, 0))`
  return locked.map(({ id }) => id)
}

async function findId({ sql }: InTransaction, email: string): Promise<{ id: string } | undefined> {
  const [account] = await sql<{ id: string }[]>`select id from users where email_key = ${addressKey(email)}`
  return account
}
