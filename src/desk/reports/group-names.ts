/** The names of groups, in the order of a report. */
import { TICKET_PRIORITIES } from '../../base/db/schema'
import type { Scope } from '../../base/scope'
import type { Group } from './model'

type Named = { key: string | null; name: string | { id: string; name: string } | null }

const TABLES = { team: 'teams', mailbox: 'mailboxes', label: 'labels', company: 'companies' } as const

/**
 * Reads the names of groups by their keys, sorted by name. Priorities are by rank. The group of none comes last, if
 * there is a key of none or one without a row, such as the sender of a reply who was never a member.
 */
export async function readNames(
  scope: Scope,
  group_by: keyof typeof TABLES | Extract<Group, 'user' | 'priority'>,
  keys: (string | null)[],
): Promise<Named[]> {
  if (group_by === 'priority') return TICKET_PRIORITIES.map((name) => ({ key: name, name }))
  const { sql, organization_id } = scope
  const ids = keys.filter((key) => key !== null)
  const rows =
    group_by === 'user'
      ? await sql<{ id: string; name: string }[]>`
          select u.id, u.name from memberships m join users u on u.id = m.user_id
          where m.organization_id = ${organization_id} and m.user_id = any(${ids}::uuid[])
          order by lower(u.name), u.id`
      : await sql<{ id: string; name: string }[]>`
          select id, ${group_by === 'mailbox' ? sql`coalesce(name, address)` : sql`name`} as name
          from ${sql(TABLES[group_by])}
          where organization_id = ${organization_id} and id = any(${ids}::uuid[])
          order by 2, id`
  const named: Named[] = rows.map((name) => ({ key: name.id, name }))
  return named.length < keys.length ? [...named, { key: null, name: null }] : named
}
