/** Makes and removes sender rules. */
import { toDomain } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import { audit } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { ApiError, fieldError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { lacking, permits } from '../../http/request/permissions'
import type { NewSenderRule, SenderRule } from './model'

/** Rules of an organization. */
const MOST = 10_000

/**
 * Makes a rule, or gives the one that the sender has another action. Every member may block an address, unless the rule
 * that it has allows it.
 * @returns whether it is new
 * @throws FORBIDDEN, VALIDATION_ERROR when there are too many
 */
export function putSenderRule(
  scope: Scope,
  { sender, action }: NewSenderRule,
): Promise<{ rule: SenderRule; is_new: boolean }> {
  const may_all = permits(scope, 'inbound_messages:write')
  if (!may_all && !(action === 'block' && sender.includes('@'))) throw lacking(scope, 'inbound_messages:write')
  const sender_key = sender.includes('@') ? addressKey(sender) : toDomain(sender)!
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await sql`select pg_advisory_xact_lock(hashtextextended(${`sender rules ${organization_id}`}, 0))`
    const [before] = await sql<SenderRule[]>`
      select id, sender, action, created_at from sender_rules
      where organization_id = ${organization_id} and sender_key = ${sender_key}`
    if (!may_all && before?.action === 'allow') throw lacking(scope, 'inbound_messages:write')
    const id = before?.id ?? newId()
    if (before) {
      await sql`
        update sender_rules set sender = ${sender}, action = ${action}
        where organization_id = ${organization_id} and id = ${id}`
    } else {
      const [row] = await sql<{ count: number }[]>`
        select count(*) as count from sender_rules where organization_id = ${organization_id}`
      if (row!.count >= MOST) throw fieldError('VALIDATION_ERROR', '', `there may be ${MOST} rules at most`)
      await sql`
        insert into sender_rules (organization_id, id, sender, sender_key, action)
        values (${organization_id}, ${id}, ${sender}, ${sender_key}, ${action})`
    }
    const [rule] = await sql<SenderRule[]>`
      select id, sender, action, created_at from sender_rules
      where organization_id = ${organization_id} and id = ${id}`
    const changes = changesOf(before ?? null, rule!)
    if (changes) await audit(scope, { action: 'sender_rule.created', resource: { type: 'sender_rule', id }, changes })
    return { rule: rule!, is_new: !before }
  })
}

/** Removes a rule. @throws SENDER_RULE_NOT_FOUND */
export async function deleteSenderRule(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const [before] = await sql<{ sender: string; action: string }[]>`
      delete from sender_rules where organization_id = ${organization_id} and id = ${id} returning sender, action`
    if (!before) throw new ApiError('SENDER_RULE_NOT_FOUND')
    const resource = { type: 'sender_rule', id } as const
    await audit(scope, { action: 'sender_rule.deleted', resource, changes: changesOf(before, null) })
  })
}
