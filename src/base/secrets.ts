/**
 * Signs and encrypts with keys that are derived from SECRET_KEY, one for each purpose. Keys of the previous SECRET_KEY
 * still decrypt, and verify all but access tokens.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

export type Purpose =
  | 'access-token'
  | 'encryption'
  | 'message-id'
  | 'reply-tag'
  | 'bounce-tag'
  | 'letter-tag'
  | 'note-letter-tag'
  | 'attachment-url'
  | 'rating-link'
  | 'cursor'
  | 'provider'
  | 'backup'
  | 'backup-proof'

let roots: string[] = []
const keys = new Map<string, Buffer>()

/** Sets the secrets that keys are derived from. Call it once, before anything is signed. */
export function useSecrets(current: string, previous?: string): void {
  roots = previous ? [current, previous] : [current]
  keys.clear()
}

/** The keys of a purpose (HKDF with SHA-256, 32 bytes), newest first: the first one signs, all of them verify. */
export function keysOf(purpose: Purpose): Buffer[] {
  if (roots.length === 0) throw new Error('The secret key is not set')
  return roots.map((root) => {
    const name = `${purpose}\n${root}`
    const known = keys.get(name)
    if (known) return known
    const key = Buffer.from(hkdfSync('sha256', root, 'deskwire', purpose, 32))
    keys.set(name, key)
    return key
  })
}

/** HMAC-SHA256 of `text` with the newest key. */
export function sign(purpose: Purpose, text: string): Buffer {
  return mac(keysOf(purpose)[0]!, text)
}

/** Tells if `signature` is the beginning (`signature.length` bytes, at least 8) of the HMAC of `text` with any key. */
export function verify(purpose: Purpose, text: string, signature: Uint8Array): boolean {
  if (signature.length < 8 || signature.length > 32) return false
  return keysOf(purpose).some((key) => timingSafeEqual(mac(key, text).subarray(0, signature.length), signature))
}

/** Columns with encrypted texts. `secrets rotate` of the CLI encrypts all of them anew. */
export const ENCRYPTED_COLUMNS = [
  'letters.sealed_text',
  'mailboxes.smtp_password',
  'mailboxes.dkim_private_key',
  'mailbox_sign_ins.client_secret',
  'mailbox_sign_ins.refresh_token',
  'mailbox_sign_ins.access_token',
  'webhooks.secret',
  'webhooks.previous_secret',
  'second_factors.secret',
  'identity_providers.client_secret',
  'inlets.signing_key',
] as const

/**
 * Names the column that says whose an encrypted text is. What belongs to an account has none of an organization: its
 * own id stands there.
 */
export function ownerColumn(column: StoredAt['column']): 'organization_id' | 'id' {
  return column === 'second_factors.secret' ? 'id' : 'organization_id'
}

/** Where an encrypted text is stored. It can be decrypted for this column of this row, and for no other. */
export type StoredAt = { column: (typeof ENCRYPTED_COLUMNS)[number]; organization_id: string; id: string }

/**
 * Encrypts a text for the database (AES-256-GCM) with the newest key: its id, a dot, and base64url of nonce, tag and
 * ciphertext. The place is authenticated with it, so that who can write to the database cannot let one row use the
 * secret of another.
 */
export function encrypt(plain: string, at: StoredAt): string {
  const key = keysOf('encryption')[0]!
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(boundTo(at))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return `${idOf(key)}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`
}

/**
 * Decrypts a text of `encrypt`, or one of a release that wrote no key id and authenticated no place.
 * @throws Error when no key fits, or when the text was encrypted for another place
 */
export function decrypt(encrypted: string, at: StoredAt): string {
  const [key_id, text = encrypted] = encrypted.includes('.') ? encrypted.split('.') : []
  const bytes = Buffer.from(text, 'base64url')
  for (const key of keysOf('encryption')) {
    if (key_id !== undefined && key_id !== idOf(key)) continue
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      if (key_id !== undefined) decipher.setAAD(boundTo(at))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    } catch {
      // The next key may fit.
    }
  }
  throw new Error('A stored secret cannot be decrypted: SECRET_KEY has changed, set SECRET_KEY_PREVIOUS')
}

/** As `decrypt`. @returns undefined when no key fits */
export function tryDecrypt(encrypted: string, at: StoredAt): string | undefined {
  try {
    return decrypt(encrypted, at)
  } catch {
    return undefined
  }
}

/** The ids of the keys, newest first. An id names a key without giving it away. */
export function encryptionKeyIds(): string[] {
  return keysOf('encryption').map(idOf)
}

/** The prefix of texts that are encrypted with the present key and bound to their place. */
export function presentPrefix(): string {
  return `${idOf(keysOf('encryption')[0]!)}.`
}

/** Names a key without giving it away: 48 bits of an HMAC with it. */
function idOf(key: Buffer): string {
  return mac(key, 'key id').subarray(0, 6).toString('base64url')
}

function boundTo({ column, organization_id, id }: StoredAt): Buffer {
  return Buffer.from(`${column}.${organization_id}.${id}`)
}

function mac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
