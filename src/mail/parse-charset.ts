/** Bytes to text as mail means it: wrong, missing and exotic charset names included. */
import exotic from 'libmime/lib/charset'

/** Names that real mail uses for a superset of what they say, or that no standard knows. */
const ALIASES: Record<string, string> = {
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  '7bit': 'utf-8',
  '8bit': 'utf-8',
  utf8: 'utf-8',
  'utf-8mb4': 'utf-8',
  gb2312: 'gb18030',
  gbk: 'gb18030',
  gb_2312: 'gb18030',
  cp936: 'gb18030',
  cp949: 'euc-kr',
  cp932: 'shift_jis',
  'iso-2022-jp-ms': 'iso-2022-jp',
  iso8859_1: 'windows-1252',
  latin1: 'windows-1252',
}

/**
 * Decodes bytes. A declared charset that does not fit the bytes gives way to UTF-8 where that fits; what still cannot
 * be read becomes U+FFFD.
 * @param declared the charset that the message names, if any
 */
export function decodeBytes(bytes: Uint8Array, declared?: string | null): string {
  const charset = charsetName(declared)
  if (!charset) return decodeStrictly(bytes, 'utf-8') ?? guess(bytes)
  if (charset === 'utf-8') return decodeStrictly(bytes, 'utf-8') ?? guessAgainst(bytes)
  if (!isKnown(charset)) return exotic.decode(Buffer.from(bytes), charset)
  return decodeStrictly(bytes, charset) ?? decodeStrictly(bytes, 'utf-8') ?? new TextDecoder(charset).decode(bytes)
}

/** Raw 8-bit text that names no charset (old headers): UTF-8 if it is that, else the message's, else a guess. */
export function decodeUnlabelled(bytes: Uint8Array, hint?: string | null): string {
  const charset = charsetName(hint)
  const hinted = charset && isKnown(charset) ? decodeStrictly(bytes, charset) : undefined
  return decodeStrictly(bytes, 'utf-8') ?? hinted ?? guess(bytes)
}

function charsetName(declared?: string | null): string | null {
  const name = (declared ?? '').toLowerCase().replace(/^["'\s]+|["'\s;]+$/g, '')
  return ALIASES[name] ?? (name || null)
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
function guessAgainst(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes)
  const broken = text.split('\uFFFD').length - 1
  const whole = text.match(/[\u0080-\uFFFC]/g)?.length ?? 0
  return whole > broken ? text : guess(bytes)
}

/** Two-byte Chinese text is nearly all high bytes in pairs; Western text has its high bytes one at a time. */
function guess(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1')
  if (text.includes('\x1b$')) return new TextDecoder('iso-2022-jp').decode(bytes)
  const high = text.match(/[\x80-\xff]/g)?.length ?? 0
  const paired = (text.match(/(?:[\xa1-\xf7][\xa1-\xfe]){2,}/g) ?? []).join('').length
  if (high > 3 && paired > high * 0.8) {
    const chinese = decodeStrictly(bytes, 'gb18030')
    if (chinese !== undefined) return chinese
  }
  return new TextDecoder('windows-1252').decode(bytes)
}
