/**
 * Encoded words (RFC 2047), also where they are not allowed. Not libmime's: it reads only charsets that it knows, and
 * believes a name that does not fit the bytes.
 */
import { decodeBytes } from './charset'
import { decodeContent } from './transfer-encoding'

/** Charset, encoding, text. A `?` within the text is against the rules and common. */
const WORD = /=\?([^?\s*]{1,100})(?:\*[\w-]{0,40})?\?([BbQq])\?([^?]*(?:(?<!=)\?(?!=)[^?]*){0,8})\?=/g

/** Each name is looked up, and unknown ones take long: beyond, the bytes themselves have to tell. */
const MAX_CHARSETS = 50

type Run = { charset: string; bytes: Buffer[] }

/**
 * The text with its encoded words decoded. Neighbours of one charset are decoded together: some split characters.
 * @param detections how many charsets may be found out by the language, where the declared one is wrong
 */
export function decodeWords(text: string, detections = 0): string {
  return mapWords(text, (decoded) => decoded, detections)
}

/** The text with its encoded words written so that nothing of them is read as syntax, whatever they hold. */
export function protectWords(text: string): string {
  return mapWords(text, (decoded) => `=?utf-8?B?${Buffer.from(decoded).toString('base64')}?=`)
}

/** What stands outside of encoded words. */
export function dropWords(text: string): string {
  return mapWords(text, () => ' ')
}

function mapWords(text: string, map: (decoded: string) => string, detections = 0): string {
  if (!text.includes('=?')) return text
  let result = ''
  let runs: Run[] = []
  let position = 0
  const charsets = new Set<string>()
  const decodeRun = ({ charset, bytes }: Run) => decodeBytes(Buffer.concat(bytes), charset, detections-- > 0)
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
