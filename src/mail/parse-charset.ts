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
  let broken = 0
  let whole = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 0xfffd) broken += 1
    else if (code >= 0x80) whole += 1
  }
  return whole > broken ? text : guess(bytes)
}

/** Two-byte Chinese text is nearly all high bytes in pairs; Western text has its high bytes one at a time. */
function guess(bytes: Uint8Array): string {
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('\x1b$')) {
    return new TextDecoder('iso-2022-jp').decode(bytes)
  }
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
