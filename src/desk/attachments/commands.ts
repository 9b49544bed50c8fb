/** Stores files, and removes those that no message or draft used. */
import { config } from '../../base/config'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { fieldError } from '../../base/errors'
import { turns } from '../../base/flow/turns'
import { inTransaction, type Scope, together } from '../../base/scope'
import { holdBody } from '../../http/request/arriving-body'
import { cleanFileName, mediaType } from '../../http/request/file-name'
import { isCustomer } from '../../http/request/permissions'
import { readUpload } from '../../http/request/upload'
import { allowUpload, whileThereIsRoom } from './allowance'
import type { Attachment } from './model'
import { getAttachment } from './queries'
import { keepEach, promiseRemoval, removeNow, removeSoon } from './removals'
import { type Scan, scanNow } from './scan'
import { storage } from './storage'
import type { Bytes } from './store'

type NewAttachment = {
  /** Its id, if something names it already. */
  id?: string
  /** As the client or the sender wrote it; paths and control characters are dropped here. */
  filename: string
  content_type: string
  /** Content-ID of an inline image of an email, without angle brackets. */
  content_id?: string | null
  /** Id of the user, API key or contact that uploaded it; missing for a file of an email. */
  uploader_id?: string | null
  is_by_contact?: boolean
  body: Bytes
  /** The field that it came in, to name a fault. */
  field?: string
}

/** Uploads in one statement. */
/** Files of a message that are written at a time: a disk that flushes each of them does several as fast as one. */
const PUTS_AT_ONCE = 8

/**
 * Stores the file of a request.
 * @throws BAD_REQUEST, VALIDATION_ERROR, PAYLOAD_TOO_LARGE (while reading, or for the quota); RATE_LIMITED for a user
 *   with too many unused uploads; SERVICE_UNAVAILABLE when the disk is nearly full; ATTACHMENT_INFECTED (422)
 */
export async function uploadAttachment(scope: Scope, request: Request): Promise<Attachment> {
  holdBody(request, scope.organization_id, 'streamed')
  const allowance = await allowUpload(scope, request)
  try {
    const { id } = await readUpload(request, ({ bytes, ...file }) =>
      storeAttachment(
        scope,
        { ...file, body: whileThereIsRoom(bytes), uploader_id: scope.actor.id, is_by_contact: isCustomer(scope) },
        'refuse infected',
      ),
    )
    return await getAttachment(scope, id)
  } finally {
    allowance.end()
  }
}

/** Files that come are scanned at once (an infected one is kept, or refused), or by the job. */
type Scanning = 'keep infected' | 'refuse infected' | 'scan later'

/** Stores a file, as `storeAttachments` does. */
export async function storeAttachment(
  scope: Scope,
  file: NewAttachment,
  scanning: Scanning = 'keep infected',
): Promise<{ id: string }> {
  const [stored] = await storeAttachments(scope, [file], scanning)
  return stored!
}

/**
 * Stores bytes, several files at a time, then the rows of all: uploads that no message uses yet. To be called outside a
 * transaction (see `removals.ts`). When one fails, nothing of any is left.
 * @returns their ids, in the order of the files
 * @throws ATTACHMENT_INFECTED (422) if such files are to be refused
 */
export async function storeAttachments(
  scope: Scope,
  files: NewAttachment[],
  scanning: Scanning = 'keep infected',
): Promise<{ id: string }[]> {
  const given = files.map((file) => {
    const id = file.id ?? newId()
    return { id, storage_key: `attachments/${id}`, file }
  })
  const keys = given.map(({ storage_key }) => storage_key)
  await promiseRemoval(scope.sql, keys)
  const inTurn = turns(PUTS_AT_ONCE)
  try {
    const rows = await allOf(
      given.map(({ file, ...named }) =>
        inTurn(async () => {
          const stored = await storage().put(named.storage_key, file.body)
          const scan = await scanFile({ ...named, ...stored, file }, scanning)
          return { ...named, ...rowOf(file), ...stored, scan }
        }),
      ),
    )
    await inTransaction(scope, (inner) => insertAttachments(inner, rows))
    return given.map(({ id }) => ({ id }))
  } catch (error) {
    await Promise.all(keys.map((key) => removeNow(scope.sql, key).catch(() => {})))
    throw error
  }
}

type Written = { storage_key: string; size: number; file: NewAttachment }

async function scanFile({ storage_key, size, file }: Written, scanning: Scanning): Promise<Scan | null> {
  if (scanning === 'scan later') return config.CLAMD_HOST ? 'pending' : null
  const { body } = file
  const scan = await scanNow(() => (body instanceof Uint8Array ? body : storage().open(storage_key)), size)
  if (scan === 'infected' && scanning === 'refuse infected')
    throw fieldError('ATTACHMENT_INFECTED', file.field ?? '/file')
  return scan
}

/** The results of all, or the error of the first to fail once none of the others writes any more. */
async function allOf<T>(work: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

function rowOf({ content_id = null, uploader_id = null, is_by_contact = false, ...file }: NewAttachment) {
  const [filename, content_type] = [cleanFileName(file.filename), mediaType(file.content_type)]
  return { filename, content_type, content_id, uploader_id, is_by_contact }
}

type Row = ReturnType<typeof rowOf> & {
  id: string
  storage_key: string
  size: number
  digest: string
  scan: Scan | null
}

async function insertAttachments({ sql, organization_id }: Scope, rows: Row[]): Promise<void> {
  await together([
    keepEach(
      sql,
      rows.map(({ storage_key }) => storage_key),
    ),
    insertRows(
      sql,
      'attachments',
      rows.map((row) => ({ ...row, organization_id })),
    ),
  ])
}

/**
 * Removes uploads that no message uses, and will not use any more; others of `ids` stay. Rows that a transaction holds
 * are skipped: it may be the caller's own, which just failed and would wait for itself.
 */
export async function discardUploads(scope: Scope, ids: string[]): Promise<void> {
  await inTransaction(scope, async ({ sql, organization_id }) => {
    const removed = await sql<{ storage_key: string }[]>`
      with unused as (
        select id from attachments
        where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and message_id is null and draft_id is null
        for update skip locked
      )
      delete from attachments a using unused u where a.organization_id = ${organization_id} and a.id = u.id
      returning a.storage_key`
    await removeSoon(sql, removed)
  })
}

/** Removes the uploads of all organizations that no message or draft used within 24 hours. Returns how many. */
export function removeUnusedUploads(connection: Connection): Promise<number> {
  const is_old = connection.sql`message_id is null and draft_id is null and created_at < now() - interval '24 hours'`
  return sweep(connection, { table: 'attachments', is_old, size: 500 }, async ({ sql, organization_id }, old) => {
    const removed = await sql<{ storage_key: string }[]>`
      with old as materialized (${old})
      delete from attachments a using old where a.organization_id = ${organization_id} and a.id = old.id
      returning a.storage_key`
    await removeSoon(sql, removed)
    return removed.length
  })
}
