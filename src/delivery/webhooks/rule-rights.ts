/** Events that rules wait for, and who may say what is done then. */
import { EVENTS } from '../../base/db/schema'
import type { Scope } from '../../base/scope'
import { requireRight } from '../../http/request/permissions'
import type { EventType } from './publish'
import { requireRead } from './rights'

/** An event of a ticket that is there afterwards. */
type RuleEvent = Exclude<
  Extract<EventType, `ticket.${string}` | `message.${string}`>,
  `${string}.${'deleted' | 'erased'}` | 'ticket.merged'
>

export const RULE_EVENTS = EVENTS.filter(
  (event): event is RuleEvent => /^(ticket|message)\./.test(event) && !/\.(deleted|erased|merged)$/.test(event),
)

/** Checks that a caller could do itself what a rule does. @param on the events of the rule @throws FORBIDDEN */
export function requireRuleRights(scope: Scope, on: readonly EventType[]): void {
  for (const right of ['rules:write', 'tickets:write', 'messages:write'] as const) requireRight(scope, right)
  requireRead(scope, on)
}
