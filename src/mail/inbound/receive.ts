/** Handles work of kind `inbound`: files a message that was accepted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Connection, Sql } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { places } from '../../base/flow/turns'
import { log } from '../../base/log'
import { InboundSteps } from '../../base/metrics/inbound-steps'
import { collectSoon, noteMade } from '../../base/process/collect'
import { type Scope, SYSTEM } from '../../base/scope'
import { inBatch, type OutboxHandler, type OutboxJob, type Outcome, type Settlement } from '../../delivery/outbox/job'
import { KINDS } from '../../delivery/outbox/kinds'
import { storage } from '../../desk/attachments/storage'
import { ParserBusy } from '../parse/lanes'
import { withSenders } from './author'
import { withCheckedSender } from './checked-sender'
import type { Filing } from './file-unrelated'
import { discardAfter, fileAll, prepareFiling, readMail } from './filing'
import { type InboundMail, inboundMail, type LedgerEntry } from './message'
import { noteMessageId, overtakesParent, parentDelay } from './overtaking'
import { findSent, withOurs } from './own-mail'
import { unwrapForwarded } from './team-mail'

/** Seconds until a sender that DNS could not tell is checked again; then the message is filed as it is. */
const CHECKED_AGAIN_S = [60, 240, 300]

/** Messages that were put off because they take long to parse. A process that starts anew finds out again. */
const slow_ones = new LRUCache<string, true>({ max: 10_000 })

/** Messages that this process files: true once they only wait for the transaction, false when they are put off. */
const under_way = new Map<string, Promise<boolean>>()
/** The time that a message waits here for its parent, instead of being put off. */
const PARENT_WAIT_MS = 1000

/** Bytes of an original. Many smaller ones may be in memory at a time; of larger ones few. */
const LARGE_BYTES = 100_000
const takeLargePlace = places(6)
/** An original of 25 MB takes some 200 MB in the process that parses it, and 100 MB here: one is read at a time. */
const HUGE_BYTES = 5_000_000
const takeHugePlace = places(1)

/**
 * Files one accepted message. Everything that takes time for one message alone (its bytes, the parser, DNS,
 * attachments) takes place here, so that no message waits for another. Then messages of the organization are filed
 * together. Rejects when something fails for a passing reason, and the outbox tries again without end: a message that
 * got a 250 is never lost.
 */
export async function fileInbound(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const pending = await findPending({ sql: connection.sql, job })
  if (!pending) return { type: 'done' }
  const steps = new InboundSteps()
  const { promise: is_ready, resolve: setReady } = Promise.withResolvers<boolean>()
  under_way.set(job.id, is_ready)
  const leavePlace = await takePlace(pending.size, job.organization_id)
  const release = () => {
    setReady(false)
    under_way.delete(job.id)
    leavePlace()
    steps.leave()
  }
  try {
    const outcome = await fileOrPutOff(scopeOf(job, connection), job, pending, steps)
    setReady(outcome.type === 'done')
    return { ...outcome, release }
  } catch (error) {
    release()
    throw error
  }
}

/** True for an older message that is filed before those that are not ready yet. */
function comesBefore(id: string): Promise<boolean> {
  return Promise.race([under_way.get(id) ?? false, sleep(PARENT_WAIT_MS, false, { ref: false })])
}

async function fileOrPutOff(
  scope: Scope,
  job: OutboxJob,
  { entry, storage_key }: Pending,
  steps: InboundSteps,
): Promise<Outcome> {
  steps.enter('store')
  const raw = await storage().read(storage_key)
  const file = raw.length > HUGE_BYTES ? await storage().fileOf(storage_key) : null
  const options = { is_slow: slow_ones.has(job.id), group: job.organization_id, file, steps }
  let mail: InboundMail
  try {
    mail = await readMail(scope, entry, raw, options)
  } catch (error) {
    if (!(error instanceof ParserBusy)) throw error
    // Moves out of the way of other mail. The lane stays healthy, because this says nothing about it.
    slow_ones.set(job.id, true)
    return { ...KINDS.inbound.afterFault(job), healthy: true }
  }
  noteMessageId(storage_key, mail.headers)
  const checked = unwrapForwarded(await withCheckedSender(mail))
  const delay_s = checked.is_undecided ? CHECKED_AGAIN_S[job.attempts] : undefined
  if (delay_s !== undefined) {
    log.info({ id: job.id, delay_s }, 'the sender of an email cannot be looked up now, it waits')
    return { type: 'retry', delay_s, counts: true, healthy: true }
  }
  steps.enter('wait')
  if (!(await overtakesParent(scope, checked, comesBefore))) return fileInSettlement(scope, checked, steps)
  // To wait for a parent is no fault, so it does not count.
  return { type: 'retry', delay_s: parentDelay(job.id), counts: false }
}

