/**
 * Writes the schema of a database as SQL, so that a migration shows its effect in the diff of `schema.sql`. `pg_dump`
 * does this, too, but it is not on every machine, its versions write different files, and it does not come with an npm
 * package.
 */
import type { Sql } from '../src/base/db/transact'

/**
 * @returns extensions, then each table with its constraints, indexes and triggers, then functions; ends with a line
 *   break
 */
export async function dumpSchema(sql: Sql): Promise<string> {
  const [row] = await sql<{ schema: string }[]>`
    with tables as (
      select c.oid, c.relname as name,
        format(E'create table %I (\n%s\n)%s;\n', c.relname, (
          select string_agg(line, E',\n' order by place, name) from (
            select 0 as place, to_char(attnum, '0000') as name, format('  %I %s%s%s', attname, format_type(atttypid, atttypmod),
              case attstorage when 'e' then ' storage external' end,
              case attgenerated when 's' then ' generated always as (' || pg_get_expr(adbin, adrelid) || ') stored'
                else ' default ' || pg_get_expr(adbin, adrelid) end)
              || case when attnotnull then ' not null' else '' end as line
            from pg_attribute a left join pg_attrdef d on adrelid = attrelid and adnum = attnum
            where attrelid = c.oid and attnum > 0 and not attisdropped
            union all
            select position(contype::text in 'pufcx'), conname, format('  constraint %I %s', conname, pg_get_constraintdef(oid))
            from pg_constraint where conrelid = c.oid and contype <> 'n' and contype <> 't'
          ) lines
        ), ' with (' || array_to_string(c.reloptions, ', ') || ')') as text
      from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    ),
    parts as (
      select 1 as place, extname::text as name, '' as part, format(E'create extension %I;\n', extname) as text
      from pg_extension where extname <> 'plpgsql'
      union all select 2, name, '', E'\n' || text from tables
      union all
      select 2, t.name, '1 ' || i.relname, pg_get_indexdef(i.oid) || E';\n'
      from tables t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
      where not exists (select from pg_constraint where conindid = i.oid and contype in ('p', 'u', 'x'))
      union all
      select 2, t.name, '2 ' || tgname, pg_get_triggerdef(g.oid) || E';\n'
      from tables t join pg_trigger g on g.tgrelid = t.oid where not tgisinternal
      union all
      select 3, proname, '', E'\n' || pg_get_functiondef(p.oid) || E';\n'
      from pg_proc p where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
    )
    select string_agg(text, '' order by place, name collate "C", part collate "C") as schema from parts`
  return `-- Written by npm run migration.\n${row!.schema.replaceAll('public.', '').replace(/[ \t]+$/gm, '')}`
}
