/** One connection for long transactions of the operator's commands: backup, restore, export. It has no time limits. */
import type postgres from 'postgres'
import type { ConnectionOptions } from './connection-url'
import { type Client, NO_LIMITS, openClient } from './driver-client'
import type { WireTypes } from './transact'

/** A transaction. COPY goes through `unsafe(statement).readable()` and `.writable()`. */
export type Transaction = postgres.TransactionSql<WireTypes>

export type Session = Client

/**
 * Connects, does `work`, and disconnects. No setting outlives a transaction, so that a pooler does no harm.
 * @param target a connection URL, or options of postgres.js
 */
export async function withSession<T>(
  target: string | ConnectionOptions,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const client = openClient(target, 1, NO_LIMITS)
  try {
    return await work(client)
  } finally {
    await client.end({ timeout: 1 })
  }
}

/**
 * Runs a transaction without time limits, in which values read and write the same on every server.
 * @param mode as in BEGIN, such as `isolation level repeatable read read only`
 */
export async function longTransaction<T>(
  session: Session,
  mode: string,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const result = await session.begin(mode, async (transaction) => {
    await transaction.unsafe(SETTINGS.map(([name, value]) => `set local ${name} = ${value}`).join(';'))
    return work(transaction)
  })
  return result as T
}

const SETTINGS = [
  ['statement_timeout', '0'],
  ['lock_timeout', '0'],
  ['idle_in_transaction_session_timeout', '0'],
  ['timezone', "'UTC'"],
  ['datestyle', "'ISO, YMD'"],
  ['intervalstyle', "'postgres'"],
  ['bytea_output', "'hex'"],
  ['extra_float_digits', '1'],
] as const
