/** Signs and checks addresses of attachments, which give the bytes for an hour without a token. */
import { config } from './config'
import { sharedTime } from './db/shared-time'
import { sign, verify } from './secrets'
import { isUuid } from './shapes/ids'

const LIFETIME_S = 3600
/** The expiry is rounded down to five minutes, so that an address stays the same for that long. */
const ROUND_S = 300
/** Bytes of the signature that are kept; 128 bits are enough. */
const SIGNATURE_BYTES = 16

/** Makes the absolute address of an attachment's bytes, with a signature. */
export function attachmentUrl(organization_id: string, id: string, now_ms = sharedTime()): string {
  const expires = Math.floor((now_ms / 1000 + LIFETIME_S) / ROUND_S) * ROUND_S
  const signature = sign('attachment-url', signedText(organization_id, id, expires)).subarray(0, SIGNATURE_BYTES)
  const query = `organization=${organization_id}&expires=${expires}&signature=${signature.toString('base64url')}`
  return `${unsignedUrl(id)}?${query}`
}

/** Makes the address without a signature. Stored HTML holds it in `data-src`; reading the message signs it anew. */
export function unsignedUrl(id: string): string {
  return `${config.BASE_URL}/api/v1/attachments/${id}/content`
}

/** Makes the Content-ID of an attachment in the email that shows it, without angle brackets. */
export function contentIdOf(id: string): string {
  return `${id}@deskwire`
}

/** Reads the id of the attachment that a Content-ID names, with or without what `contentIdOf` adds. */
export function attachmentOfContentId(content_id: string): string | undefined {
  const id = content_id.replace(/@deskwire$/, '').toLowerCase()
  return isUuid(id) ? id : undefined
}

/** Leaves out the query of an address of this service, and the signature in it; undefined for one without. */
export function withoutQuery(address: string): string | undefined {
  const [plain = '', query] = address.split('?', 2)
  return query !== undefined && `${plain}/`.startsWith(`${config.BASE_URL}/`) ? plain : undefined
}

/**
 * Reads the organization from a signed address; undefined when its signature is missing, wrong or too old.
 * @param now_ms 0 takes any age
 */
export function organizationOfUrl(address: string, now_ms = sharedTime()): string | undefined {
  const { pathname, searchParams } = new URL(address)
  const id = pathname.split('/').at(-2) ?? ''
  const organization_id = searchParams.get('organization') ?? ''
  const expires = Number(searchParams.get('expires'))
  const signature = Buffer.from(searchParams.get('signature') ?? '', 'base64url')
  if (!isUuid(organization_id) || !isUuid(id) || signature.length !== SIGNATURE_BYTES) return undefined
  if (!(expires * 1000 > now_ms)) return undefined
  return verify('attachment-url', signedText(organization_id, id, expires), signature) ? organization_id : undefined
}

function signedText(organization_id: string, id: string, expires: number): string {
  return `${organization_id} ${id} ${expires}`
}
