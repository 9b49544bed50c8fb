/**
 * The text of an API key: `dk_`, 10 characters that name the key, `_`, 32 random characters, 6 of a checksum. Scanners
 * for leaked secrets find it by its form, and a mistyped key is refused without a query.
 *
 * No library: `randomInt` draws digits without bias, and Node has CRC-32. `base-x` writes the four bytes of a checksum
 * with 4 to 6 digits, and writes an extra digit for each leading zero byte.
 */
import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const NAME_LENGTH = 10
const RANDOM_LENGTH = 32
/** 62 to the power of 6 is more than the 32 bits of the checksum need. */
const CHECKSUM_LENGTH = 6

const FORM = new RegExp(`^dk_[0-9A-Za-z]{${NAME_LENGTH}}_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** Makes a key. Its prefix is shown in lists; the text is shown once. */
export function newKeyText(): { text: string; prefix: string } {
  const prefix = `dk_${randomDigits(NAME_LENGTH)}`
  const begin = `${prefix}_${randomDigits(RANDOM_LENGTH)}`
  return { text: begin + checksumOf(begin), prefix }
}

/** Tells whether a text has the form of a key and the right checksum. */
export function isKeyText(text: string): boolean {
  return FORM.test(text) && checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** Returns what the database stores of a key: its SHA-256. */
export function hashKey(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** The CRC-32 of a text in base 62, the highest digit first. */
function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let count = 0; count < CHECKSUM_LENGTH; count++) {
    digits = DIGITS[rest % DIGITS.length] + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}

function randomDigits(count: number): string {
  return Array.from({ length: count }, () => DIGITS[randomInt(DIGITS.length)]).join('')
}
