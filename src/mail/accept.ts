/** What stands behind a 250: the original's bytes and a ledger row for each organization, durable before it is given. */
import { storage } from '../attachments/storage'
import { asciiAddress } from '../contacts/email'
import type { Connection, Sql } from '../db/client'
import { newId } from '../db/columns'
import { findMailboxByAddress } from '../mailboxes/queries'
import { wake } from '../outbox/wake'
import type { Envelope, Recipient } from './incoming'

/** The active mailbox of a RCPT address; null is answered 550. */
export async function findRecipient(connection: Connection, address: string): Promise<Recipient | null> {
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
  const key = `inbound/${newId()}`
  await sql`insert into storage_removals (storage_key, due_at) values (${key}, now() + interval '1 hour')`
  const { size } = await storage().put(key, raw)
  const entries = onePerOrganization(envelope.recipients).map((recipient) => ({ ...recipient, id: newId() }))
  await addToLedger(sql, envelope.sender, entries, key, size)
  wake('inbound')
  return { queue_id: entries[0]!.id }
}

/** A mailbox may have the name of an international domain in either form; the listener gives it in Unicode. */
async function findInAscii(connection: Connection, address: string) {
  const ascii = asciiAddress(address)
  return ascii === address ? null : findMailboxByAddress(connection, ascii)
}

/** All of it or nothing, by one statement, which costs less than a transaction. */
async function addToLedger(
  sql: Sql,
  envelope_sender: string,
  entries: (Recipient & { id: string })[],
  storage_key: string,
  size: number,
): Promise<void> {
  const added = await sql`
    with given as materialized (
      select m.organization_id, g.id, m.id as mailbox_id, m.address as mailbox_address, g.address as recipient
      from json_to_recordset(${JSON.stringify(entries)}::text::json)
        as g (organization_id uuid, id uuid, mailbox_id uuid, address text)
      join mailboxes m on m.organization_id = g.organization_id and m.id = g.mailbox_id
    ), kept as (
      delete from storage_removals
      where storage_key = ${storage_key} and (select count(*) from given) = ${entries.length}
      returning storage_key
    ), ledger as (
      insert into inbound_messages (organization_id, id, mailbox_id, mailbox_address, recipient, envelope_sender, size,
        storage_key)
      select organization_id, id, mailbox_id, mailbox_address, recipient, ${envelope_sender}, ${size}, storage_key
      from kept cross join given
      returning organization_id, id
    )
    insert into outbox (organization_id, id, kind, lane_id)
    select organization_id, id, 'inbound', organization_id from ledger
    returning id`
  if (added.length === 0) throw new Error('A mailbox was removed, or the bytes, while the message arrived')
}

/** A message to two mailboxes of an organization is one message; the one with a `+tag` tells more. */
function onePerOrganization(recipients: Recipient[]): Recipient[] {
  const chosen = new Map<string, Recipient>()
  for (const recipient of recipients) {
    const other = chosen.get(recipient.organization_id)
    if (!other || (!other.address.includes('+') && recipient.address.includes('+'))) {
      chosen.set(recipient.organization_id, recipient)
    }
  }
  return [...chosen.values()]
}
