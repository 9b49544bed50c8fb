/** Signs the addresses of attachments in stored events anew: those of the publication work for an hour only. */
import { attachmentUrl, organizationOfUrl } from '../../base/attachment-url'
import { attachmentAt, placeSafeImages } from '../../base/html/image-addresses'

/** The parts of the data of an event that have such addresses. Any other text is somebody's own words. */
type Data = { attachments?: { id: string; url?: string }[]; body_html?: unknown }

/**
 * Signs the body of an event as it is read or sent now. Only signatures change, every five minutes: without attachments
 * it stays the same bytes.
 */
export function freshBody(organization_id: string, body: string): string {
  if (!body.includes('signature=')) return body
  const event = JSON.parse(body) as { data: Data | null }
  const { data } = event
  if (!data) return body
  const { attachments, body_html } = data
  if (Array.isArray(attachments)) {
    for (const file of attachments) if (file.url !== undefined) file.url = attachmentUrl(organization_id, file.id)
  }
  if (typeof body_html === 'string') data.body_html = freshImages(organization_id, body_html)
  return JSON.stringify(event)
}

/** Signs the images that were signed, however long ago. Who only names an attachment gets no signature by it. */
function freshImages(organization_id: string, body_html: string): string {
  return placeSafeImages(body_html, (address, written) => {
    const id = attachmentAt(address)
    if (!id || !URL.canParse(address) || organizationOfUrl(address, 0) !== organization_id) return undefined
    return { [written]: attachmentUrl(organization_id, id) }
  })
}
