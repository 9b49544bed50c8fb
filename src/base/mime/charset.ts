/**
 * Decodes bytes to text as mail means it: charset names are often wrong, missing or exotic.
 *
 * Own code because no library was found that doubts the declared charset. libmime 5.4 and postal-mime 4.0 decode what
 * the message says, so that Cyrillic declared as Latin-1 and GB 2312 declared as nothing come out unreadable (of the 27
 * bodies in "a body that says %p is read as it was meant" in mail-parse.test.ts postal-mime misreads 20). The decoding
 * itself is the platform's, libmime's for charsets that no browser knows, and chardet tells a charset by the language.
 */
import { analyse } from 'chardet'
import exotic from 'libmime/lib/charset'
import { charsetName, isKnownCharset } from './charset-names'

/** Enough to find a language by, which takes two milliseconds for a thousand bytes. */
const SAMPLE_BYTES = 2000
/** The first character above ASCII is looked for in so much of a text. */
const MAX_ASCII_BYTES = 100_000
/** Percent. Texts of a word or two get less from chardet. */
const MIN_CONFIDENCE = 40

/** Finds the charset of bytes by their language; null when that is not clear. */
type Detect = (bytes: Uint8Array) => string | null

/** Bytes to decode. `charset` is the declared one under its standard name; '' when there is none. */
type Encoded = { bytes: Uint8Array; charset: string; detect: Detect }

/** The order of guesses: the first one that gives a text wins. The last one always does. */
const GUESSES: ((encoded: Encoded) => string | undefined)[] = [
  ifJapaneseEscapes,
  ifUndeclared,
  ifUtf8,
  ifShifted,
  ifExotic,
  ifPlainlyUtf8,
  ifEightBitJapanese,
  ifForeign,
  asDeclared,
]

/**
 * Decodes bytes. A declared charset that does not fit the bytes gives way to UTF-8 where that fits; what still cannot
 * be read becomes U+FFFD.
 * @param declared the charset that the message names, if any
 * @param detect asked where the message names no charset or a wrong one; `detectCharset` takes milliseconds
 */
export function decodeBytes(bytes: Uint8Array, declared?: string | null, detect: Detect = () => null): string {
  const encoded = { bytes, charset: charsetName(declared), detect }
  for (const guess of GUESSES) {
    const text = guess(encoded)
    if (text !== undefined) return text
  }
  return ''
}

/** Escapes to a Japanese character set: no other text has them, and many senders name no charset or a wrong one. */
function ifJapaneseEscapes({ bytes }: Pick<Encoded, 'bytes'>): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!text.includes('\x1b$B') && !text.includes('\x1b$@')) return undefined
  // The standard for browsers refuses an escape right behind another, as encoded words that are joined have.
  return decodeStrictly(bytes, 'iso-2022-jp') ?? exotic.decode(Buffer.from(bytes), 'iso-2022-jp')
}

function ifUndeclared({ bytes, charset, detect }: Encoded): string | undefined {
  if (charset !== '') return undefined
  return decodeStrictly(bytes, 'utf-8') ?? guess(bytes, detect(bytes))
}

/** Text that says UTF-8 and is not: with only a few broken bytes it stays UTF-8, else another charset was meant. */
function ifUtf8({ bytes, charset, detect }: Encoded): string | undefined {
  if (charset !== 'utf-8') return undefined
  const strict = decodeStrictly(bytes, 'utf-8')
  if (strict !== undefined) return strict
  const text = new TextDecoder().decode(bytes)
  let broken = 0
  let whole = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 0xfffd) broken += 1
    else if (code >= 0x80) whole += 1
  }
  return whole > broken ? text : guess(bytes, detect(bytes))
}

/** Two-byte characters written in seven bits between shifts (RFC 1557, RFC 1843): with the eighth bit they are EUC. */
function ifShifted({ bytes, charset }: Encoded): string | undefined {
  const is_korean = charset.startsWith('iso-2022-kr')
  if (!is_korean && !charset.startsWith('hz')) return undefined
  const shifted = is_korean ? /\x0e([^\x0f]*)\x0f?/g : /~\{([^~]*)(?:~\})?/g
  const euc = Buffer.from(bytes)
    .toString('latin1')
    .replace(/^\x1b\$\)C/gm, '')
    .replace(shifted, (_, text: string) =>
      text.replace(/[\x21-\x7e]/g, (char) => String.fromCharCode(char.charCodeAt(0) | 0x80)),
    )
  return new TextDecoder(is_korean ? 'euc-kr' : 'gb18030').decode(Buffer.from(euc, 'latin1'))
}

/** A charset that no browser knows, such as UTF-7. A name that nobody knows counts as absent. */
function ifExotic({ bytes, charset }: Encoded): string | undefined {
  if (isKnownCharset(charset)) return undefined
  const text = exotic.decode(Buffer.from(bytes), charset)
  return text.includes('\ufffd') ? decodeUnlabelled(bytes) : text
}

/**
 * UTF-8 under the name of a single-byte charset, in which every byte is a character. Several characters of two bytes
 * and more, and nothing else above ASCII, do not come about by chance.
 */
function ifPlainlyUtf8({ bytes, charset }: Encoded): string | undefined {
  if (!/^(?:windows-|iso-8859-|koi8-|macintosh|x-mac-|ibm)/.test(new TextDecoder(charset).encoding)) return undefined
  const text = decodeStrictly(bytes, 'utf-8')
  return text !== undefined && /[\u0080-\uffff][\s\S]*[\u0080-\uffff]/.test(text) ? text : undefined
}

