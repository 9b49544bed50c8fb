/** Signed addresses of attachments: they give the bytes for an hour without a token. */
import { config } from '../config'
import { sign, verify } from '../secrets'
import { isUuid } from '../shapes/ids'

const LIFETIME_S = 3600
/** The expiry is rounded down to this, so that an address stays the same for some minutes. */
const ROUND_S = 300
/** Bytes of the signature that are kept: 128 bits. */
const SIGNATURE_BYTES = 16

/** The absolute address of an attachment's bytes, with a signature. */
export function attachmentUrl(organization_id: string, id: string, now_ms = Date.now()): string {
  const expires = Math.floor((now_ms / 1000 + LIFETIME_S) / ROUND_S) * ROUND_S
  const signature = sign('attachment-url', signedText(organization_id, id, expires)).subarray(0, SIGNATURE_BYTES)
  const query = `organization=${organization_id}&expires=${expires}&signature=${signature.toString('base64url')}`
  return `${unsignedUrl(id)}?${query}`
}

/** The address without a signature: what stored HTML holds, signed anew whenever it is read. */
export function unsignedUrl(id: string): string {
  return `${config.BASE_URL}/api/v1/attachments/${id}/content`
}

/** The organization that a signed address vouches for; undefined when its signature is missing, wrong or stale. */
export function organizationOfUrl(address: string, now_ms = Date.now()): string | undefined {
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
