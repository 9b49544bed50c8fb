/**
 * Decodes encoded words (RFC 2047), also where they are not allowed.
 *
 * Own code because libmime 5.4 and postal-mime 4.0 believe a charset that does not fit the bytes and stop at raw bytes
 * and question marks within a word: "a subject with %s is readable" in mail-parse-headers.test.ts. Both misread the
 * subject of five messages of the test corpus, such as `stalwart__legacy_009`.
 */
import { decodeBytes, detectCharset } from './charset'
import { decodeContent } from './transfer-encoding'

/** Matches charset, encoding and text. A `?` within the text is against the rules and common. */
const WORD = /=\?([^?\s*]{1,100})(?:\*[\w-]{0,40})?\?([BbQq])\?([^?]*(?:(?<!=)\?(?!=)[^?]*){0,8})\?=/g

/** Unknown names take long to look up: words beyond so many names are decoded without one. */
const MAX_CHARSETS = 50

type Run = { charset: string; bytes: Buffer[] }

/**
 * Decodes the encoded words of a text. Neighbours of one charset are decoded together, because some split characters.
 * @param detections how many wrong charsets may be corrected by the language, which takes milliseconds each
 */
export function decodeWords(text: string, detections = 0): string {
  return mapWords(text, (decoded) => decoded, detections)
}

/** Writes encoded words anew in base64, so that nothing in them is read as syntax. */
export function protectWords(text: string): string {
  return mapWords(text, (decoded) => `=?utf-8?B?${Buffer.from(decoded).toString('base64')}?=`)
}

/** Replaces encoded words by a space. */
export function dropWords(text: string): string {
  return mapWords(text, () => ' ')
}

function mapWords(text: string, map: (decoded: string) => string, detections = 0): string {
  if (!text.includes('=?')) return text
  let result = ''
  let runs: Run[] = []
  let position = 0
  const charsets = new Set<string>()
  const decodeRun = ({ charset, bytes }: Run) =>
    decodeBytes(Buffer.concat(bytes), charset, detections-- > 0 ? detectCharset : undefined)
  const flush = () => {
    if (runs.length > 0) result += map(runs.map(decodeRun).join(''))
    runs = []
  }
  for (const match of text.matchAll(WORD)) {
    const between = text.slice(position, match.index)
    if (runs.length === 0 || between.trim() !== '') {
      flush()
      result += between
    }
    const [word, charset = '', encoding = '', encoded = ''] = match
    charsets.add(charset.toLowerCase())
    addWord(runs, charsets.size > MAX_CHARSETS ? '' : charset.toLowerCase(), wordBytes(encoding, encoded))
    position = match.index + word.length
  }
  flush()
  return result + text.slice(position)
}

function addWord(runs: Run[], charset: string, bytes: Buffer): void {
  const last = runs.at(-1)
  if (last?.charset === charset) last.bytes.push(bytes)
  else runs.push({ charset, bytes: [bytes] })
}

function wordBytes(encoding: string, encoded: string): Buffer {
  const bytes = Buffer.from(encoded, /[^\0-\xff]/.test(encoded) ? 'utf8' : 'latin1')
  if (/b/i.test(encoding)) return decodeContent(bytes, 'base64')
  const text = bytes.toString('latin1').replaceAll('_', ' ')
  const decoded = text.replace(/=([0-9A-Fa-f]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
