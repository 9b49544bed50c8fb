/** The outbox handler of kind inbound: reads an accepted message, parses it in a worker, files it. */
import { LRUCache } from 'lru-cache'
import { discardUploads, storeAttachment } from '../../attachments/commands'
import { storage } from '../../attachments/storage'
import type { Connection } from '../../db/transact'
import { isPassing } from '../../db/violations'
import { log, safeError } from '../../log'
import type { OutboxHandler, OutboxJob, Outcome, Settlement } from '../../outbox/job'
import { KINDS } from '../../outbox/kinds'
import { type Scope, SYSTEM } from '../../scope'
import { ParserBusy, type ParserOptions, parseInWorker } from '../parse/lanes'
import { type ParsedAttachment, type ParsedMail, UnparsableMail } from '../parse/parse'
import { decide } from './decide'
import { type Arrival, fileMessage, type StoredPart } from './filing'
import { type Arrived, type Inbound, inboundOf } from './message'
import { overtakesOriginal } from './overtaking'

/** What follows when a message would overtake its original: no fault of anybody. */
const NOT_YET: Outcome = { type: 'retry', delay_s: 1, counts: false }

/** Messages that were put off because they take long to parse: a process that starts anew learns it again. */
const slow_ones = new LRUCache<string, true>({ max: 10_000 })

/**
 * Files one accepted message. Everything that fails for a passing reason rejects, and the outbox tries again for ever:
 * a message that got a 250 is never lost.
 */
export async function fileInbound(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const pending = await readPending(scope, job.id)
  if (!pending) return { type: 'done' }
  let mail: ParsedMail | null
  try {
    mail = await parse(pending.raw, { is_slow: slow_ones.has(job.id) })
  } catch (error) {
    if (!(error instanceof ParserBusy)) throw error
    // Out of the way of other mail, of which this says nothing.
    slow_ones.set(job.id, true)
    return { ...KINDS.inbound.afterFault(job), healthy: true }
  }
  const inbound = inboundOf(pending, mail)
  if (await overtakesOriginal(scope, job.id, inbound)) return NOT_YET
  const arrival = await arrivalOf(scope, job.id, pending, inbound)
  // In the transaction that ends the lease: of two workers one files it, and one commit does all of it.
  return {
    type: 'done',
    settle: (inner) => orDiscard(scope, arrival.parts, () => fileMessage({ ...scope, ...inner }, arrival)),
  }
}

/**
 * How inbound work is done. A message that ends its worker again and again is filed unread, with its original attached:
 * it must not stop the others, and it got a 250.
 */
export const inboundHandler: OutboxHandler = {
  attempt: fileInbound,
  giveUp: (job) => ({ type: 'done', settle: (connection) => fileUnread(job, connection) }),
}

async function fileUnread({ organization_id, id }: OutboxJob, settlement: Settlement): Promise<void> {
  const scope: Scope = { ...settlement, organization_id, actor: SYSTEM }
  const pending = await readPending(scope, id)
  if (pending) await fileMessage(scope, await arrivalOf(scope, id, pending, inboundOf(pending, null)))
}

type Pending = Arrived & { mailbox_id: string | null }

/** With its attachments stored. */
async function arrivalOf(scope: Scope, id: string, { mailbox_id }: Pending, inbound: Inbound): Promise<Arrival> {
  return { ...inbound, ledger_id: id, mailbox_id, parts: await storeParts(scope, inbound) }
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

/** What the parser makes of a message; null when it cannot read it. @throws ParserBusy unless `is_patient` */
export async function parse(raw: Uint8Array, options: ParserOptions): Promise<ParsedMail | null> {
  try {
    return await parseInWorker(raw, options)
  } catch (error) {
    // Without a parser nothing is known of the message: it is tried again.
    if (!(error instanceof UnparsableMail)) throw error
    log.warn({ error: safeError(error) }, 'an email could not be parsed, its original is attached to a ticket')
    return null
  }
}

/**
 * Stores what will be attached, outside the transaction, because it writes bytes. Nothing when it is certain that no
 * message will have it; the decision may still change in the transaction, and what is not used goes in a day.
 */
export async function storeParts(scope: Scope, inbound: Inbound): Promise<StoredPart[]> {
  const files = inbound.mail?.attachments ?? [originalOf(inbound)]
  if (files.length === 0 || inbound.bounce) return []
  const { outcome } = await decide(scope, inbound)
  if (outcome === 'duplicate' || outcome === 'own') return []
  const parts: StoredPart[] = []
  try {
    for (const { filename, content_type, content_id, content } of files) {
      const file = { filename, content_type, content_id, body: content }
      parts.push({ ...(await storeAttachment(scope, file)), content_id })
    }
  } catch (error) {
    await discard(scope, parts)
    throw error
  }
  return parts
}

function originalOf({ raw }: Inbound): ParsedAttachment {
  return { filename: 'message.eml', content_type: 'message/rfc822', content_id: null, content: raw }
}

/** When this fails too, the job that removes unused uploads finds them in a day. */
async function discard(scope: Scope, parts: StoredPart[]): Promise<void> {
  if (parts.length === 0) return
  const discarded = discardUploads(
    scope,
    parts.map(({ id }) => id),
  )
  await discarded.catch((error) => log.warn({ error: safeError(error) }, 'uploads stay for a day'))
}

/** A message that waits to be filed; undefined when it does not any more. */
async function readPending({ sql, organization_id }: Scope, id: string): Promise<Pending | undefined> {
  const [row] = await sql<(Omit<Pending, 'raw'> & { storage_key: string | null })[]>`
    select mailbox_id, recipient, envelope_sender, storage_key from inbound_messages
    where organization_id = ${organization_id} and id = ${id} and outcome = 'pending'`
  if (!row?.storage_key) return undefined
  const { storage_key, ...arrived } = row
  const raw = await new Response(await storage().open(storage_key)).arrayBuffer()
  return { ...arrived, raw: new Uint8Array(raw) }
}
