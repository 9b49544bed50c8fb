/** Handles work of kind `inbound`: files a message that was accepted. */
import { LRUCache } from 'lru-cache'
import { storage } from '../../attachments/storage'
import type { Connection } from '../../db/transact'
import type { OutboxHandler, OutboxJob, Outcome } from '../../outbox/job'
import { KINDS } from '../../outbox/kinds'
import { type Scope, SYSTEM } from '../../scope'
import { ParserBusy } from '../parse/lanes'
import { withSenders } from './author'
import { fileMail, readMail } from './filing'
import { type InboundMail, inboundMail, type LedgerEntry, withCheckedSender } from './message'
import { overtakesParent } from './overtaking'

/** The outcome of a message that must not overtake the one that it answers: no fault, so it does not count. */
const NOT_YET: Outcome = { type: 'retry', delay_s: 1, counts: false }

/** Messages that were put off because they take long to parse. A process that starts anew finds out again. */
const slow_ones = new LRUCache<string, true>({ max: 10_000 })

/**
 * Files one accepted message. Rejects when something fails for a passing reason, and the outbox tries again without end:
 * a message that got a 250 is never lost.
 */
export async function fileInbound(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope = scopeOf(job, connection)
  const pending = await readPending(scope, job.id)
  if (!pending) return { type: 'done' }
  let mail: InboundMail
  try {
    mail = await readMail(scope, pending.entry, pending.raw, {
      is_slow: slow_ones.has(job.id),
      group: job.organization_id,
    })
  } catch (error) {
    if (!(error instanceof ParserBusy)) throw error
    // Moves out of the way of other mail. The lane stays healthy, because this says nothing about it.
    slow_ones.set(job.id, true)
    return { ...KINDS.inbound.afterFault(job), healthy: true }
  }
  if (await overtakesParent(scope, mail)) return NOT_YET
  return fileInSettlement(scope, await withCheckedSender(mail))
}

/**
 * A message that ends its worker again and again is filed without being parsed, with its original attached: it got a
 * 250, and must not stop others.
 */
export const inboundHandler: OutboxHandler = { attempt: fileInbound, giveUp: fileUnread }

async function fileUnread(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope = scopeOf(job, connection)
  const pending = await readPending(scope, job.id)
  if (!pending) return { type: 'done' }
  const [mail] = await withSenders(scope, [inboundMail(pending.entry, pending.raw, null)])
  return fileInSettlement(scope, mail!)
}

/** The transaction that ends the lease files the message: of two workers one does, and one commit does all of it. */
async function fileInSettlement(scope: Scope, mail: InboundMail): Promise<Outcome> {
  const file = await fileMail(scope, mail)
  return { type: 'done', settle: (transaction) => file({ ...scope, ...transaction }) }
}

function scopeOf({ organization_id }: OutboxJob, connection: Connection): Scope {
  return { ...connection, organization_id, actor: SYSTEM }
}

/** Reads a message that waits to be filed; undefined when it does not wait any more. */
async function readPending(
  { sql, organization_id }: Scope,
  id: string,
): Promise<{ entry: LedgerEntry; raw: Uint8Array } | undefined> {
  const [row] = await sql<(LedgerEntry & { storage_key: string | null })[]>`
    select id, mailbox_id, recipient, envelope_sender, remote_address, helo, relay_address, storage_key
    from inbound_messages
    where organization_id = ${organization_id} and id = ${id} and outcome = 'pending'`
  if (!row?.storage_key) return undefined
  const { storage_key, ...entry } = row
  return { entry, raw: await new Response(await storage().open(storage_key)).bytes() }
}
