/** The kinds of tables, which say where their rows are in a cluster. */
import { expect, test } from 'bun:test'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import * as schema from '../../../src/base/db/schema'

const TABLES = Object.values(schema)
  .filter((value) => is(value, PgTable))
  .map((table) => getTableConfig(table))

test('every table names its kind', () => {
  expect(TABLES.length).toBeGreaterThan(40)
  expect(TABLES.map(({ name }) => name).filter((name) => !schema.TABLE_KINDS.has(name))).toEqual([])
})

test('a distributed table has the organization in all that is unique', () => {
  const faults = ofKind('distributed').flatMap(({ name, columns, primaryKeys, uniqueConstraints, indexes }) => {
    const keys = [
      ...columns.filter(({ primary, isUnique }) => primary || isUnique).map((column) => [column.name]),
      ...[...primaryKeys, ...uniqueConstraints].map((key) => key.columns.map((column) => column.name)),
      ...indexes
        .filter(({ config }) => config.unique)
        .map(({ config }) => config.columns.map((column) => ('name' in column ? column.name : undefined))),
    ]
    return keys.filter((key) => !key.includes('organization_id')).map((key) => `${name} (${key})`)
  })
  expect(faults).toEqual([])
})

test('no reference or local table points to a distributed one', () => {
  const faults = [...ofKind('reference'), ...ofKind('local')].flatMap(({ name, foreignKeys }) =>
    foreignKeys
      .map((key) => getTableConfig(key.reference().foreignTable).name)
      .filter((target) => schema.TABLE_KINDS.get(target) === 'distributed')
      .map((target) => `${name} -> ${target}`),
  )
  expect(faults).toEqual([])
})

function ofKind(kind: schema.TableKind) {
  return TABLES.filter(({ name }) => schema.TABLE_KINDS.get(name) === kind)
}
