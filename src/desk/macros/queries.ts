import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { byteSteps } from '../../base/flow/byte-steps'
import { formOfText } from '../../base/html/formats'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { InSteps, Steps } from '../../http/request/steps'
import type { Macro } from './model'

export type MacroPage = Page<Macro>

/** Lists the macros of the organization, by name: in steps when their texts are too large to be sent at once. */
export async function listMacros(scope: Scope, query: Paging): Promise<InSteps<MacroPage>> {
  const { sql, organization_id } = scope
  const { data: rows, meta } = await page(scope, query, {
    name: 'macros',
    sort: {
      keys: [
        { sql: sql`lower(m.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`m.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => sql<{ id: string; name: string; size: number }[]>`
      select m.id, m.name, coalesce(octet_length(m.body), 0) as size
      from macros m where m.organization_id = ${organization_id} ${slice}`,
    count: () => sql<{ total: number }[]>`
      select count(*) as total from macros where organization_id = ${organization_id}`,
  })
  const steps = byteSteps(rows).map((step) => step.map(({ id }) => id))
  return { data: steps.length > 1 ? readEach(scope, steps) : await getMacros(scope, steps[0] ?? []), meta }
}

async function* readEach(scope: Scope, steps: string[][]): Steps<Macro> {
  for (const ids of steps) yield await getMacros(scope, ids)
}

/** Reads macros by their ids, in that order; those that are gone are left out. */
export async function getMacros(scope: Scope, ids: string[]): Promise<Macro[]> {
  if (ids.length === 0) return []
  const rows = await selectMacros(scope, scope.sql`and m.id = any(${ids}::uuid[])`)
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** @throws MACRO_NOT_FOUND */
export async function getMacro(scope: Scope, id: string): Promise<Macro> {
  const [macro] = await selectMacros(scope, scope.sql`and m.id = ${id}`)
  if (!macro) throw new ApiError('MACRO_NOT_FOUND')
  return macro
}

async function selectMacros({ sql, organization_id }: Scope, rest: Fragment): Promise<Macro[]> {
  const rows = await sql<Macro[]>`
    select m.id, m.name, m.body, m.format, m.is_internal, m.changes, m.created_at, m.updated_at
    from macros m where m.organization_id = ${organization_id} ${rest}`
  return rows.map((row) => ({ ...row, format: formOfText(row.body, row.format) }))
}
