/**
 * Erases a person from the tickets of others: what the person wrote there, the address, and people that only this mail
 * named. These rows are not linked to the contact, so that all rows of the organization are looked at, some thousand at
 * a time.
 */

import { addressKey, ERASED_EMAIL } from '../../base/address/email'
import { ZERO_ID } from '../../base/db/columns'
import { inTransaction, type Scope } from '../../base/scope'
import { type Erased, eraseMessages, tellErased } from './erase-messages'
import { eraseQuotations } from './erase-quotations'
import { scrubbed, TELLING_TYPES } from './erase-tickets'
import { type Traces, walk } from './traces'

/** Rows that are read at once. */
const STEP = 2000

export async function eraseElsewhere(scope: Scope, traces: Traces): Promise<Erased> {
  const erased: Erased = { messages: 0, attachments: 0 }
  await eraseMessagesElsewhere(scope, traces, erased)
  const { messages, attachments } = await eraseQuotations(scope, () => quotedOf(scope, traces))
  erased.messages += messages
  erased.attachments += attachments
  await eraseRecipients(scope, traces)
  await eraseDrafts(scope, traces)
  await eraseTimelines(scope, traces)
  await deleteViewsOf(scope, traces)
  const { sql, organization_id } = scope
  await sql`
    delete from sender_rules
    where organization_id = ${organization_id} and sender_key = any(${traces.email_keys}::text[])`
  for (let count = STEP; count === STEP; ) {
    ;({ count } = await sql`
      delete from participants
      where organization_id = ${organization_id} and id = any(array(
        select p.id from participants p
        where p.organization_id = ${organization_id}
          and (p.email_key = any(${traces.email_keys}::text[]) or p.contact_id = ${traces.contact_id})
        order by p.id limit ${STEP}
      ))`)
  }
  return erased
}

/** The condition on `message_quotes q` for what the person wrote anywhere, and what its tickets said. */
function quotedOf({ sql }: Scope, { contact_ids, email_keys }: Traces) {
  return sql`(q.contact_id = any(${contact_ids}::uuid[]) or q.sender_key = any(${email_keys}::text[]))`
}

type MessageRow = { id: string; ticket_id: string; direction: string | null; sender_email: string | null } & Addressed

/** Addresses in the header of a message. */
type Addressed = { cc: string[]; reply_to: string | null }

/** Erases messages that the person wrote, and takes the address out of the header of others. */
function eraseMessagesElsewhere(scope: Scope, { isAddress }: Traces, erased: Erased): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<MessageRow[]>`
      select id, ticket_id, direction, sender_email, cc, reply_to from messages
      where organization_id = ${organization_id} and id > ${after} order by id limit ${STEP}`,
    async (rows) => {
      const written = rows.filter(({ direction, sender_email }) => direction === 'inbound' && isAddress(sender_email))
      for (const [ticket_id, messages] of Map.groupBy(written, (row) => row.ticket_id)) {
        const { messages: count, attachments } = await inTransaction(scope, (inner) =>
          eraseFromTicket(
            inner,
            ticket_id,
            messages.map(({ id }) => id),
          ),
        )
        erased.messages += count
        erased.attachments += attachments
      }
      const addressed = rows
        .filter(({ cc, reply_to }) => [...cc, reply_to].some(isAddress))
        .map(({ id, cc, reply_to }) => ({
          id,
          cc: cc.filter((address) => !isAddress(address)),
          reply_to: isAddress(reply_to) ? null : reply_to,
        }))
      if (addressed.length > 0) await writeAddresses(scope, addressed)
    },
  )
}

async function eraseFromTicket(scope: Scope, ticket_id: string, ids: string[]): Promise<Erased> {
  const erased = await eraseMessages(scope, ids)
  await tellErased(scope, ticket_id, ids)
  return erased
}

