/** Looks up the labels and companies that rules of retention name. */
import { ApiError, type ErrorCode, type Fault } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import type { Retention, RetentionChanges } from './model'

type Named = { path: string; ids: string[] }

/** Completes what was given. @throws LABEL_NOT_FOUND, COMPANY_NOT_FOUND */
export async function resolveRetention(scope: Scope, changes: RetentionChanges): Promise<Partial<Retention>> {
  const { rules, hold_label_ids } = changes
  const named = (field: 'label_ids' | 'company_ids'): Named[] =>
    (rules ?? []).map((rule, place) => ({ path: `/rules/${place}/${field}`, ids: rule[field] ?? [] }))
  const labels = [...named('label_ids'), { path: '/hold_label_ids', ids: hold_label_ids ?? [] }]
  await requireKnown(scope, 'labels', 'LABEL_NOT_FOUND', labels)
  await requireKnown(scope, 'companies', 'COMPANY_NOT_FOUND', named('company_ids'))
  return {
    ...(rules && {
      rules: rules.map(({ label_ids = [], company_ids = [], active = true, status, days, action }) => {
        return { status, label_ids: asIds(label_ids), company_ids: asIds(company_ids), days, action, active }
      }),
    }),
    ...(hold_label_ids && { hold_label_ids: asIds(hold_label_ids) }),
  }
}

/** Locks what is named, so that nobody begins to delete it. One that is being deleted is unknown. */
async function requireKnown(
  { sql, organization_id }: Scope,
  table: 'labels' | 'companies',
  code: ErrorCode,
  named: Named[],
): Promise<void> {
  const ids = asIds(named.flatMap((one) => one.ids))
  const given = named.some((one) => one.ids.length > 0)
  if (!given) return
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)} where organization_id = ${organization_id} and id = any(${ids}::uuid[])
    order by id for share`
  const going = await sql<{ id: string }[]>`
    select id from deeds where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  const known = new Set(rows.map(({ id }) => id))
  for (const { id } of going) known.delete(id)
  const isUnknown = (id: string) => !known.has(id.toLowerCase())
  const errors = named.flatMap(({ path, ids }): Fault[] =>
    ids.some(isUnknown) ? [{ path, message: 'names nothing' }] : [],
  )
  if (errors.length === 0) return
  throw new ApiError(code, { ids: [...new Set(named.flatMap((one) => one.ids.filter(isUnknown)))], errors }, 422)
}
