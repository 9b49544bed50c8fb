/** Signs and reads the links by which a contact rates a ticket. A link names the request that was sent, no score. */
import { config } from '../../base/config'
import { sign, verify } from '../../base/secrets'

/** Bytes of a UUID, and of the signature that is kept: 128 bits are enough. */
const BYTES = 16

/** The request that a link was sent with. */
type AskedBy = { organization_id: string; id: string }

/** Makes the address of the page that asks for a rating. */
export function ratingLink({ organization_id, id }: AskedBy): string {
  const ids = Buffer.from(`${organization_id}${id}`.replaceAll('-', ''), 'hex')
  return `${config.BASE_URL}/rate/${Buffer.concat([ids, signatureOf(ids)]).toString('base64url')}`
}

/** Reads the token of a link; undefined for one that this service has not signed. */
export function readRatingToken(token: string): AskedBy | undefined {
  const bytes = Buffer.from(/^[\w-]{64}$/.test(token) ? token : '', 'base64url')
  const [ids, signature] = [bytes.subarray(0, 2 * BYTES), bytes.subarray(2 * BYTES)]
  if (!verify('rating-link', ids.toString('hex'), signature)) return undefined
  return { organization_id: uuidOf(ids.subarray(0, BYTES)), id: uuidOf(ids.subarray(BYTES)) }
}

function signatureOf(ids: Buffer): Buffer {
  return sign('rating-link', ids.toString('hex')).subarray(0, BYTES)
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
