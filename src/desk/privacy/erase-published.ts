/** Erases a person from what the service keeps of its own answers: events with their deliveries, and stored answers. */
import { ZERO_ID } from '../../base/db/columns'
import { EVENTS } from '../../base/db/schema'
import { inTransaction, type Scope } from '../../base/scope'
import type { Traces } from './traces'

/** Rows that are read at once: each may hold a message. */
const STEP = 200
/** Events that a statement looks at. */
const LOOK = 5000
/**
 * Types whose data has no ids but those of its resource, its ticket, its contact and what belongs to them, the ticket's
 * parent, and its newest message, which a merge may have brought. Others are read to their end.
 */
const ABOUT_ONE = EVENTS.filter(
  (type) =>
    /^(contact|company|label|message|time_entry)\./.test(type) ||
    ['ticket.created', 'ticket.updated', 'ticket.deleted', 'ticket.assigned', 'ticket.status_changed'].includes(type),
)

/** The events that are looked for. */
type Sought = Pick<Traces, 'isIn' | 'ids' | 'contact_ids' | 'address_like'>

/**
 * Leaves of events, delivered or not, ids only; and nothing of what receivers answered, because it may repeat them.
 * @param since events with lower ids are left
 */
export async function eraseEvents(scope: Scope, traces: Sought, since = ZERO_ID): Promise<void> {
  for (let after: string | undefined = since; after !== undefined; ) {
    const looked: { ids: string[]; last?: string } = await findEvents(scope, traces, after)
    for (let start = 0; start < looked.ids.length; start += STEP) {
      const rows = await readEvents(scope, looked.ids.slice(start, start + STEP))
      const found = rows.filter(({ body }) => traces.isIn(body)).map(({ id, body }) => ({ id, body: idsOnly(body) }))
      if (found.length > 0) await inTransaction(scope, (inner) => writeEvents(inner, found))
    }
    after = looked.last
  }
}

/**
 * Finds among the next events those that may tell of the person. Events of earlier releases do not say their ids.
 * With 300,000 events that takes less than half the time of reading all of them in the service.
 */
async function findEvents({ sql, organization_id }: Scope, traces: Sought, after: string) {
  const texts = [...traces.contact_ids.map((id) => `%${id}%`), ...traces.address_like]
  const rows = await sql<{ id: string; is_found: boolean }[]>`
    with looked_at as materialized (
      select id, type, resource_id, ticket_id, lower(body collate "C") as text from events
      where organization_id = ${organization_id} and id > ${after} order by id limit ${LOOK}
    ), told as materialized (
      select id, resource_id is null or resource_id = any(${traces.ids}::uuid[]) or ticket_id = any(${traces.ids}::uuid[])
        or left(split_part(text, '"last_message":{"id":"', 2), 36) = any(${traces.ids}::text[])
        or type <> all(${ABOUT_ONE}::text[]) or strpos(text, '"parent":{"id"') > 0 or text like any(${texts}::text[]) as is_found
      from looked_at
    )
    select id, is_found from told
    where is_found or id = (select id from told order by id desc limit 1) order by id`
  return { ids: rows.filter(({ is_found }) => is_found).map(({ id }) => id), last: rows.at(-1)?.id }
}

function readEvents({ sql, organization_id }: Scope, ids: string[]) {
  return sql<{ id: string; body: string }[]>`
    select id, body from events where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
}

async function writeEvents({ sql, organization_id }: Scope, events: { id: string; body: string }[]): Promise<void> {
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(events)}::text::json) as x (id uuid, body text)
    )
    update events e set body = given.body from given
    where e.organization_id = ${organization_id} and e.id = given.id`
  await sql`
    update delivery_attempts a set response_head = null
    from deliveries d
    where d.organization_id = ${organization_id} and d.event_id = any(${events.map(({ id }) => id)}::uuid[])
      and a.organization_id = ${organization_id} and a.delivery_id = d.id and a.response_head is not null`
}

/** Leaves of stored answers ids only: a request that is repeated with its key still changes nothing. */
export async function eraseAnswers(
  scope: Scope,
  { isIn, contact_ids }: Pick<Traces, 'isIn' | 'contact_ids'>,
): Promise<void> {
  const { sql, organization_id } = scope
  let after: Key = { user_id: ZERO_ID, key_digest: '' }
  for (;;) {
    const rows: (Key & { answer: string })[] = await sql<(Key & { answer: string })[]>`
      select user_id, encode(key_digest, 'hex') as key_digest, answer from idempotency_keys
      where organization_id = ${organization_id} and answer is not null
        and (user_id, key_digest) > (${after.user_id}, decode(${after.key_digest}, 'hex'))
      order by user_id, key_digest limit ${STEP}`
    const last = rows.at(-1)
    if (!last) return
    const found = rows
      .filter(({ user_id, answer }) => contact_ids.includes(user_id) || isIn(answer))
      .map((row) => ({ ...row, answer: idsOnly(row.answer) }))
    if (found.length > 0) {
      await sql`
        with given as materialized (
          select * from json_to_recordset(${JSON.stringify(found)}::text::json)
            as x (user_id uuid, key_digest text, answer text)
        )
        update idempotency_keys k set answer = given.answer from given
        where k.organization_id = ${organization_id} and k.user_id = given.user_id
          and k.key_digest = decode(given.key_digest, 'hex')`
    }
    after = last
  }
}

type Key = { user_id: string; key_digest: string }

/** An event or an answer without what its `data` says: its id remains, and that of its ticket. */
function idsOnly(json: string): string {
  const { data, ...rest } = JSON.parse(json) as { data?: { id?: string; ticket?: { id?: string } | null } }
  const ticket_id = data?.ticket?.id
  return JSON.stringify({ ...rest, data: { id: data?.id, ...(ticket_id && { ticket: { id: ticket_id } }) } })
}
