/** Takes what goes out of filters, so that none of them lets more pass. */
import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import type { Fragment, Sql } from '../../base/db/transact'
import { type Scope, SYSTEM } from '../../base/scope'
import { tellAdmins } from '../../delivery/told/tell-admins'
import type { IdField } from '../../delivery/webhooks/event-filter'
import { noteFailures } from '../../delivery/webhooks/failure'
import { beginReview } from '../promises/review'
import { noteSwitchedOff } from '../sla-policies/switch-off'

type Filter = { [field in IdField]?: string[] }
type Named = { id: string; name: string; is_on: boolean; filter: Filter }

/** A table with filters. `shown` are `name` and `is_on` of the rows that are there, `off` switches one off. */
type Filtered = {
  table: 'webhooks' | 'sla_policies' | 'rules'
  resource: 'webhook' | 'sla_policy' | 'rule'
  shown(sql: Sql): Fragment
  there(sql: Sql): Fragment
  off(sql: Sql): Fragment
  note(scope: Scope, off: Named, error: string): Promise<void>
  /** Is called when the filter of one has named the id. */
  narrowed?(scope: Scope): Promise<void>
}

const FILTERED: Filtered[] = [
  {
    table: 'webhooks',
    resource: 'webhook',
    shown: (sql) => sql`url as name, status = 'active' as is_on`,
    there: (sql) => sql`deleted_at is null`,
    off: (sql) => sql`status = 'failed'`,
    note: (scope, { id, name: url }, error) => noteFailures(scope, [{ id, url, error, response_code: null }]),
  },
  {
    table: 'sla_policies',
    resource: 'sla_policy',
    shown: (sql) => sql`name, active as is_on`,
    there: (sql) => sql`true`,
    off: (sql) => sql`active = false`,
    note: noteSwitchedOff,
    narrowed: beginReview,
  },
  {
    table: 'rules',
    resource: 'rule',
    shown: (sql) => sql`name, active as is_on`,
    there: (sql) => sql`true`,
    off: (sql) => sql`active = false`,
    note: noteRule,
  },
]

async function noteRule(scope: Scope, { id, name }: Pick<Named, 'id' | 'name'>, error: string): Promise<void> {
  const by = { ...scope, actor: SYSTEM }
  const changes = { active: { from: true, to: false } }
  await auditChanges(by, { action: 'rule.updated', resource: { type: 'rule', id }, changes })
  await tellAdmins(by, { kind: 'rule', id, name, error })
}

/** Switches the rules of a macro off, in the transaction of its deletion; the admins are told. */
export async function takeFromRules(scope: Scope, macro_id: string): Promise<void> {
  const { sql, organization_id } = scope
  const rules = await sql<{ id: string; name: string; active: boolean }[]>`
    select id, name, active from rules
    where organization_id = ${organization_id} and macro_id = ${macro_id} order by id for no key update`
  await sql`
    update rules set macro_id = null, active = false, updated_at = now()
    where organization_id = ${organization_id} and macro_id = ${macro_id}`
  for (const { id, active, ...rule } of rules) {
    const changes = changesOf({ active, macro_id }, { active: false, macro_id: null })
    await auditChanges(scope, { action: 'rule.updated', resource: { type: 'rule', id }, changes })
    if (active)
      await tellAdmins({ ...scope, actor: SYSTEM }, { kind: 'rule', id, ...rule, error: 'its macro was deleted' })
  }
}

/**
 * Takes an id out of filters, in the transaction of its deletion, behind the events of that. What has a filter that
 * names nothing else there keeps the id, which nothing has any more, and is switched off; the admins are told.
 */
export async function takeFromFilters(scope: Scope, field: IdField, id: string): Promise<void> {
  for (const filtered of FILTERED) await takeFrom(scope, filtered, field, id)
  await takeFromRetention(scope, field, id)
}

async function takeFrom(scope: Scope, filtered: Filtered, field: IdField, id: string): Promise<void> {
  const { sql, organization_id } = scope
  const { table, resource, shown, there, off, note, narrowed } = filtered
  const named = await sql<Named[]>`
    select id, filter, ${shown(sql)} from ${sql(table)}
    where organization_id = ${organization_id} and ${there(sql)}
      and filter -> ${field}::text @> ${JSON.stringify([id])}::text::jsonb
    order by id for no key update`
  if (named.length > 0) await narrowed?.(scope)
  for (const one of named) {
    const filter = without(one.filter, field, id)
    if (filter) {
      await sql`
        update ${sql(table)} set filter = ${JSON.stringify(filter)}::text::jsonb, updated_at = now()
        where organization_id = ${organization_id} and id = ${one.id}`
      const changes = changesOf({ filter: one.filter }, { filter })
      const entry = { action: `${resource}.updated`, resource: { type: resource, id: one.id }, changes } as const
      await auditChanges(scope, entry)
    } else if (one.is_on) {
      await sql`
        update ${sql(table)} set ${off(sql)}, updated_at = now()
        where organization_id = ${organization_id} and id = ${one.id}`
      await note(scope, one, errorOf(field))
    }
  }
}

type RetentionRule = Filter & { active?: boolean }

/** The same in rules of retention, which stand in one row, and wait for a day after it as after each change. */
async function takeFromRetention(scope: Scope, field: IdField, id: string): Promise<void> {
  const { sql, organization_id } = scope
  const [row] = await sql<{ rules: RetentionRule[] }[]>`
    select rules from retention
    where organization_id = ${organization_id} and rules @> ${JSON.stringify([{ [field]: [id] }])}::text::jsonb
    for no key update`
  if (!row) return
  const off: number[] = []
  const rules = row.rules.map((rule, place) => {
    if (!rule[field]?.includes(id)) return rule
    const left = without(rule, field, id)
    if (left) return left
    if (rule.active !== false) off.push(place + 1)
    return { ...rule, active: false }
  })
  await sql`
    update retention set rules = ${JSON.stringify(rules)}::text::jsonb, changed_at = now()
    where organization_id = ${organization_id}`
  const changes = changesOf({ rules: row.rules }, { rules })
  const by = { ...scope, actor: SYSTEM }
  await auditChanges(by, {
    action: 'retention.updated',
    resource: { type: 'organization', id: organization_id },
    changes,
  })
  for (const number of off) {
    await tellAdmins(by, { kind: 'retention_rule', id: null, name: `number ${number}`, error: errorOf(field) })
  }
}

/** A filter that does not name an id any more; undefined when it would be left wider. */
function without<T extends Filter>(filter: T, field: IdField, id: string): T | undefined {
  const left = filter[field]?.filter((other) => other !== id) ?? []
  return left.length > 0 ? { ...filter, [field]: left } : undefined
}

function errorOf(field: IdField): string {
  return `what its filter names in ${field} was deleted`
}
