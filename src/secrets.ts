/**
 * Signs and encrypts with keys that are derived from SECRET_KEY, one for each purpose. Keys of the previous SECRET_KEY
 * still verify and decrypt.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

export type Purpose = 'access-token' | 'encryption' | 'message-id' | 'reply-tag' | 'bounce-tag' | 'attachment-url'

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

/** Encrypts a text for the database (AES-256-GCM): base64url of nonce, tag and ciphertext. */
export function encrypt(plain: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keysOf('encryption')[0]!, nonce)
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
}

/** The plain text of `encrypt`. @throws Error when no key fits */
export function decrypt(encrypted: string): string {
  const bytes = Buffer.from(encrypted, 'base64url')
  for (const key of keysOf('encryption')) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
    } catch {
      // The next key may fit.
    }
  }
  throw new Error('A stored secret cannot be decrypted: SECRET_KEY has changed, set SECRET_KEY_PREVIOUS')
}

function mac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
