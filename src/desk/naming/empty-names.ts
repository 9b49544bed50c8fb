/** Empties what names a thing that goes, in the transaction of its deletion. */
import type { Scope } from '../../base/scope'
import type { IdField } from '../../delivery/webhooks/event-filter'
import { takeFromFilters, takeFromRules } from './narrow-filters'

/** Where a kind of thing is named: in filters, in the changes that macros make, and macros by rules. */
const PLACES = {
  team: { filter: 'team_ids', change: 'team_id' },
  label: { filter: 'label_ids', change: 'add_label_ids' },
  company: { filter: 'company_ids' },
  mailbox: { filter: 'mailbox_ids' },
  member: { change: 'assignee_id' },
  macro: { is_macro: true },
} as const

/** Takes an id out of all that names it: nothing is widened by it. It comes behind the events of the deletion. */
export async function emptyNames(scope: Scope, kind: keyof typeof PLACES, id: string): Promise<void> {
  const place: { filter?: IdField; change?: string; is_macro?: boolean } = PLACES[kind]
  if (place.filter) await takeFromFilters(scope, place.filter, id)
  if (place.change) await takeFromMacros(scope, place.change, id)
  if (place.is_macro) await takeFromRules(scope, id)
}

/** Takes an id out of the changes of macros: a field that has no other value goes. */
async function takeFromMacros({ sql, organization_id }: Scope, field: string, id: string): Promise<void> {
  const macros = await sql<{ id: string; changes: Record<string, unknown> }[]>`
    select id, changes from macros
    where organization_id = ${organization_id} and changes -> ${field}::text @> ${JSON.stringify(id)}::text::jsonb
    order by id for no key update`
  for (const { id: macro_id, changes } of macros) {
    const { [field]: named, ...others } = changes
    const left = Array.isArray(named) ? named.filter((other) => other !== id) : []
    const after = left.length > 0 ? { ...others, [field]: left } : others
    await sql`
      update macros set changes = ${JSON.stringify(after)}::text::jsonb, updated_at = now()
      where organization_id = ${organization_id} and id = ${macro_id}`
  }
}
