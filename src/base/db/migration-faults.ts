/** Says in one line for the operator why the database cannot be migrated. */
import type postgres from 'postgres'
import { OperatorError } from '../errors'

/** A reason why this release cannot use the database. Its message is one line for the operator. */
export class MigrationError extends OperatorError {}

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
    const right = await missingRight(sql, statement ?? '').catch(() => undefined)
    return new MigrationError(`${place}: ${right ?? error.message}`)
  }
  if (code === READ_ONLY) return new MigrationError(READ_ONLY_LINE)
  return new MigrationError(`${place}: ${NAMES_OBJECTS.test(code) ? error.message : 'the server refused it'} (${code})`)
}

/** The migration, or what else was done, and the statement. */
export type Where = [what: string, statement?: string]

const READ_ONLY_LINE =
  'the database takes no changes: the server is a standby, or default_transaction_read_only is on. DATABASE_URL must name ' +
  'the primary; with several hosts add target_session_attrs=read-write'

/** @throws MigrationError for a standby, or a database that is set to be read only */
export async function refuseReadOnly(sql: postgres.ISql): Promise<void> {
  const [server] = await sql<{ read_only: boolean }[]>`
    select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only`
  if (server!.read_only) throw new MigrationError(READ_ONLY_LINE)
}

/** Asks the catalog which right the role lacks: messages of the server may be in any language. */
async function missingRight(sql: postgres.ISql, statement: string): Promise<string | undefined> {
  const [extension] = /(?<=create extension (?:if not exists )?"?)\w+/i.exec(statement) ?? []
  const [found] = await sql<
    { role: string; quoted: string; database: string; may_create: boolean; may_public: boolean }[]
  >`
    select current_user as role, quote_ident(current_user) as quoted, current_database() as database,
      has_database_privilege(current_database(), 'create') as may_create,
      coalesce(has_schema_privilege('public', 'create'), false) as may_public`
  const { role, quoted, database, may_create, may_public } = found!
  if (!may_create) {
    return `role ${role} may not create in database ${database}: GRANT CREATE ON DATABASE "${database}" TO ${quoted}`
  }
  if (!may_public) return `role ${role} may not create in schema public: GRANT CREATE ON SCHEMA public TO ${quoted}`
  if (extension) {
    return `role ${role} may not create the extension ${extension}: a superuser must run CREATE EXTENSION ${extension}`
  }
  const [foreign] = await sql<{ name: string; owner: string; quoted_owner: string }[]>`
    select c.oid::regclass::text as name, pg_get_userbyid(relowner) as owner, quote_ident(pg_get_userbyid(relowner)) as quoted_owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where nspname in ('public', 'drizzle') and relkind in ('r', 'p') and not pg_has_role(relowner, 'usage')
    order by 1 limit 1`
  if (!foreign) return undefined
  const { name, owner, quoted_owner } = foreign
  return `role ${role} does not own table ${name}, role ${owner} does: connect as ${owner}, or GRANT ${quoted_owner} TO ${quoted}`
}

function shortened(statement: string): string {
  const line = statement.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim()
  return line.length > STATEMENT_MOST ? `${line.slice(0, STATEMENT_MOST)}…` : line
}
