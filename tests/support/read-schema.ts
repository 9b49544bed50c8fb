/** Reads the schema of a database, to compare it with that of another. */
import type postgres from 'postgres'

/** All that a migration makes, as PostgreSQL describes it. */
export async function readSchema(sql: postgres.Sql): Promise<Record<string, unknown[]>> {
  const kinds: Record<string, string> = {
    columns: `select table_name, column_name, column_default, is_nullable, udt_name, numeric_precision, generation_expression,
      identity_generation from information_schema.columns where table_schema = 'public'`,
    tables: `select relname, reloptions::text, relrowsecurity from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'S')`,
    indexes: `select indexdef from pg_indexes where schemaname = 'public'`,
    constraints: `select conrelid::regclass::text as name, conname, pg_get_constraintdef(oid) as text from pg_constraint
      where connamespace = 'public'::regnamespace`,
    triggers: 'select pg_get_triggerdef(oid) as text from pg_trigger where not tgisinternal',
    functions: `select p.oid::regprocedure::text as name, case when p.prokind = 'f' then pg_get_functiondef(p.oid) end as text,
      obj_description(p.oid) as comment from pg_proc p where pronamespace = 'public'::regnamespace`,
  }
  const found: Record<string, unknown[]> = {}
  for (const [kind, statement] of Object.entries(kinds)) {
    const rows = await sql.unsafe(`select to_jsonb(s)::text as text from (${statement}) as s order by 1`)
    found[kind] = rows.map(({ text }) => text)
  }
  return found
}
