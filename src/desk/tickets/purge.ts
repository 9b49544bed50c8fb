/** Removes deleted tickets for good once their retention is over. For a background job. */

import { type InOrganization, type Own, sweep } from '../../base/db/sweep'
import type { Connection, Fragment } from '../../base/db/transact'
import { removeSoon } from '../attachments/removals'
import { holdLabels, isHeldIn } from '../holds/holds'
import { NO_MESSAGES } from '../turn/turn'
import { PURGED } from './ticket-fields'

/** Tables whose rows belong to a ticket, anchors before their messages; attachments go with their
 * messages and drafts. */
const DEPENDENTS = [
  'email_anchors',
  'messages',
  'drafts',
  'participants',
  'activities',
  'read_marks',
  'rating_requests',
  'ticket_labels',
  'ticket_search',
  'ticket_facts',
] as const

/**
 * Purges deleted tickets of all organizations. A ticket with time entries keeps id, code, subject and company, which
 * its time entries show, and its contact, by which an erasure finds the subject. Another job removes the bytes of
 * attachments.
 * @returns how many tickets were purged
 */
export function purgeDeletedTickets(connection: Connection, retention_days: number): Promise<number> {
  const { sql } = connection
  // Merged tickets go together with the one that has their messages. What is on hold is not even looked for: many such
  // tickets of one organization would hide those of others.
  const is_old = (own: Own) => sql`
    t.deleted_at < now() - make_interval(days => ${retention_days}) and t.purged_at is null and t.merged_into_id is null
    and not ${isHeldIn(sql, own, sql`t.id`)}`
  return sweep(connection, { table: 'tickets', is_old, order: 'deleted_at', size: 50 }, purgeBatch)
}

async function purgeBatch({ sql, organization_id }: InOrganization, old: Fragment): Promise<number> {
  // The labels that hold stay as they are until it ends.
  await holdLabels({ sql, organization_id })
  const tickets = await sql<{ id: string }[]>`${old}`
  if (tickets.length === 0) return 0
  const found = tickets.map(({ id }) => id)
  const merged = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id} and merged_into_id = any(${found}::uuid[])
    order by id for update`
  const ids = [...found, ...merged.map(({ id }) => id)]
  const attached = await sql<{ storage_key: string }[]>`
    select a.storage_key from messages m
    join attachments a on a.organization_id = ${organization_id} and a.message_id = m.id
    where m.organization_id = ${organization_id} and m.ticket_id = any(${ids}::uuid[])
    union all
    select a.storage_key from drafts d
    join attachments a on a.organization_id = ${organization_id} and a.draft_id = d.id
    where d.organization_id = ${organization_id} and d.ticket_id = any(${ids}::uuid[])`
  await removeSoon(sql, attached)
  for (const table of DEPENDENTS) {
    await sql`delete from ${sql(table)} where organization_id = ${organization_id} and ticket_id = any(${ids}::uuid[])`
  }
  const timeOf = () =>
    sql`
      select 1 from time_entries e where e.organization_id = ${organization_id} and (
        e.ticket_id = t.id or e.ticket_id = t.merged_into_id and e.original_ticket_id = t.id
      )`
  await sql`
    with logged as (
      update tickets t set ${sql({ ...PURGED, ...NO_MESSAGES })}, purged_at = now()
      where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[]) and exists (${timeOf()})
    )
    delete from tickets t
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[]) and not exists (${timeOf()})`
  return tickets.length
}
