import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { decrypt, encrypt, keysOf, type Purpose, sign, useSecrets, verify } from '../../src/secrets'

const PURPOSES: Purpose[] = ['access-token', 'encryption', 'message-id', 'reply-tag', 'attachment-url']
const OLD = 'the first secret key'
const NEW = 'the second secret key'

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
    const encrypted = encrypt(plain)
    expect(encrypted).toMatch(/^[\w-]+$/)
    expect(decrypt(encrypted)).toBe(plain)
  })

  test('of the same text is never the same', () => {
    const all = Array.from({ length: 100 }, () => encrypt('password'))
    expect(new Set(all).size).toBe(100)
    expect(all.join()).not.toContain('password')
  })

  test('notices every changed byte, and what is too short', () => {
    const bytes = Buffer.from(encrypt('password'), 'base64url')
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i]! ^= 1
      expect(() => decrypt(changed.toString('base64url'))).toThrow('cannot be decrypted')
    }
    for (const cut of ['', bytes.subarray(0, 12).toString('base64url'), bytes.subarray(0, -1).toString('base64url')]) {
      expect(() => decrypt(cut)).toThrow('cannot be decrypted')
    }
  })

  test('with the previous secret is read as long as that is known', () => {
    useSecrets(OLD)
    const encrypted = encrypt('password')
    useSecrets(NEW, OLD)
    expect(decrypt(encrypted)).toBe('password')
    const renewed = encrypt('password')
    useSecrets(NEW)
    expect(decrypt(renewed)).toBe('password')
    expect(() => decrypt(encrypted)).toThrow('SECRET_KEY_PREVIOUS')
  })
})
