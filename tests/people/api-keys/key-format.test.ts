/** The text of a key. */
import { expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import { hashKey, isKeyText, newKeyText } from '../../../src/http/admission/key-format'
import { findKey } from '../../../src/http/admission/known-keys'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('a key is dk_, 10 characters that name it, 32 random ones and 6 of a checksum, all base 62', () => {
  const { text, prefix } = newKeyText()
  expect(text).toMatch(/^dk_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}$/)
  expect(text).toStartWith(`${prefix}_`)
  expect(prefix).toHaveLength(13)
  expect(isKeyText(text)).toBe(true)
})

test('the checksum is the CRC-32 of all before it in base 62, so that scanners can compute it', () => {
  const { text } = newKeyText()
  const value = [...text.slice(-6)].reduce((sum, digit) => sum * 62 + DIGITS.indexOf(digit), 0)
  expect(value).toBe(crc32(text.slice(0, -6)))
})

test('keys differ, and use all digits alike', () => {
  const texts = Array.from({ length: 2000 }, () => newKeyText().text)
  expect(new Set(texts.map((text) => text.slice(0, 13))).size).toBe(2000)
  const digits = texts.flatMap((text) => [...text.slice(3, 13), ...text.slice(14, 46)])
  const counts = Map.groupBy(digits, (digit) => digit)
  expect([...counts.keys()].sort().join('')).toBe([...DIGITS].sort().join(''))
  // 84,000 draws: 1,355 of each digit, give or take seven standard deviations.
  for (const [, found] of counts) expect(found.length).toBeWithin(1355 - 257, 1355 + 257)
})

test('every mistyped character, and every pair that changes places, is noticed without a query', async () => {
  const { text } = newKeyText()
  const wrong = [...text].flatMap((digit, index) => {
    const other = digit === 'x' ? 'y' : 'x'
    const swapped = text.slice(0, index) + (text[index + 1] ?? '') + digit + text.slice(index + 2)
    return [text.slice(0, index) + other + text.slice(index + 1), swapped]
  })
  const others = [...wrong, '', 'dk_', text.slice(1), `${text}x`, text.toLowerCase(), `${text}\n`]
  const mistyped = others.filter((one) => one !== text)
  expect(mistyped.length).toBeGreaterThan(90)
  for (const one of mistyped) expect([one, isKeyText(one)]).toEqual([one, false])
  const no_database = {} as Parameters<typeof findKey>[0]
  for (const one of mistyped) expect(await findKey(no_database, one, async () => true)).toBeUndefined()
  expect(findKey(no_database, text, async () => true)).rejects.toThrow()
  expect(await findKey(no_database, text, async () => false)).toBeUndefined()
})

test('what is stored of a key is its SHA-256', () => {
  expect(hashKey('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
