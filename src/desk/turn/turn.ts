/**
 * Keeps on each ticket what lists tell of its messages: the newest public one, since when a customer waits, and how
 * many messages and files there are. Whoever writes, moves or removes messages of a ticket has locked it, and keeps
 * these columns in the same transaction.
 */
import { ZERO_ID } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import { sweep } from '../../base/db/sweep'
import type { Connection, Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { tellReplies } from '../facts/facts'

/** The parts of a new message that count. */
type NewMessage = {
  id: string
  is_internal: boolean
  direction: 'inbound' | 'outbound' | null
  auto_reply?: boolean
  attachment_ids?: string[]
}

type Tenant = Pick<Scope, 'sql' | 'organization_id'>

/** The columns of a ticket without messages. */
export const NO_MESSAGES: Turn = {
  last_message_id: null,
  waiting_message_id: null,
  message_count: 0,
  attachment_count: 0,
}

type Turn = {
  last_message_id: string | null
  waiting_message_id: string | null
  message_count: number
  attachment_count: number
}

/** The columns of a new ticket. @param first its message */
export function turnOfNew(first: NewMessage | null | undefined): Turn {
  if (!first) return NO_MESSAGES
  const { id, is_internal, is_asking, files } = partOf(first)
  return {
    last_message_id: is_internal ? null : id,
    waiting_message_id: is_asking ? id : null,
    message_count: is_internal ? 0 : 1,
    attachment_count: files,
  }
}

/** The part of a message that its ticket keeps. */
function partOf({ id, is_internal, direction, auto_reply = false, attachment_ids = [] }: NewMessage) {
  return {
    ...{ id, is_internal, is_answer: direction === 'outbound' && !auto_reply },
    is_asking: direction === 'inbound' && !auto_reply,
    files: asIds(attachment_ids).length,
  }
}

type PartName = keyof ReturnType<typeof partOf>

const PART_TYPES: Record<PartName, string> = {
  ...{ id: 'uuid', is_internal: 'boolean', is_answer: 'boolean', is_asking: 'boolean', files: 'integer' },
}

/** SQL for the columns of a ticket `t` with a message more. @param part SQL for a part of it */
function withOneMore(sql: Tenant['sql'], part: (name: PartName) => Fragment): Fragment {
  return sql`
    last_message_id = case when ${part('is_internal')} then t.last_message_id else ${part('id')} end,
    waiting_message_id = case
      when ${part('is_asking')} then coalesce(t.waiting_message_id, ${part('id')})
      when not ${part('is_answer')} then t.waiting_message_id
    end,
    message_count = t.message_count + (not ${part('is_internal')})::integer,
    attachment_count = t.attachment_count + ${part('files')}`
}

/** A ticket with its new message, which comes after those that it has. */
type Addition = { ticket_id: string; locked_at: string; draft: NewMessage }

/** Adds messages to different tickets, which were all locked by one statement, and sets their time of change. */
export async function addToTickets({ sql, organization_id }: Tenant, added: Addition[]): Promise<void> {
  const [first, ...others] = added
  if (!first) return
  const { locked_at } = first
  if (others.length === 0) {
    // With parameters in place of JSON the statement takes four fifths of the database's time.
    const given = partOf(first.draft)
    const more = withOneMore(sql, (name) => sql`${given[name]}::${sql.unsafe(PART_TYPES[name])}`)
    await sql`
      update tickets t set updated_at = ${locked_at}, ${more}
      where t.organization_id = ${organization_id} and t.id = ${first.ticket_id}`
    return
  }
  const given = added.map(({ ticket_id, draft }, place) => ({ place, ticket_id, ...partOf(draft) }))
  const types = Object.entries(PART_TYPES).map(([name, type]) => `${name} ${type}`)
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(given)}::text::json)
        as x (place integer, ticket_id uuid, ${sql.unsafe(types.join(', '))})
      where ${hasFewRows(sql)}
    )
    update tickets t set updated_at = ${locked_at}, ${withOneMore(sql, (name) => sql.unsafe(`given.${name}`))}
    from given where t.organization_id = ${organization_id} and t.id = given.ticket_id`
}

/** Adds files to tickets that get them from messages of others, or takes them away. @param files by ticket */
export async function moveFiles({ sql, organization_id }: Tenant, files: Map<string, number>): Promise<void> {
  for (const [ticket_id, count] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (count === 0) continue
    await sql`
      update tickets set attachment_count = attachment_count + ${count}::integer
      where organization_id = ${organization_id} and id = ${ticket_id}`
  }
}

/** SQL for the columns of a ticket `t`, computed of its messages. */
function computed({ sql, organization_id }: Tenant): Record<keyof Turn, Fragment> {
  const ofTicket = sql`m.organization_id = ${organization_id} and m.ticket_id = t.id`
  const newest = (which: Fragment) => sql`
    select m.id from messages m where ${ofTicket} and ${which} order by m.id desc limit 1`
  return {
    last_message_id: sql`(${newest(sql`not m.is_internal`)})`,
    waiting_message_id: sql`(
      select m.id from messages m
      where ${ofTicket} and m.direction = 'inbound' and not m.auto_reply
        and m.id > coalesce((${newest(sql`m.direction = 'outbound' and not m.auto_reply`)}), ${ZERO_ID})
      order by m.id limit 1
    )`,
    message_count: sql`(select count(*)::integer from messages m where ${ofTicket} and not m.is_internal)`,
    attachment_count: sql`(
      select count(*)::integer from messages m
      join attachments a on a.organization_id = ${organization_id} and a.message_id = m.id
      where ${ofTicket}
    )`,
  }
}

/** SQL for the columns of `tickets t`, as a statement reads them: computed until the job has counted them. */
export function counted(tenant: Tenant): Record<keyof Turn, Fragment> {
  const { sql } = tenant
  const read = Object.entries(computed(tenant)).map(([name, value]) => {
    return [name, sql`case when t.message_count is null then ${value} else ${sql.unsafe(`t.${name}`)} end`]
  })
  return Object.fromEntries(read)
}

/** Computes the columns again for tickets that have lost or gained messages, and tells reports of the replies. */
export async function recount(tenant: Tenant, ticket_ids: string[]): Promise<void> {
  const { sql, organization_id } = tenant
  const columns = computed(tenant)
  await sql`
    update tickets t set last_message_id = ${columns.last_message_id},
      waiting_message_id = ${columns.waiting_message_id}, message_count = ${columns.message_count},
      attachment_count = ${columns.attachment_count}
    where t.organization_id = ${organization_id} and t.id = any(${ticket_ids}::uuid[])`
  await tellReplies(tenant, ticket_ids)
}

/**
 * Counts the messages of tickets that releases without these columns wrote, in steps. For a background job.
 * @returns how many tickets
 */
export function countUncounted(connection: Connection): Promise<number> {
  const { sql } = connection
  const is_old = sql`t.message_count is null and t.deleted_at is null`
  const uncounted = { table: 'tickets', is_old, order: 'id', size: 500, pause_ms: 50 }
  return sweep(connection, uncounted, async (batch, old) => {
    const tickets = await batch.sql<{ id: string }[]>`${old}`
    const ids = tickets.map(({ id }) => id)
    if (ids.length > 0) await recount(batch, ids)
    return ids.length
  })
}
