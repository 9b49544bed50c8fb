/**
 * Removes stored bytes, and sees to it that none stay without a row that names them.
 *
 * Bytes and rows cannot be written in one transaction. Three steps, in this order, leave nothing behind wherever the
 * process ends between them:
 *
 * 1. `promiseRemoval` commits that the bytes go in an hour, before there are any.
 * 2. `storage().put` writes them.
 * 3. `keep` takes the promise back, in the transaction that writes the row which names the bytes.
 *
 * When such a row is deleted, `removeSoon` in the same transaction hands its bytes to the background job
 * `removeStoredBytes`, so that a rolled back deletion loses no bytes. A message to several organizations has one
 * original, which each of them names, and copies of a file have its bytes: the job leaves them until the last row gives
 * them up.
 */
import { type Connection, type Sql, transact } from '../../base/db/transact'
import { inBatches } from '../../base/flow/batches'
import { log, safeError } from '../../base/log'
import { storage } from './storage'

/** Few, because their rows stay locked while the store works. */
const BATCH = 20

/** Number of the lock that a removal holds alone, and backups hold together. */
const REMOVALS_LOCK = 5_710_315

/** Promises to remove bytes in an hour unless they are kept. Write them only after this is committed. */
export async function promiseRemoval(sql: Sql, storage_keys: string[]): Promise<void> {
  await sql`
    insert into storage_removals (storage_key, due_at)
    select unnest(${storage_keys}::text[]), now() + interval '1 hour'`
}

/**
 * Takes the promise back, in the transaction that writes the row which names the bytes.
 * @throws Error when it took more than an hour to get here: the bytes are gone
 */
export function keep(sql: Sql, storage_key: string): Promise<void> {
  return keepEach(sql, [storage_key])
}

/** As `keep`, for the bytes of several rows: takes back all of the promises. */
export async function keepEach(sql: Sql, storage_keys: string[]): Promise<void> {
  const { count } = await sql`delete from storage_removals where storage_key = any(${storage_keys}::text[])`
  if (count < storage_keys.length) throw new Error('Storing took so long that the bytes were removed')
}

/** Hands the bytes of rows to the background job, in the transaction that deletes the rows or clears their keys. */
export async function removeSoon(sql: Sql, rows: readonly { storage_key: string | null }[]): Promise<void> {
  // In one order, so that organizations which share originals never wait for each other.
  const keys = [...new Set(rows.flatMap(({ storage_key }) => storage_key ?? []))].toSorted()
  if (keys.length === 0) return
  await sql`
    insert into storage_removals (storage_key) select unnest(${keys}::text[])
    on conflict (storage_key) do update set due_at = now()`
}

/** Removes bytes that are promised to go, because no row will name them. */
export async function removeNow(sql: Sql, storage_key: string): Promise<void> {
  await storage().remove(storage_key)
  await sql`delete from storage_removals where storage_key = ${storage_key}`
}

/** Removes the bytes whose removal is due. Returns how many; what fails is tried again in ten minutes. */
export async function removeStoredBytes(connection: Connection): Promise<number> {
  let removed = 0
  await inBatches(BATCH, async () => {
    const batch = await removeBatch(connection)
    removed += batch.removed
    return batch.found
  })
  return removed
}

/**
 * Keeps all bytes until the transaction ends: a backup copies them after the rows that name them were read. Waits for a
 * removal that is running.
 */
export async function holdRemovals(sql: Pick<Sql, 'unsafe'>): Promise<void> {
  await sql.unsafe(`select pg_advisory_xact_lock_shared(${REMOVALS_LOCK})`)
}

/** The rows are locked until the bytes are gone, so that an upload that just ends cannot keep a name without bytes. */
function removeBatch(connection: Connection): Promise<{ found: number; removed: number }> {
  return transact(connection, async ({ sql }) => {
    const [lock] = await sql<{ is_free: boolean }[]>`select pg_try_advisory_xact_lock(${REMOVALS_LOCK}) as is_free`
    if (!lock?.is_free) return { found: 0, removed: 0 }
    const due = await sql<{ storage_key: string }[]>`
      select storage_key from storage_removals where due_at <= now()
      order by due_at limit ${BATCH} for update skip locked`
    const named = await namedElsewhere(
      sql,
      due.map(({ storage_key }) => storage_key),
    )
    const results = await Promise.allSettled(
      due.map(({ storage_key }) => (named.has(storage_key) ? undefined : storage().remove(storage_key))),
    )
    const keysWith = (status: string) =>
      due.filter((_, index) => results[index]!.status === status).map(({ storage_key }) => storage_key)
    const failed = keysWith('rejected')
    if (failed.length > 0) {
      const { reason } = results.find((result) => result.status === 'rejected')!
      log.warn({ count: failed.length, error: safeError(reason) }, 'stored bytes could not be removed')
      await sql`update storage_removals set due_at = now() + interval '10 minutes' where storage_key = any(${failed})`
    }
    const ended = keysWith('fulfilled')
    await sql`delete from storage_removals where storage_key = any(${ended})`
    return { found: due.length, removed: ended.filter((key) => !named.has(key)).length }
  })
}

/**
 * Finds those of the bytes that a row still names: another organization's of an original, a copy's of a file. Whoever
 * gives up the last name after this waits for the job's lock of the removal, and hands the bytes over anew.
 */
async function namedElsewhere(sql: Sql, storage_keys: string[]): Promise<Set<string>> {
  if (storage_keys.length === 0) return new Set()
  // Each alone, so that a cluster asks all machines at once.
  const originals = await sql<{ storage_key: string }[]>`
    select storage_key from inbound_messages where storage_key = any(${storage_keys}::text[])`
  const files = await sql<{ storage_key: string }[]>`
    select storage_key from attachments where storage_key = any(${storage_keys}::text[])`
  return new Set([...originals, ...files].map(({ storage_key }) => storage_key))
}
