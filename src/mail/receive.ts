/** The outbox handler of kind inbound: reads an accepted message, parses it in a worker, files it. */
import { storeAttachment } from '../attachments/commands'
import { storage } from '../attachments/storage'
import type { Connection } from '../db/client'
import { isPassing } from '../db/violations'
import { log, safeError } from '../log'
import type { Handler, Job, Outcome, Settlement } from '../outbox/job'
import { type Scope, SYSTEM } from '../scope'
import { bounceOf, decide, type Inbound, senderOf } from './decide'
import { fileMessage, type StoredPart } from './file'
import { fingerprintOf } from './fingerprint'
import { type MailHeaders, type ParsedAttachment, type ParsedMail, readHeaders, UnparsableMail } from './parse'
import { parseInWorker } from './parser'

const PARSE_TIMEOUT_MS = 30_000

type LedgerRow = {
  mailbox_id: string | null
  recipient: string
  envelope_sender: string
  storage_key: string | null
}

/**
 * Files one accepted message. Everything that fails for a passing reason rejects, and the outbox tries again for ever:
 * a message that got a 250 is never lost.
 */
export async function fileInbound(job: Job, connection: Connection): Promise<Outcome> {
  const { organization_id, id } = job
  const scope: Scope = { ...connection, organization_id, actor: SYSTEM }
  const row = await readLedger(scope, id)
  if (!row?.storage_key) return { type: 'done' }
  const raw = await readAll(await storage().open(row.storage_key))
  const inbound = await parse(raw, row.recipient, row.envelope_sender)
  const parts = await storeParts(scope, inbound)
  const arrival = { ...inbound, ledger_id: id, mailbox_id: row.mailbox_id, parts }
  // In the transaction that ends the lease: of two workers one files it, and one commit does all of it.
  return {
    type: 'done',
    settle: (inner) => orDiscard(scope, parts, () => fileMessage({ ...scope, ...inner }, arrival)),
  }
}

/**
 * How inbound work is done. A message that ends its worker again and again is filed unread, with its original attached:
 * it must not stop the others, and it got a 250.
 */
export const inboundHandler: Handler = {
  attempt: fileInbound,
  giveUp: (job) => ({ type: 'done', settle: (connection) => fileUnread(job, connection) }),
}

async function fileUnread({ organization_id, id }: Job, settlement: Settlement): Promise<void> {
  const scope: Scope = { ...settlement, organization_id, actor: SYSTEM }
  const row = await readLedger(scope, id)
  if (!row?.storage_key) return
  const raw = await readAll(await storage().open(row.storage_key))
  const { recipient, envelope_sender, mailbox_id } = row
  const inbound = inboundOf(raw, recipient, envelope_sender, null)
  const parts = await storeParts(scope, inbound)
  await fileMessage(scope, { ...inbound, ledger_id: id, mailbox_id, parts })
}

/**
 * Runs `file`, which makes a message of `parts` in a transaction. When that fails for good the parts go again; what
 * fails for a passing reason is tried again with them.
 */
export async function orDiscard(scope: Scope, parts: StoredPart[], file: () => Promise<void>): Promise<void> {
  try {
    await file()
  } catch (error) {
    if (!isPassing(error)) await discard(scope, parts)
    throw error
  }
}

/** What the parser makes of a message; a message that it cannot read keeps its headers. */
export async function parse(raw: Uint8Array, recipient: string, envelope_sender: string | null): Promise<Inbound> {
  return inboundOf(raw, recipient, envelope_sender, await tryToParse(raw))
}

function inboundOf(
  raw: Uint8Array,
  recipient: string,
  envelope_sender: string | null,
  mail: ParsedMail | null,
): Inbound {
  const headers = storable(mail ?? readHeaders(raw))
  const fingerprint = fingerprintOf(headers, raw, senderOf({ headers, envelope_sender }))
  return { recipient, envelope_sender, raw, headers, fingerprint, mail: mail && { ...mail, ...headers } }
}

/**
 * Stores what will be attached, outside the transaction, because it writes bytes. Nothing when it is certain that no
 * message will have it; the decision may still change in the transaction, and what is not used goes in a day.
 */
export async function storeParts(scope: Scope, inbound: Inbound): Promise<StoredPart[]> {
  const files = inbound.mail?.attachments ?? [originalOf(inbound)]
  if (files.length === 0 || bounceOf(inbound)) return []
  const { outcome } = await decide(scope, inbound)
  if (outcome === 'duplicate' || outcome === 'own') return []
  const parts: StoredPart[] = []
  try {
    for (const { filename, content_type, content_id, content } of files) {
      const file = { filename, content_type, content_id: cleaned(content_id), body: content }
      parts.push({ ...(await storeAttachment(scope, file)), content_id })
    }
  } catch (error) {
    await discard(scope, parts)
    throw error
  }
  return parts
}

function originalOf({ raw }: Inbound): ParsedAttachment {
  return { filename: 'message.eml', content_type: 'message/rfc822', content_id: null, content: raw, inline: false }
}

/** Uploads that nothing uses will not be used any more: they are removed by the job that removes old ones. */
async function discard({ sql, organization_id }: Scope, parts: StoredPart[]): Promise<void> {
  if (parts.length === 0) return
  const discarded = sql`
    with removed as (
      delete from attachments
      where organization_id = ${organization_id} and id = any(${parts.map(({ id }) => id)}::uuid[])
        and message_id is null
      returning storage_key
    )
    insert into storage_removals (storage_key) select storage_key from removed
    on conflict (storage_key) do update set due_at = now()`
  await discarded.catch((error) => log.warn({ error: safeError(error) }, 'uploads stay for a day'))
}

async function tryToParse(raw: Uint8Array): Promise<ParsedMail | null> {
  try {
    return await parseInWorker(raw, { timeout_ms: PARSE_TIMEOUT_MS })
  } catch (error) {
    // Without a parser nothing is known of the message: it is tried again.
    if (!(error instanceof UnparsableMail)) throw error
    log.warn({ error: safeError(error) }, 'an email could not be parsed, its original is attached to a ticket')
    return null
  }
}

async function readLedger({ sql, organization_id }: Scope, id: string): Promise<LedgerRow | undefined> {
  const [row] = await sql<LedgerRow[]>`
    select mailbox_id, recipient, envelope_sender, storage_key from inbound_messages
    where organization_id = ${organization_id} and id = ${id} and outcome = 'pending'`
  return row
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Keys of an index have at most some 2,700 bytes; no mail system makes ids of a thousand. */
const MAX_ID_BYTES = 1000

function storable({ message_id, in_reply_to, references, subject, ...rest }: MailHeaders): MailHeaders {
  const usable = (id: string) => Buffer.byteLength(id) <= MAX_ID_BYTES
  return {
    ...rest,
    message_id: message_id !== null && usable(message_id) ? message_id.toWellFormed() : null,
    in_reply_to: in_reply_to.filter(usable).map((id) => id.toWellFormed()),
    references: references.filter(usable).map((id) => id.toWellFormed()),
    subject: cleaned(subject),
  }
}

/** PostgreSQL cannot hold NUL. */
function cleaned(text: string | null): string | null {
  return text?.replaceAll('\u0000', '') ?? null
}
