/** The tables whose rows belong to an organization. */
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import * as schema from '../../src/base/db/schema'

/** Their names, with the column that has the organization's id. Where that may be null, the table is about accounts. */
export const TENANT_TABLES: ReadonlyMap<string, 'id' | 'organization_id'> = new Map([
  ['organizations', 'id'],
  ...Object.values<unknown>(schema)
    .flatMap((value) => (is(value, PgTable) ? getTableConfig(value) : []))
    .filter(({ columns }) => columns.some((column) => column.name === 'organization_id' && column.notNull))
    .map(({ name }) => [name, 'organization_id'] as const),
])
