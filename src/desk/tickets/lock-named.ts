/** Locks what new tickets name. */
import { withChangeTime } from '../../base/db/change-time'
import { type Scope, together } from '../../base/scope'
import { findPolicies, type Policy } from '../promises/policies'
import type { NewTicketReferences } from './references'
import { type LockedRows, lockAsKeys, lockContacts } from './write-tickets'

/** Rows that tickets name and that are locked for them: contacts with their companies, labels, and teams; policies. */
export type Locked = {
  contacts: Map<string, string | null>
  labels: Set<string>
  teams: Set<string>
  policies: Policy[]
  locked_at: string
}

/**
 * Locks what tickets name, in the caller's transaction: their contacts, so that a company that a contact gets at the
 * same time reaches these tickets too, and their labels and teams as foreign keys do.
 */
export async function lockNamed(
  scope: Scope,
  tickets: { references: NewTicketReferences }[],
  locked_rows: LockedRows,
): Promise<Locked> {
  const contact_ids = new Set(tickets.map(({ references }) => references.contact.id))
  const label_ids = new Set(tickets.flatMap(({ references }) => references.labels.map(({ id }) => id)))
  const team_ids = new Set(tickets.flatMap(({ references }) => references.team?.id ?? []))
  const locks = together([
    lockContacts(scope, [...contact_ids], locked_rows),
    lockAsKeys(scope, 'labels', [...label_ids], locked_rows),
    lockAsKeys(scope, 'teams', [...team_ids], locked_rows),
    findPolicies(scope),
  ])
  const [[contacts, labels, teams, policies], locked_at] = await withChangeTime(scope.sql, locks)
  return { contacts, labels: new Set(labels), teams: new Set(teams), policies, locked_at }
}
