import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  decrypt,
  encrypt,
  keysOf,
  type Purpose,
  type StoredAt,
  sign,
  useSecrets,
  verify,
} from '../../../src/base/secrets'

const PURPOSES: Purpose[] = ['access-token', 'encryption', 'message-id', 'reply-tag', 'attachment-url']
const OLD = 'the first secret key'
const NEW = 'the second secret key'
const HERE: StoredAt = {
  column: 'webhooks.secret',
  organization_id: '018f0000-0000-7000-8000-000000000001',
  id: '018f0000-0000-7000-8000-000000000002',
}

beforeEach(() => useSecrets(NEW))
afterAll(() => useSecrets('a secret key that only tests use'))

describe('keys', () => {
  test('are 32 bytes, another for each purpose and each secret, and the same at each start', () => {
    const keys = PURPOSES.map((purpose) => keysOf(purpose)[0]!)
    expect(keys.every((key) => key.length === 32)).toBe(true)
    useSecrets(OLD)
    const others = PURPOSES.map((purpose) => keysOf(purpose)[0]!)
    const all = new Set([...keys, ...others].map((key) => key.toString('hex')))
    expect(all.size).toBe(PURPOSES.length * 2)
    useSecrets(NEW)
    expect(PURPOSES.map((purpose) => keysOf(purpose)[0]!)).toEqual(keys)
  })

  test('of the previous secret come second', () => {
    const current = keysOf('reply-tag')[0]!
    useSecrets(OLD)
    const previous = keysOf('reply-tag')[0]!
    useSecrets(NEW, OLD)
    expect(keysOf('reply-tag')).toEqual([current, previous])
  })

  test('hold nothing of the secret itself', () => {
    for (const purpose of PURPOSES) expect(keysOf(purpose)[0]!.toString('latin1')).not.toContain(NEW.slice(0, 8))
  })
})

describe('a signature', () => {
  test('is good for its text and purpose only', () => {
    const signature = sign('reply-tag', 'ticket 7')
    expect(signature).toHaveLength(32)
    expect(verify('reply-tag', 'ticket 7', signature)).toBe(true)
    expect(verify('reply-tag', 'ticket 8', signature)).toBe(false)
    expect(verify('message-id', 'ticket 7', signature)).toBe(false)
    signature[31]! ^= 1
    expect(verify('reply-tag', 'ticket 7', signature)).toBe(false)
  })

  test('may be cut to 8 bytes, not shorter, and not be longer', () => {
    const signature = sign('reply-tag', 'x')
    expect(verify('reply-tag', 'x', signature.subarray(0, 8))).toBe(true)
    expect(verify('reply-tag', 'x', signature.subarray(0, 7))).toBe(false)
    expect(verify('reply-tag', 'x', new Uint8Array())).toBe(false)
    expect(verify('reply-tag', 'x', Buffer.concat([signature, Buffer.alloc(1)]))).toBe(false)
    expect(verify('reply-tag', 'x', signature.subarray(1, 9))).toBe(false)
  })

  test('of the previous secret is good as long as that is known', () => {
    useSecrets(OLD)
    const signature = sign('attachment-url', 'x')
    useSecrets(NEW, OLD)
    expect(verify('attachment-url', 'x', signature)).toBe(true)
    expect(sign('attachment-url', 'x')).not.toEqual(signature)
    useSecrets(NEW)
    expect(verify('attachment-url', 'x', signature)).toBe(false)
  })
})

describe('encryption', () => {
  test.each(['', 'password', 'pässwörd 😀', 'x'.repeat(10_000)])('gives back %p', (plain) => {
    const encrypted = encrypt(plain, HERE)
    expect(encrypted).toMatch(/^[\w-]{8}\.[\w-]+$/)
    expect(decrypt(encrypted, HERE)).toBe(plain)
  })

  test('of the same text is never the same', () => {
    const all = Array.from({ length: 100 }, () => encrypt('password', HERE))
    expect(new Set(all).size).toBe(100)
    expect(all.join()).not.toContain('password')
  })

  test('notices every changed byte, and what is too short', () => {
    const [key_id, text] = encrypt('password', HERE).split('.')
    const bytes = Buffer.from(text!, 'base64url')
    const refused = (changed: Buffer, id = key_id) =>
      expect(() => decrypt(`${id}.${changed.toString('base64url')}`, HERE)).toThrow('cannot be decrypted')
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i]! ^= 1
      refused(changed)
    }
    for (const cut of [Buffer.alloc(0), bytes.subarray(0, 12), bytes.subarray(0, -1)]) refused(cut)
    refused(bytes, 'AAAAAAAA')
    expect(() => decrypt('', HERE)).toThrow('cannot be decrypted')
    // Without the id of a key it would be a text of an earlier release, which names no place.
    expect(() => decrypt(text!, HERE)).toThrow('cannot be decrypted')
  })

  test.each<Partial<StoredAt>>([
    { column: 'webhooks.previous_secret' },
    { organization_id: HERE.id },
    { id: HERE.organization_id },
  ])('is read at its place only, not with %j', (other) => {
    const encrypted = encrypt('password', HERE)
    expect(() => decrypt(encrypted, { ...HERE, ...other })).toThrow('cannot be decrypted')
  })

  test('with the previous secret is read as long as that is known', () => {
    useSecrets(OLD)
    const encrypted = encrypt('password', HERE)
    useSecrets(NEW, OLD)
    expect(decrypt(encrypted, HERE)).toBe('password')
    const renewed = encrypt('password', HERE)
    useSecrets(NEW)
    expect(decrypt(renewed, HERE)).toBe('password')
    expect(() => decrypt(encrypted, HERE)).toThrow('SECRET_KEY_PREVIOUS')
  })
})
