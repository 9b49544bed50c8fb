/** Makes, changes and deletes rules. Who writes one may do all that it does. */
import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { violates } from '../../base/db/violations'
import { fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { requireKnown, storedFilter } from '../../delivery/webhooks/event-filter'
import { requireRuleRights } from '../../delivery/webhooks/rule-rights'
import type { NewRule, Rule, RuleChanges } from './model'
import { getRule, lockRule } from './queries'

/** Rules of an organization. */
const MOST = 50

/**
 * Creates a rule, which hears of events from now on.
 * @throws FORBIDDEN for an API key that may not do what it does; RULE_NAME_EXISTS, MACRO_NOT_FOUND; VALIDATION_ERROR
 *   beyond 50; unknown ids of the filter (`event-filter.ts`)
 */
export function createRule(scope: Scope, { name, on, filter = null, macro_id, active = true }: NewRule): Promise<Rule> {
  requireRuleRights(scope, [on])
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await sql`select pg_advisory_xact_lock(hashtextextended(${`rules ${organization_id}`}, 0))`
    const [{ n } = { n: 0 }] = await sql<{ n: number }[]>`
      select count(*) as n from rules where organization_id = ${organization_id}`
    if (n >= MOST) throw fieldError('VALIDATION_ERROR', '', `must be one of at most ${MOST} rules`)
    if (filter) await requireKnown(scope, filter)
    await keepMacro(scope, macro_id)
    const id = newId()
    await sql`
      insert into rules (organization_id, id, name, "on", filter, macro_id, active)
      values (${organization_id}, ${id}, ${name}, ${on}, ${storedFilter(filter)}::text::jsonb, ${macro_id.toLowerCase()},
        ${active})`.catch(nameExists)
    const created = await getRule(scope, id)
    await auditRule(scope, 'rule.created', null, created)
    return created
  })
}

/**
 * Changes a rule for the events that follow; what waits for it already is done by the rule as it is then.
 * `active: true` revives a failed one.
 * @throws RULE_NOT_FOUND, VALIDATION_ERROR for one to be active without a macro; else as `createRule`
 */
export function updateRule(scope: Scope, id: string, changes: RuleChanges): Promise<Rule> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const before = await lockRule(scope, id)
    const { name, on, filter, macro_id, active } = { ...before, ...changes }
    requireRuleRights(scope, [before.on, on])
    if (changes.filter) await requireKnown(scope, changes.filter)
    if (changes.macro_id) await keepMacro(scope, changes.macro_id)
    if (active && macro_id === null) throw fieldError('VALIDATION_ERROR', '/macro_id', 'is required: the macro is gone')
    const revived = changes.active ? sql`, status = 'active', failed_ticket_ids = '{}'` : sql``
    await sql`
      update rules set name = ${name}, "on" = ${on}, filter = ${storedFilter(filter)}::text::jsonb,
        macro_id = ${macro_id?.toLowerCase() ?? null}, active = ${active}, updated_at = now() ${revived}
      where organization_id = ${organization_id} and id = ${id}`.catch(nameExists)
    const after = await getRule(scope, id)
    await auditRule(scope, 'rule.updated', before, after)
    return after
  })
}

/** Deletes a rule. What waits for it is not done. @throws RULE_NOT_FOUND */
export function deleteRule(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const before = await lockRule(scope, id)
    await sql`delete from rules where organization_id = ${organization_id} and id = ${id}`
    await auditRule(scope, 'rule.deleted', before, null)
  })
}

/** Keeps a macro as it is until the transaction ends. @throws MACRO_NOT_FOUND (422) */
async function keepMacro({ sql, organization_id }: Scope, macro_id: string): Promise<void> {
  const found = await sql`
    select from macros where organization_id = ${organization_id} and id = any(${asIds([macro_id])}::uuid[]) for share`
  if (found.length === 0) throw unknownIds('MACRO_NOT_FOUND', '/macro_id', [macro_id])
}

async function auditRule(
  scope: Scope,
  action: 'rule.created' | 'rule.updated' | 'rule.deleted',
  before: Rule | null,
  after: Rule | null,
): Promise<void> {
  const fields = ({ failures: _, ...rule }: Rule) => rule
  const changes = changesOf(before && fields(before), after && fields(after))
  await auditChanges(scope, { action, resource: { type: 'rule', id: (after ?? before)!.id }, changes })
}

function nameExists(error: unknown): never {
  throw violates(error, 'rules_name') ? fieldError('RULE_NAME_EXISTS', '/name') : error
}
