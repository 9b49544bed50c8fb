/** What stands behind a 250: the original's bytes and a ledger row for each organization, durable before it is given. */

import { domainToASCII } from 'node:url'
import { storage } from '../attachments/storage'
import type { Connection } from '../db/client'
import { newId } from '../db/columns'
import { findMailboxByAddress } from '../mailboxes/queries'
import { enqueueWork } from '../outbox/enqueue'
import { inTransaction, type Scope, SYSTEM } from '../scope'
import type { Envelope, Recipient } from './server'

/** The active mailbox of a RCPT address; null is answered 550. */
export async function findRecipient(connection: Connection, address: string): Promise<Recipient | null> {
  const mailbox = (await findMailboxByAddress(connection, address)) ?? (await findInAscii(connection, address))
  return mailbox && { organization_id: mailbox.organization_id, mailbox_id: mailbox.id, address }
}

/**
 * Makes a message ours: bytes first, then ledger and outbox rows in one transaction. Whatever fails before its commit
 * leaves the message with the sender's server, and bytes without a row are removed in an hour.
 * @throws also when a mailbox went since its RCPT: the next try is told so
 * @returns the id of its first ledger row, for the answer
 */
export async function acceptMessage(
  connection: Connection,
  envelope: Envelope,
  raw: AsyncIterable<Uint8Array>,
): Promise<{ queue_id: string }> {
  const key = `inbound/${newId()}`
  const first: Scope = { ...connection, organization_id: envelope.recipients[0]!.organization_id, actor: SYSTEM }
  await first.sql`insert into storage_removals (storage_key, due_at) values (${key}, now() + interval '1 hour')`
  const { size } = await storage().put(key, raw)
  const ids = await inTransaction(first, async (inner) => {
    const kept = await inner.sql`delete from storage_removals where storage_key = ${key} returning storage_key`
    if (kept.length === 0) throw new Error('The message took so long that its bytes were removed')
    const ids: string[] = []
    for (const recipient of onePerOrganization(envelope.recipients)) {
      const scope = { ...inner, organization_id: recipient.organization_id }
      ids.push(await addToLedger(scope, envelope.sender, recipient, key, size))
    }
    return ids
  })
  return { queue_id: ids[0]! }
}

/** A mailbox may have the name of an international domain in either form; the listener gives it in Unicode. */
async function findInAscii(connection: Connection, address: string) {
  const at = address.lastIndexOf('@') + 1
  const ascii = address.slice(0, at) + domainToASCII(address.slice(at))
  return ascii === address ? null : findMailboxByAddress(connection, ascii)
}

async function addToLedger(
  scope: Scope,
  envelope_sender: string,
  { organization_id, mailbox_id, address }: Recipient,
  storage_key: string,
  size: number,
): Promise<string> {
  const id = newId()
  const added = await scope.sql`
    insert into inbound_messages (organization_id, id, mailbox_id, mailbox_address, recipient, envelope_sender, size,
      storage_key)
    select organization_id, ${id}, id, address, ${address}, ${envelope_sender}, ${size}, ${storage_key}
    from mailboxes where organization_id = ${organization_id} and id = ${mailbox_id}
    returning id`
  if (added.length === 0) throw new Error('The mailbox was removed while the message arrived')
  await enqueueWork(scope, 'inbound', id, organization_id)
  return id
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
