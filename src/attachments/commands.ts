import { newId } from '../db/columns'
import { type Connection, transact } from '../db/transact'
import { unknownIds } from '../errors'
import { log, safeError } from '../log'
import { inTransaction, type Scope } from '../scope'
import { asIds } from '../shapes/ids'
import { cleanFileName, mediaType } from './file-name'
import type { Attachment } from './model'
import { getAttachment } from './queries'
import { type Bytes, storage } from './storage'
import { readUpload } from './upload'

export type NewAttachment = {
  /** As the client or the sender wrote it; paths and control characters are dropped here. */
  filename: string
  content_type: string
  /** Of an inline image of an email, without angle brackets. */
  content_id?: string | null
  body: Bytes
}

/** @throws BAD_REQUEST, VALIDATION_ERROR, PAYLOAD_TOO_LARGE (while reading) */
export async function uploadAttachment(scope: Scope, request: Request): Promise<Attachment> {
  const { id } = await readUpload(request, ({ bytes, ...file }) => storeAttachment(scope, { ...file, body: bytes }))
  return getAttachment(scope, id)
}

/**
 * Stores bytes, then their row: an upload that no message uses yet. To be called outside a transaction, because the
 * promise to remove the bytes must be committed before there are any: a crash in between leaves nothing for ever.
 */
export async function storeAttachment(scope: Scope, file: NewAttachment): Promise<{ id: string }> {
  const { sql, organization_id } = scope
  const id = newId()
  const key = `attachments/${id}`
  await sql`insert into storage_removals (storage_key, due_at) values (${key}, now() + interval '1 hour')`
  try {
    const { size, digest } = await storage().put(key, file.body)
    await inTransaction(scope, async ({ sql }) => {
      const kept = await sql`delete from storage_removals where storage_key = ${key} returning storage_key`
      if (kept.length === 0) throw new Error('The upload took so long that its bytes were removed')
      await sql`
        insert into attachments (organization_id, id, filename, content_type, size, digest, storage_key, content_id)
        values (${organization_id}, ${id}, ${cleanFileName(file.filename)},
          ${mediaType(file.content_type)}, ${size}, ${digest}, ${key}, ${file.content_id ?? null})`
    })
    return { id }
  } catch (error) {
    await removeNow(scope, key).catch(() => {})
    throw error
  }
}

/**
 * Gives uploads to a message, in the caller's transaction.
 * @throws ATTACHMENT_NOT_FOUND (422) naming those that are unknown or used by another message
 */
export async function claimAttachments(scope: Scope, message_id: string, given: string[]): Promise<void> {
  if (given.length === 0) return
  const { sql, organization_id } = scope
  const claimed = await sql<{ id: string }[]>`
    update attachments set message_id = ${message_id}
    where organization_id = ${organization_id} and id = any(${asIds(given)}) and message_id is null
    returning id`
  const known = new Set(claimed.map(({ id }) => id))
  const unknown = [...new Set(given)].filter((id) => !known.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('ATTACHMENT_NOT_FOUND', '/attachment_ids', unknown)
}

const BATCH = 500

/** Removes uploads that no message used within 24 hours. Returns how many. */
export async function removeUnusedUploads({ sql }: Connection): Promise<number> {
  for (let total = 0; ; ) {
    const { count } = await sql`
      with unused as (
        select organization_id, id from attachments
        where message_id is null and created_at < now() - interval '24 hours'
        order by id limit ${BATCH} for update skip locked
      ), removed as (
        delete from attachments a using unused u where a.organization_id = u.organization_id and a.id = u.id
        returning a.storage_key
      )
      insert into storage_removals (storage_key) select storage_key from removed
      on conflict (storage_key) do update set due_at = now()
      returning storage_key`
    total += count
    if (count < BATCH) return total
  }
}

/** Few, because their rows stay locked while the store works. */
const REMOVAL_BATCH = 20

/** Removes the stored bytes whose removal is due. Returns how many; what fails is tried again in ten minutes. */
export async function removeStoredBytes(connection: Connection): Promise<number> {
  for (let total = 0; ; ) {
    const { found, removed } = await removeBatch(connection)
    total += removed
    if (found < REMOVAL_BATCH) return total
  }
}

/** The rows are locked until the bytes are gone, so that an upload that just ends cannot keep a name without bytes. */
function removeBatch(connection: Connection): Promise<{ found: number; removed: number }> {
  return transact(connection, async ({ sql }) => {
    const due = await sql<{ storage_key: string }[]>`
      select storage_key from storage_removals where due_at <= now()
      order by due_at limit ${REMOVAL_BATCH} for update skip locked`
    const results = await Promise.allSettled(due.map(({ storage_key }) => storage().remove(storage_key)))
    const keysWith = (status: string) =>
      due.filter((_, index) => results[index]!.status === status).map(({ storage_key }) => storage_key)
    const failed = keysWith('rejected')
    if (failed.length > 0) {
      const { reason } = results.find((result) => result.status === 'rejected')!
      log.warn({ count: failed.length, error: safeError(reason) }, 'stored bytes could not be removed')
      await sql`update storage_removals set due_at = now() + interval '10 minutes' where storage_key = any(${failed})`
    }
    const removed = keysWith('fulfilled')
    await sql`delete from storage_removals where storage_key = any(${removed})`
    return { found: due.length, removed: removed.length }
  })
}

async function removeNow({ sql }: Scope, key: string): Promise<void> {
  await storage().remove(key)
  await sql`delete from storage_removals where storage_key = ${key}`
}
