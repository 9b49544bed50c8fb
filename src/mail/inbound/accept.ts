/** Makes a message durable before it gets its 250: the bytes of its original, and a ledger row for each organization. */
import { keepAll, promiseRemoval } from '../../attachments/removals'
import { storage } from '../../attachments/storage'
import { newId } from '../../db/columns'
import type { Connection, Sql } from '../../db/transact'
import { gathered } from '../../flow/gather'
import { findMailboxesByAddress } from '../../mailboxes/queries'
import { wake } from '../../outbox/wake'
import { storable } from '../../search/fold'
import { currentTraceparent, traced } from '../../tracing/trace'
import type { Envelope, RcptMailbox } from '../smtp/envelope'
import type { RefusedRecipient } from '../smtp/refusals'
import type { LedgerEntry } from './message'
import { domainOf, ownDomainOf } from './own-domains'

/** Finds the active mailbox of a RCPT address, or the reason why there is none, which is answered 550. */
export async function findRecipient(connection: Connection, address: string): Promise<RcptMailbox | RefusedRecipient> {
  const mailbox = await findWithOthers({ sql: connection.sql, address })
  if (!mailbox) {
    const domain = await ownDomainOf(connection, address)
    return { reason: domain === null ? 'unknown_domain' : 'unknown_mailbox', domain }
  }
  const { organization_id, id: mailbox_id } = mailbox
  if (mailbox.is_active && mailbox.may_use_address) return { organization_id, mailbox_id, address }
  const reason = !mailbox.is_active
    ? 'mailbox_inactive'
    : mailbox.has_address
      ? 'domain_not_verified'
      : 'address_of_another'
  return { reason, domain: domainOf(address), organization_id, mailbox_id }
}

/** Recipients that are named at the same time share a statement. */
const findWithOthers = gathered((asked: { sql: Sql; address: string }[]) =>
  findMailboxesByAddress(
    asked[0]!.sql,
    asked.map(({ address }) => address),
  ),
)

/**
 * Takes over a message: bytes first, then ledger and outbox rows in one statement. A failure before its commit leaves
 * the message with the sender's server; bytes without a row are removed in an hour.
 * @throws also when a mailbox was removed after its RCPT: when the message is sent again, that RCPT is refused
 * @returns the id of its first ledger row, for the reply
 */
export function acceptMessage(
  { sql }: Connection,
  envelope: Envelope,
  raw: AsyncIterable<Uint8Array>,
): Promise<{ queue_id: string }> {
  return traced({ name: 'receive mail', kind: 'server', parent: null, attributes: ATTRIBUTES }, async (span) => {
    const queue_id = await storeMessage(sql, envelope, raw)
    span?.set({ 'messaging.message.id': queue_id })
    return { queue_id }
  })
}

const ATTRIBUTES = {
  'network.protocol.name': 'smtp',
  'messaging.system': 'deskwire',
  'messaging.operation.type': 'receive',
}

async function storeMessage(sql: Sql, envelope: Envelope, raw: AsyncIterable<Uint8Array>): Promise<string> {
  const storage_key = `inbound/${newId()}`
  await promiseWithOthers({ sql, storage_key })
  const { size } = await storage().put(storage_key, raw)
  const rows = rowsOf(envelope, { storage_key, size })
  const is_added = await addToLedger({ sql, rows })
  if (!is_added) throw new Error('A mailbox was removed, or the bytes, while the message arrived')
  wake('inbound')
  return rows[0]!.id
}

/** Messages that arrive at the same time share a statement, because its commit costs more than a row. */
const promiseWithOthers = gathered(async (given: { sql: Sql; storage_key: string }[]) => {
  const storage_keys = given.map(({ storage_key }) => storage_key)
  await promiseRemoval(given[0]!.sql, storage_keys)
  return storage_keys
})

type Stored = { storage_key: string; size: number }

type NewRow = LedgerEntry &
  Stored & {
    organization_id: string
    tls: boolean
    /** Rows of the message: all are written, or none. */
    rows_of_message: number
    /** The trace of the session. */
    traceparent: string | null
  }

/** One ledger row for each organization: a message to two mailboxes of one is a single message. */
function rowsOf({ sender, recipients, remote_address, relay_address, helo, tls }: Envelope, stored: Stored): NewRow[] {
  const chosen = onePerOrganization(recipients)
  return chosen.map(({ organization_id, mailbox_id, address }) => ({
    id: newId(),
    organization_id,
    mailbox_id,
    recipient: address,
    envelope_sender: sender,
    remote_address,
    relay_address,
    helo: storable(helo),
    tls,
    ...stored,
    rows_of_message: chosen.length,
    traceparent: currentTraceparent(),
  }))
}

/** The address with a `+tag` is chosen, because the tag may lead to a ticket. */
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

/**
 * Writes the rows of messages, for each message all or none, by one statement, which costs less than a transaction.
 * @returns for each message whether its rows were written
 */
const addToLedger = gathered(async (messages: { sql: Sql; rows: NewRow[] }[]) => {
  const { sql } = messages[0]!
  const rows = messages.flatMap((message) => message.rows)
  const added = await sql<{ storage_key: string }[]>`
    with given as materialized (
      select m.organization_id, g.id, m.id as mailbox_id, m.address as mailbox_address, g.recipient, g.envelope_sender,
        g.remote_address, g.relay_address, g.helo, g.tls, g.size, g.storage_key, g.rows_of_message, g.traceparent
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (organization_id uuid, id uuid, mailbox_id uuid,
        recipient text, envelope_sender text, remote_address text, relay_address text, helo text, tls boolean, size bigint, storage_key text,
        rows_of_message integer, traceparent text)
      join mailboxes m on m.organization_id = g.organization_id and m.id = g.mailbox_id
    ), kept as (
      ${keepAll(
        sql,
        sql`select storage_key from given group by storage_key, rows_of_message having count(*) = rows_of_message`,
      )}
    ), ledger as (
      insert into inbound_messages (organization_id, id, mailbox_id, mailbox_address, recipient, envelope_sender,
        remote_address, relay_address, helo, tls, size, storage_key)
      select organization_id, id, mailbox_id, mailbox_address, recipient, envelope_sender,
        remote_address, relay_address, helo, tls, size, storage_key
      from kept join given using (storage_key)
      returning organization_id, id, storage_key
    ), added as (
      insert into outbox (organization_id, id, kind, lane_id, traceparent)
      select organization_id, id, 'inbound', organization_id, given.traceparent
      from ledger join given using (organization_id, id)
    )
    select storage_key from ledger`
  const keys = new Set(added.map(({ storage_key }) => storage_key))
  return messages.map((message) => keys.has(message.rows[0]!.storage_key))
})
