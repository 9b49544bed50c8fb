/**
 * Bounds uploads: by the disk that the database may share, by the quota of the organization, and by what a user may
 * have lying about. Uploads under way count, those of this process.
 */

import { config } from '../../base/config'
import { requireRoom, usesDataDir } from '../../base/disk/free-space'
import { ApiError, tryLater } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { contentLengthOf } from '../../http/request/arriving-body'
import { isCustomer } from '../../http/request/permissions'

/** Uploads of one user that no message uses yet. */
const UNUSED_MOST = 100
/** Their bytes, in files of the largest size: those of a customer, and of members and keys. */
const LARGEST_OF_CUSTOMER = 4
const LARGEST_OF_MEMBER = 20
/** Hours until an unused upload is removed (`removeUnusedUploads`). */
const UNUSED_HOURS = 24
/** Bytes of an upload that are stored between looks at the free space. */
const LOOK_BYTES = 4 * 1024 * 1024

/** Uploads under way, and the bytes that they may take. */
class UnderWay {
  readonly #of = new Map<string, number>()

  /** Adds to what is under way. @returns the new sum */
  add(id: string, amount: number): number {
    const sum = (this.#of.get(id) ?? 0) + amount
    if (sum > 0) this.#of.set(id, sum)
    else this.#of.delete(id)
    return sum
  }
}

const bytes_under_way = new UnderWay()
const bytes_of_user = new UnderWay()
const uploads_under_way = new UnderWay()

/**
 * Lets an upload begin. `end` is called when it is stored or has failed.
 * @throws SERVICE_UNAVAILABLE when the disk is nearly full, PAYLOAD_TOO_LARGE above the quota of the organization,
 *   RATE_LIMITED for a user with too many unused uploads
 */
export async function allowUpload(scope: Scope, request: Request): Promise<{ end(): void }> {
  const { organization_id, actor } = scope
  const user = `${organization_id} ${actor.id}`
  // More than that is read of none, whatever its length is said to be.
  const most_bytes = Math.min(contentLengthOf(request) ?? Number.POSITIVE_INFINITY, config.ATTACHMENT_MAX_BYTES)
  // Counted before anything is read: of two at the same moment the second one sees the first.
  const uploads = uploads_under_way.add(user, 1)
  const bytes = bytes_under_way.add(organization_id, most_bytes)
  const own_bytes = bytes_of_user.add(user, most_bytes)
  const end = () => {
    uploads_under_way.add(user, -1)
    bytes_under_way.add(organization_id, -most_bytes)
    bytes_of_user.add(user, -most_bytes)
  }
  try {
    if (usesDataDir()) await requireRoom()
    await requireQuota(scope, bytes)
    await requireFewUnused(scope, uploads, own_bytes)
  } catch (error) {
    end()
    throw error
  }
  return { end }
}

/**
 * Lets files be stored that a text holds. `end` is called when they are stored or have failed.
 * @throws SERVICE_UNAVAILABLE, PAYLOAD_TOO_LARGE as for an upload
 */
export async function allowFiles(scope: Scope, bytes: number): Promise<{ end(): void }> {
  const { organization_id } = scope
  const under_way = bytes_under_way.add(organization_id, bytes)
  const end = () => void bytes_under_way.add(organization_id, -bytes)
  try {
    if (usesDataDir()) await requireRoom()
    await requireQuota(scope, under_way)
  } catch (error) {
    end()
    throw error
  }
  return { end }
}

/** Yields the bytes of an upload as long as the disk has room. @throws SERVICE_UNAVAILABLE when it has none any more */
export async function* whileThereIsRoom(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let unlooked_bytes = 0
  for await (const chunk of chunks) {
    unlooked_bytes += chunk.length
    if (unlooked_bytes >= LOOK_BYTES && usesDataDir()) {
      unlooked_bytes = 0
      await requireRoom()
    }
    yield chunk
  }
}

/** @param under_way bytes of uploads that are not stored yet, up to this one */
async function requireQuota({ sql, organization_id }: Scope, under_way: number): Promise<void> {
  const quota_bytes = config.ATTACHMENT_QUOTA_BYTES
  if (quota_bytes === 0) return
  const [row] = await sql<{ used_bytes: number }[]>`
    select coalesce(sum(size), 0) as used_bytes from attachments where organization_id = ${organization_id}`
  const { used_bytes } = row!
  if (used_bytes + under_way <= quota_bytes) return
  throw new ApiError('PAYLOAD_TOO_LARGE', {
    reason: 'The attachments of the organization take all the space that it has',
    quota_bytes,
    used_bytes,
  })
}

/** @param under_way uploads of the user that are not stored yet, up to this one, and their bytes */
async function requireFewUnused(scope: Scope, under_way: number, bytes_under_way: number): Promise<void> {
  const { sql, organization_id, actor } = scope
  const [row] = await sql<{ unused: number; unused_bytes: number; wait_s: number | null }[]>`
    select count(*) as unused, coalesce(sum(size), 0) as unused_bytes,
      extract(epoch from min(created_at) + ${UNUSED_HOURS} * interval '1 hour' - now())::float8 as wait_s
    from attachments
    where organization_id = ${organization_id} and uploader_id = ${actor.id} and message_id is null
      and draft_id is null`
  const { unused, unused_bytes, wait_s } = row!
  const most_bytes = config.ATTACHMENT_MAX_BYTES * (isCustomer(scope) ? LARGEST_OF_CUSTOMER : LARGEST_OF_MEMBER)
  const is_many = unused + under_way > UNUSED_MOST
  if (!is_many && unused_bytes + bytes_under_way <= most_bytes) return
  const reason = `${is_many ? UNUSED_MOST : `${most_bytes} bytes of`} uploads are not used by a message yet`
  throw tryLater(reason, Math.max(1, Math.ceil(wait_s ?? 1)))
}
