import { describe, expect, test } from 'bun:test'
import path from 'node:path'
import { readSources } from '../../support/sources'
import { EXCEPTIONS } from '../../support/tenant-exceptions'
import { findOpenSlices, findUnbound } from '../../support/tenant-lint'
import { TENANT_TABLES } from '../../support/tenant-tables'

const SOURCES = [...readSources(path.join(import.meta.dir, '../../../src'))]

/** The statements that the product leaves out, by file and function. */
const UNBOUND = SOURCES.flatMap(([file, { text }]) =>
  findUnbound(text, TENANT_TABLES).map((one) => ({ place: `${file} ${one.within}`, file, ...one })),
)

const PLACES = Object.values(EXCEPTIONS).flat()

describe('every statement names the organization of each table by a parameter:', () => {
  test('in the product', () => {
    const found = UNBOUND.filter(({ place }) => !PLACES.some((one) => covers(one, place)))
    expect(
      found.map(({ file, line, within, table, why }) => `src/${file}.ts:${line} ${within}: ${table} (${why})`),
    ).toEqual([])
  })

  test.each(PLACES)('the exception %s is one', (exception) => {
    expect(UNBOUND.filter(({ place }) => covers(exception, place))).not.toBeEmpty()
  })
})

/** An UPDATE of a distributed table with one ends a server with Citus 13 by a segmentation fault. */
describe('an array slice has a beginning and an end:', () => {
  test('in the product', () => {
    expect(SOURCES.flatMap(([file, { text }]) => findOpenSlices(text).map((line) => `src/${file}.ts:${line}`))).toEqual(
      [],
    )
  })

  test.each([
    ['update r set a = a[2:]', true],
    ['update r set a = a[:2]', true],
    ['update r set a = a[:]', true],
    [`update r set a = a[greatest(b[1], \${n}) : ]`, true],
    [`update r set a = (select coalesce(r.a[\${n}:], b))`, true],
    [`update r set a = a[2:cardinality(a)]`, false],
    [`update r set a = a[1::integer:\${n}::integer]`, false],
    ["update r set a = regexp_replace(a, '[[:space:]]', '')", false],
  ])('%s', (statement, is_open) => {
    expect(findOpenSlices(`sql\`${statement}\``)).toEqual(is_open ? [1] : [])
    expect(findOpenSlices(`tx.unsafe(\`${statement}\`)`)).toEqual(is_open ? [1] : [])
  })
})

