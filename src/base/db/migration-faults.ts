/** Says in one line for the operator why the database cannot be migrated. */
import type postgres from 'postgres'
import { OperatorError } from '../errors'
import { lackingRights } from './migration-rights'

/** A reason why this release cannot use the database. Its message is one line for the operator. */
export class MigrationError extends OperatorError {}

const OLDEST_MAJOR = 15
const STATEMENT_MOST = 80

const INSUFFICIENT_PRIVILEGE = '42501'
const READ_ONLY = '25006'

/**
 * Classes of errors whose messages name objects, never values of rows: connection, access, syntax, resources, our own.
 */
const NAMES_OBJECTS = /^(08|0A|2B|3D|3F|42|53|54|55|57|58|P0)/

/**
 * Makes the line for a failure of the server.
 * @param sql a connection outside any transaction, to look at rights
 * @param where what failed: migration and statement
 */
export async function toMigrationError(sql: postgres.ISql, error: unknown, where: Where): Promise<unknown> {
  const { code } = error as { code?: unknown }
  if (!(error instanceof Error) || typeof code !== 'string' || error instanceof OperatorError) return error
  const [, statement] = where
  const place = `${where[0]} failed${statement ? ` in "${shortened(statement)}"` : ''}`
  if (code === INSUFFICIENT_PRIVILEGE) {
    const [lack] = await lackingRights(sql, statement ? [statement] : []).catch(() => [])
    return new MigrationError(`${place}: ${lack ? `${lack.obstacle}: ${lack.action}` : error.message}`)
  }
  if (code === READ_ONLY) return new MigrationError(READ_ONLY_LINE)
  return new MigrationError(`${place}: ${NAMES_OBJECTS.test(code) ? error.message : 'the server refused it'} (${code})`)
}

/** The migration, or what else was done, and the statement. */
export type Where = [what: string, statement?: string]

const READ_ONLY_LINE =
  'the database takes no changes: the server is a standby, or default_transaction_read_only is on. DATABASE_URL must name ' +
  'the primary; with several hosts add target_session_attrs=read-write'

/** @throws MigrationError for a server that lacks what the service needs */
export async function refuseOldServer(sql: postgres.ISql): Promise<void> {
  const [server] = await sql<{ number: number; name: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name`
  if (server && server.number < OLDEST_MAJOR * 10_000) {
    throw new MigrationError(`the database server is PostgreSQL ${server.name}: ${OLDEST_MAJOR} or later is needed`)
  }
}

/** @throws MigrationError for a standby, or a database that is set to be read only */
export async function refuseReadOnly(sql: postgres.ISql): Promise<void> {
  const [server] = await sql<{ read_only: boolean }[]>`
    select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only`
  if (server!.read_only) throw new MigrationError(READ_ONLY_LINE)
}

function shortened(statement: string): string {
  const line = statement.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim()
  return line.length > STATEMENT_MOST ? `${line.slice(0, STATEMENT_MOST)}…` : line
}
