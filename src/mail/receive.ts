/** The outbox handler of kind inbound: reads an accepted message, parses it in a worker, files it. */
import { storeAttachment } from '../attachments/commands'
import { storage } from '../attachments/storage'
import type { Connection } from '../db/client'
import { log, safeError } from '../log'
import type { Job, Outcome } from '../outbox/job'
import { type Scope, SYSTEM } from '../scope'
import { type Decision, decide, type Inbound } from './decide'
import { type Arrival, fileMessage, type StoredPart } from './file'
import { type ParsedMail, readHeaders } from './parse'
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
  const parts = await storeParts(scope, inbound, await decide(scope, inbound))
  const arrival: Arrival = { ...inbound, ledger_id: id, mailbox_id: row.mailbox_id, parts }
  return {
    type: 'done',
    settle: (inner) => fileMessage({ ...scope, ...inner }, arrival),
  }
}

/** What the parser makes of a message; a message that it cannot read keeps its headers. */
export async function parse(raw: Uint8Array, recipient: string, envelope_sender: string | null): Promise<Inbound> {
  const mail = await tryToParse(raw)
  const headers = mail ?? readHeaders(raw)
  return { recipient, envelope_sender, raw, headers: { ...headers, subject: cleaned(headers.subject) }, mail }
}

/** Stores what will be attached. Outside the transaction, because it writes bytes; what is not used goes in a day. */
export async function storeParts(scope: Scope, { mail, raw }: Inbound, { outcome }: Decision): Promise<StoredPart[]> {
  if (outcome === 'unparsed') {
    const original = { filename: 'message.eml', content_type: 'message/rfc822', body: raw }
    return [{ ...(await storeAttachment(scope, original)), content_id: null }]
  }
  if (outcome !== 'ticket' && outcome !== 'message') return []
  const parts: StoredPart[] = []
  for (const { filename, content_type, content_id, content } of mail?.attachments ?? []) {
    const file = { filename, content_type, content_id: cleaned(content_id), body: content }
    parts.push({ ...(await storeAttachment(scope, file)), content_id })
  }
  return parts
}

async function tryToParse(raw: Uint8Array): Promise<ParsedMail | null> {
  try {
    return await parseInWorker(raw, { timeout_ms: PARSE_TIMEOUT_MS })
  } catch (error) {
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

/** PostgreSQL cannot hold NUL. */
function cleaned(text: string | null): string | null {
  return text?.replaceAll('\u0000', '') ?? null
}
