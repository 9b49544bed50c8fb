/** What stands behind a 250: the original's bytes and a ledger row for each organization, durable before it is given. */

import { asciiAddress } from '../../address/email'
import { keepAll, promiseRemoval } from '../../attachments/removals'
import { storage } from '../../attachments/storage'
import { newId } from '../../db/columns'
import type { Connection, Sql } from '../../db/transact'
import { gathered } from '../../flow/gather'
import { findMailboxByAddress } from '../../mailboxes/queries'
import { wake } from '../../outbox/wake'
import { storable } from '../../search/fold'
import type { Envelope, RcptMailbox } from '../smtp/envelope'

/** The active mailbox of a RCPT address; null is answered 550. */
export async function findRecipient(connection: Connection, address: string): Promise<RcptMailbox | null> {
  const mailbox = (await findMailboxByAddress(connection, address)) ?? (await findInAscii(connection, address))
  return mailbox && { organization_id: mailbox.organization_id, mailbox_id: mailbox.id, address }
}

/**
 * Makes a message ours: bytes first, then ledger and outbox rows in one statement. Whatever fails before its commit
 * leaves the message with the sender's server, and bytes without a row are removed in an hour.
 * @throws also when a mailbox went since its RCPT: the next try is told so
 * @returns the id of its first ledger row, for the answer
 */
export async function acceptMessage(
  { sql }: Connection,
  envelope: Envelope,
  raw: AsyncIterable<Uint8Array>,
): Promise<{ queue_id: string }> {
  const storage_key = `inbound/${newId()}`
  await promiseWithOthers({ sql, storage_key })
  const { size } = await storage().put(storage_key, raw)
  const entries = onePerOrganization(envelope.recipients).map((recipient) => ({ ...recipient, id: newId() }))
  const { sender, remote_address, tls } = envelope
  const session = { envelope_sender: sender, remote_address, helo: storable(envelope.helo), tls }
  const is_added = await addToLedger({ sql, storage_key, size, entries, ...session })
  if (!is_added) throw new Error('A mailbox was removed, or the bytes, while the message arrived')
  wake('inbound')
  return { queue_id: entries[0]!.id }
}

/** A mailbox may have the name of an international domain in either form; the listener gives it in Unicode. */
async function findInAscii(connection: Connection, address: string) {
  const ascii = asciiAddress(address)
  return ascii === address ? null : findMailboxByAddress(connection, ascii)
}

/** Messages that arrive at the same time share a statement, because its commit costs more than a row. */
const promiseWithOthers = gathered(async (given: { sql: Sql; storage_key: string }[]) => {
  const storage_keys = given.map(({ storage_key }) => storage_key)
  await promiseRemoval(given[0]!.sql, storage_keys)
  return storage_keys
})

type Accepted = {
  sql: Sql
  storage_key: string
  envelope_sender: string
  remote_address: string
  helo: string
  tls: boolean
  size: number
  entries: (RcptMailbox & { id: string })[]
}

/**
 * All of a message or nothing of it, by one statement, which costs less than a transaction. Tells whether it was added.
 */
const addToLedger = gathered(async (messages: Accepted[]) => {
  const { sql } = messages[0]!
  const rows = messages.flatMap(({ entries, sql: _, ...message }) =>
    entries.map((entry) => ({ ...message, ...entry, entries: entries.length })),
  )
  const added = await sql<{ storage_key: string }[]>`
    with given as materialized (
      select m.organization_id, g.id, m.id as mailbox_id, m.address as mailbox_address, g.address as recipient,
        g.storage_key, g.envelope_sender, g.remote_address, g.helo, g.tls, g.size, g.entries
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (organization_id uuid, id uuid, mailbox_id uuid,
        address text, storage_key text, envelope_sender text, remote_address text, helo text, tls boolean, size bigint,
        entries integer)
      join mailboxes m on m.organization_id = g.organization_id and m.id = g.mailbox_id
    ), kept as (
      ${keepAll(sql, sql`select storage_key from given group by storage_key, entries having count(*) = entries`)}
    ), ledger as (
      insert into inbound_messages (organization_id, id, mailbox_id, mailbox_address, recipient, envelope_sender,
        remote_address, helo, tls, size, storage_key)
      select organization_id, id, mailbox_id, mailbox_address, recipient, envelope_sender,
        remote_address, helo, tls, size, storage_key
      from kept join given using (storage_key)
      returning organization_id, id, storage_key
    ), added as (
      insert into outbox (organization_id, id, kind, lane_id)
      select organization_id, id, 'inbound', organization_id from ledger
    )
    select storage_key from ledger`
  const keys = new Set(added.map(({ storage_key }) => storage_key))
  return messages.map(({ storage_key }) => keys.has(storage_key))
})

/** A message to two mailboxes of an organization is one message; the one with a `+tag` tells more. */
function onePerOrganization(recipients: RcptMailbox[]): RcptMailbox[] {
  const chosen = new Map<string, RcptMailbox>()
  for (const recipient of recipients) {
    const other = chosen.get(recipient.organization_id)
    if (!other || (!other.address.includes('+') && recipient.address.includes('+'))) {
      chosen.set(recipient.organization_id, recipient)
    }
  }
  return [...chosen.values()]
}