describe('the lint', () => {
  /** @param code with `<x>` for `${x}`, and `<org>` for the organization */
  const tablesOf = (code: string) => {
    const text = code.replaceAll('<org>', '<organization_id>').replace(/<(\w[^>]*)>/g, (_, value) => `\${${value}}`)
    return findUnbound(text, TENANT_TABLES).map(({ table, why }) => `${table} (${why})`)
  }

  test.each([
    ['a table', `select 1 from tickets where organization_id = <org> and id = 1`],
    ['an alias', `select 1 from tickets t where t.organization_id = <org>`],
    ['an alias after as', `select 1 from tickets as t where t.organization_id = <org>`],
    [
      'a join',
      `select 1 from tickets t left join contacts c on c.organization_id = <org> and c.id = t.contact_id where t.organization_id = <org>`,
    ],
    ['a part of a statement', `join contacts c on c.id = t.contact_id and c.organization_id = <org>`],
    ['a sublink', `and exists (select 1 from labels l where l.organization_id = <org> and l.id = any(<ids>))`],
    ['a comma', `select 1 from tickets t, labels l where t.organization_id = <org> and l.organization_id = <org>`],
    [
      'update with from',
      `update tickets t set a = 1 from contacts c where t.organization_id = <org> and c.organization_id = <org>`,
    ],
    [
      'delete with using',
      `delete from tickets t using contacts c where t.organization_id = <org> and c.organization_id = <org>`,
    ],
    ['the organization', `select 1 from organizations o where o.id = <scope.organization_id>`],
    ['values', `insert into labels (organization_id, id) values (<org>, <id>), (<org>, <id>)`],
    ['select', `insert into labels (id, organization_id) select g.id, <org> from given g`],
    [
      'an upsert',
      `insert into labels (organization_id, id) values (<org>, 1) on conflict (organization_id, id) do update set a = 1 where true`,
    ],
    ['for update', `select from tickets where organization_id = <org> for update`],
    ['another table of the same name', 'select 1 from page'],
    ['extract', 'select extract(epoch from updated_at)'],
  ])('accepts %s', (_, statement) => {
    expect(tablesOf(`sql\`${statement}\``)).toEqual([])
  })

  test.each([
    ['a table', 'select 1 from tickets where id = 1', 'tickets'],
    ['another parameter', 'select 1 from tickets where organization_id = <id>', 'tickets'],
    [
      'the column of another table',
      `select 1 from tickets t join contacts c on c.organization_id = t.organization_id where t.organization_id = <org>`,
      'contacts',
    ],
    [
      'a condition of another level',
      `select 1 from tickets t where t.organization_id = <org> and exists (select from labels l where l.id = 1)`,
      'labels',
    ],
    [
      'a condition of another union',
      `select 1 from tickets where organization_id = <org> union select 1 from contacts`,
      'contacts',
    ],
    ['or', `select 1 from tickets where organization_id = <org> or id = 1`, 'tickets'],
    ['not', `select 1 from tickets where not organization_id = <org>`, 'tickets'],
    ['another than', `select 1 from tickets where organization_id <> <org>`, 'tickets'],
    [
      'a join whose own condition lacks it',
      `select 1 from tickets t left join contacts c on t.organization_id = <org> and c.organization_id = t.organization_id where t.organization_id = <org>`,
      'contacts',
    ],
    [
      'the left of a join that only asks in on',
      `select 1 from tickets t left join contacts c on t.organization_id = <org> and c.organization_id = <org>`,
      'tickets',
    ],
    [
      'a lateral',
      `select 1 from tickets t, lateral (select * from messages m where m.ticket_id = t.id) m where t.organization_id = <org>`,
      'messages',
    ],
    [
      'using',
      `select 1 from tickets t join contacts c using (organization_id) where t.organization_id = <org>`,
      'contacts',
    ],
    ['a CTE', `with a as (select * from tickets) select * from a where organization_id = <org>`, 'tickets'],
    ['update', 'update tickets set a = 1 where id = 1', 'tickets'],
    ['delete with using', `delete from tickets t using contacts c where t.organization_id = <org>`, 'contacts'],
    ['a table that the program names', 'select from <sql(table)> where id = 1', 'sql(table)'],
    ['values', 'insert into labels (organization_id, id) values (<id>, 1)', 'labels'],
    ['select', 'insert into labels (organization_id, id) select g.organization_id, 1 from given g', 'labels'],
  ])('refuses %s', (_, statement, table) => {
    expect(tablesOf(`sql\`${statement}\``).map((found) => found.split(' (')[0])).toEqual([table])
  })

  test('reads conditions that have a name', () => {
    const where = `sql\`organization_id = <org> and id = 1\``
    expect(
      tablesOf(`function a() { const where = ${where}; return sql\`select 1 from tickets where <where>\` }`),
    ).toEqual([])
    expect(
      tablesOf(`function a() { const where = () => ${where}; return sql\`select 1 from tickets where <where()>\` }`),
    ).toEqual([])
    expect(tablesOf('function a(where) { return sql`select 1 from tickets where <where>` }')).toEqual([
      'tickets (as tickets)',
    ])
  })

  test('refuses two organizations in one statement', () => {
    const two = `select 1 from tickets t join labels l on l.organization_id = <other.organization_id> where t.organization_id = <org>`
    expect(tablesOf(`sql\`${two}\``)).toEqual(['other.organization_id, organization_id (several organizations)'])
  })

  test("reads Drizzle's calls", () => {
    expect(
      tablesOf(
        'db.update(tickets).set({}).where(and(eq(tickets.organization_id, organization_id), eq(tickets.id, id)))',
      ),
    ).toEqual([])
    expect(tablesOf('db.update(tickets).set({}).where(eq(tickets.id, id))')).toEqual(["tickets (Drizzle's update)"])
    expect(tablesOf('db.delete(tickets)')).toEqual(["tickets (Drizzle's delete)"])
    expect(tablesOf('db.insert(tickets).values({ id })')).toEqual(["tickets (Drizzle's insert)"])
    expect(tablesOf('db.insert(tickets).values({ ...ticket, organization_id })')).toEqual([])
  })
})

/** @param exception a folder, a file, or a file and its function */
function covers(exception: string, place: string): boolean {
  return exception.endsWith('/')
    ? place.startsWith(exception)
    : place === exception || place.startsWith(`${exception} `)
}
