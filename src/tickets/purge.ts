/** Removes deleted tickets for good once their retention is over. For a background job. */
import { removeSoon } from '../attachments/removals'
import { type Connection, type Sql, transact } from '../db/transact'
import { inBatches } from '../flow/batches'

const BATCH = 50

/** Tables whose rows belong to a ticket, anchors before their messages; attachments go with their messages. */
const DEPENDENTS = [
  'email_anchors',
  'messages',
  'participants',
  'activities',
  'ticket_labels',
  'ticket_search',
] as const

type Purged = { organization_id: string; id: string }

/**
 * Purges deleted tickets of all organizations. A ticket with time entries keeps id, code, subject and company, which its
 * time entries show, and its contact, by which an erasure finds the subject. Another job removes the bytes of attachments.
 * @returns how many tickets were purged
 */
export function purgeDeletedTickets(connection: Connection, retention_days: number): Promise<number> {
  return inBatches(BATCH, () => transact(connection, ({ sql }) => purgeBatch(sql, retention_days)))
}

async function purgeBatch(sql: Sql, retention_days: number): Promise<number> {
  const tickets = await sql<Purged[]>`
    select organization_id, id from tickets
    where deleted_at < now() - make_interval(days => ${retention_days}) and purged_at is null
    order by deleted_at limit ${BATCH} for update skip locked`
  if (tickets.length === 0) return 0
  const these = () => sql`unnest(
    ${tickets.map((ticket) => ticket.organization_id)}::uuid[], ${tickets.map((ticket) => ticket.id)}::uuid[]
  ) as these (organization_id, ticket_id)`
  const attached = await sql<{ storage_key: string }[]>`
    select a.storage_key from ${these()}
    join messages m using (organization_id, ticket_id)
    join attachments a on a.organization_id = m.organization_id and a.message_id = m.id`
  await removeSoon(
    sql,
    attached.map(({ storage_key }) => storage_key),
  )
  for (const table of DEPENDENTS) {
    await sql`
      delete from ${sql(table)} h using ${these()}
      where h.organization_id = these.organization_id and h.ticket_id = these.ticket_id`
  }
  await sql`
    with logged as (
      update tickets t
      set assignee_id = null, mailbox_id = null, purged_at = now()
      from ${these()}
      where t.organization_id = these.organization_id and t.id = these.ticket_id and exists (${timeOf(sql)})
    )
    delete from tickets t using ${these()}
    where t.organization_id = these.organization_id and t.id = these.ticket_id and not exists (${timeOf(sql)})`
  return tickets.length
}

function timeOf(sql: Sql) {
  return sql`select from time_entries e where e.organization_id = t.organization_id and e.ticket_id = t.id`
}
