/** Erases a person from the mail ledger: who wrote, what about, from where, the original, and its fingerprints. */

import { searchKeys } from '../../base/address/search-keys'
import { inTransaction, type Scope } from '../../base/scope'
import { removeSoon } from '../attachments/removals'
import { type Traces, walk } from './traces'

/** Rows that are read at once. */
const STEP = 1000

type Row = {
  id: string
  ticket_id: string | null
  from_email: string | null
  envelope_sender: string
  recipients: string[]
  from_keys: string[]
  storage_key: string | null
}

/** Mail that is not filed yet is left: it becomes a new contact's. */
export async function eraseLedger(scope: Scope, traces: Traces): Promise<void> {
  await eraseTaken(scope, traces)
  await eraseRefused(scope, traces)
}

/** Erases the mail that became tickets or joined them. */
export function eraseLedgerOf(scope: Scope, tickets: string[]): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<Row[]>`
      select id, ticket_id, from_email, envelope_sender, recipients, from_keys, storage_key from inbound_messages
      where organization_id = ${organization_id} and outcome <> 'pending' and ticket_id = any(${tickets}::uuid[])
        and id > ${after}
      order by id limit ${STEP}`,
    (rows) => inTransaction(scope, (inner) => eraseRows(inner, rows)),
  )
}

function eraseTaken(scope: Scope, { tickets, isAddress }: Traces): Promise<void> {
  const { sql, organization_id } = scope
  const own = new Set(tickets)
  // The sender may be in another field than From.
  const isPersons = ({ ticket_id, from_email, envelope_sender, from_keys }: Row) =>
    (ticket_id !== null && own.has(ticket_id)) || [from_email, envelope_sender, ...from_keys].some(isAddress)
  return walk(
    (after) => sql<Row[]>`
      select id, ticket_id, from_email, envelope_sender, recipients, from_keys, storage_key from inbound_messages
      where organization_id = ${organization_id} and outcome <> 'pending' and id > ${after}
      order by id limit ${STEP}`,
    async (rows) => {
      const found = rows.filter(isPersons)
      if (found.length > 0) await inTransaction(scope, (inner) => eraseRows(inner, found))
      const copied = rows.filter((row) => !isPersons(row) && row.recipients.some(isAddress))
      for (const { id, recipients } of copied) {
        const others = recipients.filter((address) => !isAddress(address))
        await sql`
          update inbound_messages set recipients = ${others}, to_keys = ${searchKeys(others)}
          where organization_id = ${organization_id} and id = ${id}`
      }
    },
  )
}

function eraseRefused(scope: Scope, { isAddress }: Traces): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<{ id: string; recipient: string; envelope_sender: string }[]>`
      select id, recipient, envelope_sender from refused_messages
      where organization_id = ${organization_id} and id > ${after} order by id limit ${STEP}`,
    async (rows) => {
      const found = rows.filter((row) => isAddress(row.recipient) || isAddress(row.envelope_sender))
      const ids = found.map(({ id }) => id)
      if (ids.length === 0) return
      await sql`delete from refused_messages where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
    },
  )
}

async function eraseRows({ sql, organization_id }: Scope, rows: Row[]): Promise<void> {
  const ids = rows.map(({ id }) => id)
  await sql`
    delete from inbound_fingerprints
    where organization_id = ${organization_id} and inbound_message_id = any(${ids}::uuid[])`
  await sql`
    update inbound_messages set envelope_sender = '', remote_address = null, relay_address = null, helo = null,
      authentication = null, recipients = '{}', from_keys = '{}', to_keys = '{}', email_message_id = null, led_by = null, from_name = null, from_email = null, subject = null,
      storage_key = null
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await removeSoon(sql, rows)
}