/** Waits until few large messages are in memory. @returns what lets the next one in */
async function takePlace(size: number, group: string): Promise<() => void> {
  if (size <= LARGE_BYTES) return () => {}
  const leave = await (size > HUGE_BYTES ? takeHugePlace(group) : takeLargePlace(group))
  return () => {
    leave()
    noteMade(2 * size)
    collectSoon()
  }
}

/**
 * A message that ends its worker again and again is filed without being parsed, with its original attached: it got a
 * 250, and must not stop others.
 */
export const inboundHandler: OutboxHandler = { attempt: fileInbound, giveUp: fileUnread }

async function fileUnread(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const pending = await findPending({ sql: connection.sql, job })
  if (!pending) return { type: 'done' }
  const scope = scopeOf(job, connection)
  const raw = await storage().read(pending.storage_key)
  const [mail] = await withSenders(scope, [inboundMail(pending.entry, raw, null)])
  const known = await withOurs(scope, mail!, await findSent({ scope, mail: mail! }))
  return fileInSettlement(scope, known, new InboundSteps())
}

/**
 * The transaction that ends the lease files the message, with those of the organization that are ready by then: of two
 * workers one does, and one commit does all of it.
 */
async function fileInSettlement(scope: Scope, mail: InboundMail, steps: InboundSteps): Promise<Outcome> {
  const filing = await prepareFiling(scope, mail, steps)
  return { type: 'done', ...inBatch(fileTogether, { scope, filing }, scope.organization_id) }
}

/** Files messages of an organization. @param given with scopes outside the transaction */
async function fileTogether(settlement: Settlement, given: { scope: Scope; filing: Filing }[]): Promise<void> {
  const [{ scope, filing }] = given as [(typeof given)[number]]
  try {
    await fileAll(
      { ...scope, ...settlement },
      given.map((one) => one.filing),
    )
  } catch (error) {
    // Messages of a set that fails are tried again, each alone in the end.
    if (given.length === 1) await discardAfter(error, scope, filing)
    throw error
  }
}

function scopeOf({ organization_id }: OutboxJob, connection: Connection): Scope {
  return { ...connection, organization_id, actor: SYSTEM }
}

/** A message that waits to be filed. */
type Pending = { entry: LedgerEntry; size: number; storage_key: string }

/**
 * Finds the message of a job; undefined when it does not wait any more. Jobs of an organization that begin together
 * share a statement.
 */
const findPending = gathered(
  async (asked: { sql: Sql; job: OutboxJob }[]) => {
    const [{ sql, job }] = asked as [(typeof asked)[0]]
    const ids = asked.map(({ job }) => job.id)
    const found = await findPendingOf({ sql, organization_id: job.organization_id }, ids)
    return ids.map((id) => found.get(id))
  },
  { key: ({ job }) => job.organization_id, most_runs: 4 },
)

/** @returns those of the organization that wait, by the ids of their jobs */
async function findPendingOf(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  ids: string[],
): Promise<Map<string, Pending>> {
  const rows = await sql<(LedgerEntry & { size: number; storage_key: string })[]>`
    select id, mailbox_id, recipient, envelope_sender, remote_address, helo, relay_address, size, storage_key
    from inbound_messages
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])
      and outcome = 'pending' and storage_key is not null`
  return new Map(rows.map(({ size, storage_key, ...entry }) => [entry.id, { entry, size, storage_key }]))
}
