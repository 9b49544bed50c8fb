/** Bytes to text as mail means it: wrong, missing and exotic charset names included. */
import { analyse } from 'chardet'
import exotic from 'libmime/lib/charset'

/** Names that real mail uses for a superset of what they say, or that no standard knows. */
const ALIASES: Record<string, string> = {
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  '7bit': 'utf-8',
  '8bit': 'utf-8',
  utf8: 'utf-8',
  'utf-8mb4': 'utf-8',
  cp936: 'gb18030',
  'euc-cn': 'gb18030',
  cp949: 'euc-kr',
  ms949: 'euc-kr',
  uhc: 'euc-kr',
  'x-windows-949': 'euc-kr',
  cp932: 'shift_jis',
  cp50220: 'iso-2022-jp',
  iso8859_1: 'windows-1252',
  latin1: 'windows-1252',
  'ansi_x3.4-1968': 'utf-8',
  'x-mac-ce': 'maccenteuro',
  'x-user-defined': 'windows-1252',
}

/** Spellings of libraries and old programs. */
const FAMILIES: [RegExp, string][] = [
  [/^(?:x-)*big[-_]?5/, 'big5'],
  [/^(?:x-)?gb[-_k0-9]/, 'gb18030'],
  [/^(?:cs)?iso-?2022-?jp/, 'iso-2022-jp'],
  [/^(?:x-)?(?:s-?jis|shift[-_]?jis)/, 'shift_jis'],
  [/^(?:x-)?euc[-_]?kr/, 'euc-kr'],
]

/** Enough to tell a language by; telling takes two milliseconds for a thousand. */
const SAMPLE_BYTES = 2000
/** Where the first character above ASCII is looked for. */
const MAX_ASCII_BYTES = 100_000
/** Below, it is a guess among several: of texts of a word or two. */
const MIN_CONFIDENCE = 40

/**
 * Decodes bytes. A declared charset that does not fit the bytes gives way to UTF-8 where that fits; what still cannot
 * be read becomes U+FFFD.
 * @param declared the charset that the message names, if any
 * @param detect whether to find out by the language where it names none or a wrong one, which takes milliseconds
 */
export function decodeBytes(bytes: Uint8Array, declared?: string | null, detect = false): string {
  const charset = charsetName(declared)
  if (isJapanese(bytes)) return decodeJapanese(bytes)
  const detected = () => (detect ? detectCharset(bytes) : null)
  if (!charset) return decodeStrictly(bytes, 'utf-8') ?? guess(bytes, detected())
  if (charset === 'utf-8') return decodeStrictly(bytes, 'utf-8') ?? guessAgainst(bytes, detected)
  if (charset.startsWith('iso-2022-kr') || charset.startsWith('hz')) return decodeShifted(bytes, charset)
  if (!isKnown(charset)) return decodeExotic(bytes, charset)
  if (isSingleByte(charset) && isPlainlyUtf8(bytes)) return new TextDecoder().decode(bytes)
  if (isForeign(bytes, charset)) return decodeStrictly(bytes, 'utf-8') ?? guess(bytes, detected())
  return decodeStrictly(bytes, charset) ?? decodeStrictly(bytes, 'utf-8') ?? new TextDecoder(charset).decode(bytes)
}

/** The charset that the bytes are in by their language; null when that is not clear. */
export function detectCharset(bytes: Uint8Array): string | null {
  const first = bytes.subarray(0, MAX_ASCII_BYTES).findIndex((byte) => byte >= 0x80)
  if (first < 0) return null
  const [best] = analyse(bytes.subarray(first, first + SAMPLE_BYTES))
  if (!best || best.confidence < MIN_CONFIDENCE) return null
  return isKnown(best.name) ? best.name.toLowerCase() : null
}

/** Every byte is a character there, so that a wrong declaration shows only in what they say. */
function isSingleByte(charset: string): boolean {
  return /^(?:windows-|iso-8859-|koi8-|macintosh|x-mac-|ibm)/.test(new TextDecoder(charset).encoding)
}

/** True for text that is in no language of its charset: Western ones need few letters above ASCII, Japanese escapes. */
function isForeign(bytes: Uint8Array, charset: string): boolean {
  const { encoding } = new TextDecoder(charset)
  if (encoding === 'iso-2022-jp') return bytes.some((byte) => byte >= 0x80)
  if (encoding !== 'windows-1252') return false
  let letters = 0
  let high = 0
  for (const byte of bytes.subarray(0, SAMPLE_BYTES)) {
    if (byte >= 0x80) high += 1
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) letters += 1
  }
  return high > 8 && high > letters
}

