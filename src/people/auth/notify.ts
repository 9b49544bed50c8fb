/** Knows for which reasons a member wants letters about tickets: of each membership apart. */
import { NOTIFY_REASONS } from '../../base/db/schema'
import type { Me, MeChanges } from './model'

export type NotifyReason = (typeof NOTIFY_REASONS)[number]

/** The reasons of a new member. */
export const NEW_MEMBER: readonly NotifyReason[] = NOTIFY_REASONS.filter((reason) => reason !== 'new_unassigned')

/** Shows the reasons of a membership. */
export function notifyOf(reasons: readonly NotifyReason[]): NonNullable<Me['notify']> {
  const ways = NOTIFY_REASONS.map((reason) => [reason, reasons.includes(reason) ? 'mail' : 'none'])
  return Object.fromEntries(ways) as NonNullable<Me['notify']>
}

/** Gives the reasons after a change; what is absent stays. */
export function changedReasons(before: readonly NotifyReason[], changes: MeChanges['notify']): NotifyReason[] {
  const after = { ...notifyOf(before), ...changes }
  return NOTIFY_REASONS.filter((reason) => after[reason] === 'mail')
}
