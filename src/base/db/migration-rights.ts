/** Asks the catalog which rights a role lacks for migrations: messages of the server may be in any language. */
import type postgres from 'postgres'
import { locksOf } from './migration-locks'

type Rights = {
  role: string
  quoted: string
  database: string
  may_create: boolean
  may_public: boolean
  may_note: boolean
  foreign: { name: string; owner: string; quoted_owner: string }[] | null
}

/** A right that is missing, and the statement that gives it. */
type Lack = { obstacle: string; action: string }

/**
 * Compares the rights of the role with those that statements of migrations ask for. Applied migrations are
 * listed in a separate schema. To make it, the role needs CREATE on the database.
 */
export async function lackingRights(sql: postgres.ISql, statements: string[]): Promise<Lack[]> {
  const locks = await locksOf(sql, statements)
  // Only the owner may change a table or build an index on it.
  const owned = [...locks].filter(([, mode]) => mode === 'ACCESS EXCLUSIVE' || mode === 'SHARE').map(([table]) => table)
  const [rights] = await sql<Rights[]>`
    select current_user as role, quote_ident(current_user) as quoted, quote_ident(current_database()) as database,
      has_database_privilege(current_database(), 'create') as may_create,
      coalesce(has_schema_privilege('public', 'create'), false) as may_public, coalesce((
        select has_schema_privilege(oid, 'create') from pg_namespace where nspname = 'drizzle'
      ), true) as may_note, (
        select json_agg(json_build_object('name', c.oid::regclass::text, 'owner', pg_get_userbyid(relowner),
          'quoted_owner', quote_ident(pg_get_userbyid(relowner))) order by relname)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where relkind in ('r', 'p') and not pg_has_role(relowner, 'usage') and (
          (nspname = 'public' and relname = any(${owned}::text[])) or (nspname = 'drizzle' and relname = '__drizzle_migrations')
        )
      ) as foreign`
  const { role, quoted, database, may_create, may_public, may_note, foreign } = rights!
  const found: Lack[] = []
  const add = (obstacle: string, action: string) => found.push({ obstacle, action })
  if (!may_create) {
    add(`role ${role} may not create in database ${database}`, `GRANT CREATE ON DATABASE ${database} TO ${quoted}.`)
  }
  const creates = statements.some((text) => /^\s*create (?!extension|schema)/im.test(text))
  if (creates && !may_public) {
    add(`role ${role} may not create in schema public`, `GRANT CREATE ON SCHEMA public TO ${quoted}.`)
  }
  if (!may_note) add(`role ${role} may not create in schema drizzle`, `GRANT CREATE ON SCHEMA drizzle TO ${quoted}.`)
  for (const [owner, tables] of Map.groupBy(foreign ?? [], (one) => one.owner)) {
    const names = tables.map(({ name }) => name).join(', ')
    add(
      `role ${role} does not own ${names}, role ${owner} does`,
      `Connect as ${owner}, or GRANT ${tables[0]!.quoted_owner} TO ${quoted}.`,
    )
  }
  return found
}