/** Several characters of two bytes and more, and nothing else above ASCII, do not come about by chance. */
function isPlainlyUtf8(bytes: Uint8Array): boolean {
  const text = decodeStrictly(bytes, 'utf-8')
  return text !== undefined && /[\u0080-\uffff][\s\S]*[\u0080-\uffff]/.test(text)
}

/** What no browser knows; a name that nobody knows is none. */
function decodeExotic(bytes: Uint8Array, charset: string): string {
  const text = exotic.decode(Buffer.from(bytes), charset)
  return text.includes('\ufffd') ? decodeUnlabelled(bytes) : text
}

/** Escapes to a Japanese character set: no other text has them, and many senders name no charset or a wrong one. */
function isJapanese(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return text.includes('\x1b$B') || text.includes('\x1b$@')
}

/** The standard for browsers refuses an escape right behind another, as encoded words that are joined have. */
function decodeJapanese(bytes: Uint8Array): string {
  return decodeStrictly(bytes, 'iso-2022-jp') ?? exotic.decode(Buffer.from(bytes), 'iso-2022-jp')
}

/** Two-byte characters written in seven bits between shifts (RFC 1557, RFC 1843): with the eighth they are EUC. */
function decodeShifted(bytes: Uint8Array, charset: string): string {
  const isKorean = charset.startsWith('iso')
  const shifted = isKorean ? /\x0e([^\x0f]*)\x0f?/g : /~\{([^~]*)(?:~\})?/g
  const euc = Buffer.from(bytes)
    .toString('latin1')
    .replace(/^\x1b\$\)C/gm, '')
    .replace(shifted, (_, text: string) =>
      text.replace(/[\x21-\x7e]/g, (char) => String.fromCharCode(char.charCodeAt(0) | 0x80)),
    )
  return new TextDecoder(isKorean ? 'euc-kr' : 'gb18030').decode(Buffer.from(euc, 'latin1'))
}

/** Raw 8-bit text that names no charset (old headers): UTF-8 if it is that, else the message's, else a guess. */
export function decodeUnlabelled(bytes: Uint8Array, hint?: string | null): string {
  if (isJapanese(bytes)) return decodeJapanese(bytes)
  const charset = charsetName(hint)
  const hinted = charset && isKnown(charset) ? decodeStrictly(bytes, charset) : undefined
  return decodeStrictly(bytes, 'utf-8') ?? hinted ?? guess(bytes)
}

function charsetName(declared?: string | null): string | null {
  const name = (declared ?? '').toLowerCase().replace(/^["'\s]+|["'\s;]+$/g, '')
  return ALIASES[name] ?? FAMILIES.find(([spelling]) => spelling.test(name))?.[1] ?? (name || null)
}

function isKnown(charset: string): boolean {
  try {
    return Boolean(new TextDecoder(charset))
  } catch {
    return false
  }
}

function decodeStrictly(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Text that says UTF-8 and is not: mostly UTF-8 with a few broken bytes stays UTF-8, else another charset was meant. */
function guessAgainst(bytes: Uint8Array, detected: () => string | null): string {
  const text = new TextDecoder().decode(bytes)
  let broken = 0
  let whole = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 0xfffd) broken += 1
    else if (code >= 0x80) whole += 1
  }
  return whole > broken ? text : guess(bytes, detected())
}

/** Two-byte Chinese text is nearly all high bytes in pairs; Western text has its high bytes one at a time. */
function guess(bytes: Uint8Array, detected: string | null = null): string {
  if (detected) return new TextDecoder(detected).decode(bytes)
  const { high, paired } = countHighBytes(bytes)
  if (high > 3 && paired > high * 0.8) {
    const chinese = decodeStrictly(bytes, 'gb18030')
    if (chinese !== undefined) return chinese
  }
  return new TextDecoder('windows-1252').decode(bytes)
}

/** `paired` are those in runs of at least two characters of GB 2312. */
function countHighBytes(bytes: Uint8Array): { high: number; paired: number } {
  let high = 0
  let paired = 0
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
      index += 1
    } else endRun()
    if ((bytes[index + 1] ?? 0) < 0x80) endRun()
  }
  return { high, paired }
}

function isGb2312(lead: number, trail: number): boolean {
  return lead >= 0xa1 && lead <= 0xf7 && trail >= 0xa1 && trail <= 0xfe
}