/** Bytes above ASCII under the name of ISO-2022-JP, which has none: UTF-8, or another Japanese charset. */
function ifEightBitJapanese({ bytes, charset }: Encoded): string | undefined {
  if (new TextDecoder(charset).encoding !== 'iso-2022-jp' || !bytes.some((byte) => byte >= 0x80)) return undefined
  return decodeStrictly(bytes, 'utf-8') ?? decodeJapanese(bytes)
}

/** Text in no language of its charset: Western languages need few letters above ASCII. */
function ifForeign({ bytes, charset, detect }: Encoded): string | undefined {
  const { encoding } = new TextDecoder(charset)
  const is_eight_bit = encoding === 'iso-2022-jp' && bytes.some((byte) => byte >= 0x80)
  if (!is_eight_bit && !(encoding === 'windows-1252' && isMostlyHigh(bytes))) return undefined
  return decodeStrictly(bytes, 'utf-8') ?? guess(bytes, detect(bytes))
}

function isMostlyHigh(bytes: Uint8Array): boolean {
  let letters = 0
  let high = 0
  for (const byte of bytes.subarray(0, SAMPLE_BYTES)) {
    if (byte >= 0x80) high += 1
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) letters += 1
  }
  return high > 8 && high > letters
}

function asDeclared({ bytes, charset }: Encoded): string {
  return decodeStrictly(bytes, charset) ?? decodeStrictly(bytes, 'utf-8') ?? new TextDecoder(charset).decode(bytes)
}

/**
 * Decodes raw 8-bit text that names no charset, such as headers of old programs: as UTF-8 if it is that, else as the
 * message's own charset, else by a guess.
 * @param hint the charset of the message
 */
export function decodeUnlabelled(bytes: Uint8Array, hint?: string | null): string {
  const japanese = ifJapaneseEscapes({ bytes })
  if (japanese !== undefined) return japanese
  const text = decodeStrictly(bytes, 'utf-8')
  const charset = charsetName(hint)
  if (text !== undefined || charset === '' || !isKnownCharset(charset)) return text ?? guess(bytes, null)
  const { encoding } = new TextDecoder(charset)
  // Every byte is a character of Latin-1, which therefore says nothing about a header beside such a body.
  const chinese = /^(?:windows-1252|iso-8859-15)$/.test(encoding) ? decodeChinese(bytes, 'common') : undefined
  const other = encoding === 'iso-2022-jp' ? decodeJapanese(bytes) : undefined
  return chinese ?? decodeStrictly(bytes, charset) ?? other ?? guess(bytes, null)
}

/** Finds the charset that the bytes are in by their language; null when that is not clear. */
export function detectCharset(bytes: Uint8Array): string | null {
  const first = bytes.subarray(0, MAX_ASCII_BYTES).findIndex((byte) => byte >= 0x80)
  if (first < 0) return null
  const [best] = analyse(bytes.subarray(first, first + SAMPLE_BYTES))
  if (!best || best.confidence < MIN_CONFIDENCE) return null
  return isKnownCharset(best.name) ? best.name.toLowerCase() : null
}

function decodeStrictly(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Shift_JIS or EUC-JP. Read as Shift_JIS, EUC-JP shows half-width katakana, which hardly anybody writes. */
function decodeJapanese(bytes: Uint8Array): string | undefined {
  const shift_jis = decodeStrictly(bytes, 'shift_jis')
  const euc = decodeStrictly(bytes, 'euc-jp')
  return shift_jis === undefined || /[\uff61-\uff9f]/.test(shift_jis) ? (euc ?? shift_jis) : shift_jis
}

/** Guesses from the bytes, unless the language is known: Chinese text, else Western text. */
function guess(bytes: Uint8Array, detected: string | null): string {
  if (detected) return new TextDecoder(detected).decode(bytes)
  return decodeChinese(bytes, 'any') ?? new TextDecoder('windows-1252').decode(bytes)
}

/**
 * Decodes Chinese text of two bytes a character, which is nearly all high bytes in pairs: Western text has its high
 * bytes one at a time.
 * @param characters `common` ones begin with other bytes than the small letters of Latin-1
 */
function decodeChinese(bytes: Uint8Array, characters: 'any' | 'common'): string | undefined {
  const { high, paired, common } = countHighBytes(bytes)
  if (high <= 3 || paired <= high * 0.8 || (characters === 'common' && common <= paired * 0.8)) return undefined
  return decodeStrictly(bytes, 'gb18030')
}

/**
 * Counts bytes above ASCII. `paired` are the bytes in runs of at least two characters of GB 2312, `common` the bytes of
 * its 3,755 characters of daily use and its punctuation.
 */
function countHighBytes(bytes: Uint8Array): { high: number; paired: number; common: number } {
  let high = 0
  let paired = 0
  let common = 0
  let run = 0
  const endRun = () => {
    if (run >= 4) paired += run
    run = 0
  }
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0
    if (byte < 0x80) continue
    high += 1
    if (isGb2312(byte, bytes[index + 1] ?? 0)) {
      run += 2
      high += 1
      if (byte <= 0xd7) common += 2
      index += 1
    } else endRun()
    if ((bytes[index + 1] ?? 0) < 0x80) endRun()
  }
  return { high, paired, common }
}

function isGb2312(lead: number, trail: number): boolean {
  return lead >= 0xa1 && lead <= 0xf7 && trail >= 0xa1 && trail <= 0xfe
}