async function writeAddresses({ sql, organization_id }: Scope, rows: (Addressed & { id: string })[]): Promise<void> {
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (id uuid, cc json, reply_to text)
    )
    update messages m set cc = array(select json_array_elements_text(given.cc)), reply_to = given.reply_to from given
    where m.organization_id = ${organization_id} and m.id = given.id`
}

/** Takes the address out of drafts of answers to others. */
function eraseDrafts(scope: Scope, { isAddress }: Traces): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<{ id: string; cc: string[] }[]>`
      select id, cc from drafts where organization_id = ${organization_id} and id > ${after} and cc is not null
      order by id limit ${STEP}`,
    async (rows) => {
      for (const { id, cc } of rows.filter((row) => row.cc.some(isAddress))) {
        const kept = cc.filter((address) => !isAddress(address))
        await sql`
          update drafts set cc = ${kept}::text[]
          where organization_id = ${organization_id} and id = ${id} and cc = ${cc}::text[]`
      }
    },
  )
}

type RecipientRow = { message_id: string; position: number; email: string }

/** Takes the person out of the recipients of answers to others. An email that still waits goes to the others only. */
async function eraseRecipients(scope: Scope, { isAddress }: Traces): Promise<void> {
  const { sql, organization_id } = scope
  for (let after = { message_id: ZERO_ID, position: -1 }; ; ) {
    const rows = await sql<RecipientRow[]>`
      select message_id, position, email from message_recipients
      where organization_id = ${organization_id} and (message_id, position) > (${after.message_id}, ${after.position})
      order by message_id, position limit ${STEP}`
    const found = rows.filter(({ email }) => isAddress(email))
    if (found.length > 0) await inTransaction(scope, (inner) => writeRecipients(inner, found))
    const last = rows.at(-1)
    if (!last) return
    after = last
  }
}

async function writeRecipients({ sql, organization_id }: Scope, rows: RecipientRow[]): Promise<void> {
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (message_id uuid, position integer)
    )
    update message_recipients r set name = null, email = ${ERASED_EMAIL}, email_key = ${ERASED_EMAIL}, error = null,
      status = case when status = 'queued' then 'failed' else status end
    from given
    where r.organization_id = ${organization_id} and r.message_id = given.message_id and r.position = given.position`
  await sql`
    update messages set email_error = null, server_response = null, email_tries = null
    where organization_id = ${organization_id} and id = any(${rows.map(({ message_id }) => message_id)}::uuid[])`
}

function eraseTimelines(scope: Scope, { isIn, contact_ids }: Traces): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<{ id: string; actor_id: string | null; data: string }[]>`
      select id, actor_id, data::text as data from activities
      where organization_id = ${organization_id} and id > ${after}
        and (type = any(${TELLING_TYPES}::text[]) or actor_id = any(${contact_ids}::uuid[]))
      order by id limit ${STEP}`,
    async (rows) => {
      const found = rows
        .filter(({ actor_id, data }) => (actor_id !== null && contact_ids.includes(actor_id)) || isIn(data))
        .map(({ id }) => id)
      if (found.length === 0) return
      await sql`
        update activities set ${scrubbed(scope)}
        where organization_id = ${organization_id} and id = any(${found}::uuid[])`
      await removeNamedOnlyBy(scope, contact_ids, found)
    },
  )
}

/** Deletes saved filters that name the person. */
function deleteViewsOf({ sql, organization_id }: Scope, { isIn }: Traces): Promise<void> {
  return walk(
    (after) => sql<{ id: string; text: string }[]>`
      select id, name || ' ' || filter::text as text from views
      where organization_id = ${organization_id} and id > ${after} order by id limit ${STEP}`,
    async (rows) => {
      const found = rows.filter(({ text }) => isIn(text)).map(({ id }) => id)
      if (found.length === 0) return
      await sql`delete from views where organization_id = ${organization_id} and id = any(${found}::uuid[])`
    },
  )
}

/**
 * Removes participants that the person's mail has listed, unless an agent has confirmed them, or other mail of the
 * ticket names them too.
 * @param entries ids of entries of timelines. The person's messages are erased already
 */
async function removeNamedOnlyBy(
  { sql, organization_id }: Scope,
  contact_ids: string[],
  entries: string[],
): Promise<void> {
  const listed = await sql<{ id: string; ticket_id: string; email_key: string }[]>`
    select p.id, p.ticket_id, p.email_key
    from activities a join participants p
      on p.organization_id = ${organization_id} and p.id = (a.data ->> 'participant_id')::uuid and not p.confirmed
    where a.organization_id = ${organization_id} and a.id = any(${entries}::uuid[]) and a.type = 'participant_added'
      and a.actor_id = any(${contact_ids}::uuid[])`
  if (listed.length === 0) return
  const named = await sql<{ ticket_id: string; address: string }[]>`
    select distinct ticket_id, unnest(array_append(cc, coalesce(sender_email, ''))) as address from messages
    where organization_id = ${organization_id} and ticket_id = any(${listed.map(({ ticket_id }) => ticket_id)}::uuid[])`
  const kept = new Set(named.map(({ ticket_id, address }) => `${ticket_id} ${addressKey(address)}`))
  const removed = listed.filter(({ ticket_id, email_key }) => !kept.has(`${ticket_id} ${email_key}`))
  await sql`
    delete from participants
    where organization_id = ${organization_id} and id = any(${removed.map(({ id }) => id)}::uuid[]) and not confirmed`
}
