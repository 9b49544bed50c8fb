/** Erases a person from the mail ledger: who wrote, what about, from where, the original, and its fingerprints. */

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
  storage_key: string | null
}

/** Mail that is not filed yet is left: it becomes a new contact's. */
export function eraseLedger(scope: Scope, { tickets, isAddress }: Traces): Promise<void> {
  const { sql, organization_id } = scope
  const own = new Set(tickets)
  const isPersons = ({ ticket_id, from_email, envelope_sender }: Row) =>
    (ticket_id !== null && own.has(ticket_id)) || isAddress(from_email) || isAddress(envelope_sender)
  return walk(
    (after) => sql<Row[]>`
      select id, ticket_id, from_email, envelope_sender, storage_key from inbound_messages
      where organization_id = ${organization_id} and outcome <> 'pending' and id > ${after}
      order by id limit ${STEP}`,
    async (rows) => {
      const found = rows.filter(isPersons)
      if (found.length > 0) await inTransaction(scope, (inner) => eraseRows(inner, found))
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
      authentication = null, email_message_id = null, from_name = null, from_email = null, subject = null,
      storage_key = null
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await removeSoon(sql, rows)
}
