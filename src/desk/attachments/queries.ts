/** Reads attachments. The row of an attachment says where its bytes are. */

import { attachmentUrl } from '../../base/attachment-url'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import type { Attachment } from './model'

/** `digest` is the SHA-256 of the bytes, `storage_key` their name in the store. */
type StoredAttachment = Omit<Attachment, 'url'> & { digest: string; storage_key: string }

/** @throws ATTACHMENT_NOT_FOUND */
export async function getAttachment(scope: Scope, id: string): Promise<Attachment> {
  const { digest, storage_key, ...attachment } = await getStoredAttachment(scope, id)
  return withUrl(scope.organization_id, attachment)
}

/** @throws ATTACHMENT_NOT_FOUND, also when its ticket is deleted */
export async function getStoredAttachment({ sql, organization_id }: Scope, id: string): Promise<StoredAttachment> {
  const [attachment] = await sql<StoredAttachment[]>`
    select a.id, a.filename, a.content_type, a.size, a.scan, a.digest, a.storage_key
    from attachments a
    left join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
    left join drafts d on d.organization_id = ${organization_id} and d.id = a.draft_id
    left join tickets t on t.organization_id = ${organization_id} and t.id = coalesce(m.ticket_id, d.ticket_id)
    where a.organization_id = ${organization_id} and a.id = ${id} and t.deleted_at is null`
  if (!attachment) throw new ApiError('ATTACHMENT_NOT_FOUND')
  return attachment
}

/** Adds the address of the bytes, which works for an hour without a token. */
export function withUrl<File extends { id: string }>(
  organization_id: string,
  attachment: File,
): File & { url: string } {
  return { ...attachment, url: attachmentUrl(organization_id, attachment.id) }
}
