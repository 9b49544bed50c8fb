/** Erases a person from what the service keeps of its own answers: events with their deliveries, and stored answers. */
import { ZERO_ID } from '../../base/db/columns'
import { inTransaction, type Scope } from '../../base/scope'
import { type Traces, walk } from './traces'

/** Rows that are read at once: each may hold a message. */
const STEP = 200

/**
 * Leaves of events, delivered or not, ids only; and nothing of what receivers answered, because it may repeat them.
 * @param since events with lower ids are left
 */
export function eraseEvents(scope: Scope, { isIn }: Pick<Traces, 'isIn'>, since = ZERO_ID): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<{ id: string; body: string }[]>`
      select id, body from events
      where organization_id = ${organization_id} and id > ${after > since ? after : since} order by id limit ${STEP}`,
    async (rows) => {
      const found = rows.filter(({ body }) => isIn(body)).map(({ id, body }) => ({ id, body: idsOnly(body) }))
      if (found.length > 0) await inTransaction(scope, (inner) => writeEvents(inner, found))
    },
  )
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
  { isIn, contact_id }: Pick<Traces, 'isIn'> & { contact_id: string | null },
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
      .filter(({ user_id, answer }) => user_id === contact_id || isIn(answer))
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
