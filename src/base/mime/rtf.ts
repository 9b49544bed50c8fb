/**
 * Reads the text of compressed RTF, in which Outlook keeps a formatted message ([MS-OXRTFCP]). Formats are left out: a
 * message that has them for its customers comes as HTML. The package @kenjiuno/decompressrtf
 * only undoes the compression, into an array of numbers without a limit.
 */
import { decodeBytes } from './charset'

const COMPRESSED = 0x75465a4c
const UNCOMPRESSED = 0x414c454d
const HEAD_BYTES = 16
/** The dictionary is filled with this text at first. */
const FIRST_WORDS =
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx'
const DICTIONARY_BYTES = 4096
/** Size of the text with its formats. */
const MAX_BYTES = 10_000_000
/** Groups of which nothing is shown. */
const HIDDEN =
  /^(?:fonttbl|colortbl|stylesheet|info|pict|object|header[lrf]?|footer[lrf]?|themedata|datastore|listtable)$/
const BREAKS: Record<string, string> = { par: '\n', line: '\n', row: '\n', tab: '\t', cell: '\t' }
const SIGNS: Record<string, string> = {
  ...{ emdash: '—', endash: '–', bullet: '•', lquote: '‘', rquote: '’', ldblquote: '“', rdblquote: '”' },
}

/** Gives the text of a message; null when the bytes are no compressed RTF, or too much of it. */
export function readCompressedRtf(data: Buffer): string | null {
  const rtf = decompress(data)
  return rtf && (rtfToText(rtf).trim() || null)
}

function decompress(data: Buffer): string | null {
  if (data.length < HEAD_BYTES) return null
  const [size, kind] = [data.readUInt32LE(4), data.readUInt32LE(8)]
  if (size > MAX_BYTES) return null
  if (kind === UNCOMPRESSED) return data.toString('latin1', HEAD_BYTES, HEAD_BYTES + size)
  return kind === COMPRESSED ? unpack(data, size) : null
}

/** Undoes LZFu: eight times a byte, or a place in the last 4,096 bytes and a length. */
function unpack(data: Buffer, size: number): string {
  const dictionary = Buffer.alloc(DICTIONARY_BYTES)
  let place = dictionary.write(FIRST_WORDS, 'latin1')
  const output = Buffer.alloc(size)
  let written = 0
  const put = (byte: number) => {
    output[written] = byte
    written += 1
    dictionary[place] = byte
    place = (place + 1) % DICTIONARY_BYTES
  }
  for (let position = HEAD_BYTES; position < data.length && written < size; ) {
    const control = data[position]!
    position += 1
    for (let bit = 0; bit < 8 && position < data.length && written < size; bit += 1) {
      if ((control & (1 << bit)) === 0) {
        put(data[position]!)
        position += 1
        continue
      }
      const [high = 0, low = 0] = data.subarray(position, position + 2)
      const from = (high << 4) | (low >> 4)
      position += 2
      // The place to write at is the mark of the end.
      if (from === place) return output.toString('latin1', 0, written)
      for (let count = (low & 15) + 2, step = 0; step < count && written < size; step += 1) {
        put(dictionary[(from + step) % DICTIONARY_BYTES]!)
      }
    }
  }
  return output.toString('latin1', 0, written)
}

/** State of a group: nothing of it is shown, or the number of characters that stand in for one of Unicode. */
type Group = { is_hidden: boolean; fallback: number }

const TOKEN = /\{|\}|\\'[0-9a-f]{2}|\\([a-z]{1,32})(-?\d{1,10})? ?|\\[^a-z]|[^\\{}\r\n]+/gi
const MAX_DEPTH = 1000

function rtfToText(rtf: string): string {
  const charset = `windows-${/\\ansicpg(\d{1,5})/.exec(rtf)?.[1] ?? '1252'}`
  const groups: Group[] = [{ is_hidden: false, fallback: 1 }]
  const text: string[] = []
  let bytes: number[] = []
  let skipped = 0
  const flush = () => {
    if (bytes.length > 0) text.push(decodeBytes(Buffer.from(bytes), charset))
    bytes = []
  }
  const show = (shown: string) => {
    flush()
    text.push(shown)
  }
  for (const [token, word, number] of rtf.matchAll(TOKEN)) {
    const group = groups.at(-1)!
    if (token === '{') groups.push({ ...group })
    else if (token === '}' && groups.length > 1) groups.pop()
    else if (token === '\\*' || (word && HIDDEN.test(word))) group.is_hidden = true
    else if (word === 'uc') group.fallback = Number(number ?? 1)
    if (groups.length > MAX_DEPTH) break
    if (group.is_hidden || token === '{' || token === '}') continue
    if (skipped > 0 && (token.startsWith("\\'") || word === undefined)) {
      const taken = token.startsWith('\\') ? 1 : Math.min(skipped, token.length)
      skipped -= taken
      if (token.startsWith('\\') || taken === token.length) continue
      show(token.slice(taken))
    } else if (token.startsWith("\\'")) bytes.push(Number.parseInt(token.slice(2), 16))
    else if (word === 'u' && number !== undefined) {
      show(String.fromCharCode(Number(number) & 0xffff))
      skipped = group.fallback
    } else if (word !== undefined) show(BREAKS[word] ?? SIGNS[word] ?? '')
    else if (/^\\[\\{}]/.test(token)) show(token.slice(1))
    else if (token === '\\~') show(' ')
    else if (!token.startsWith('\\')) show(token)
  }
  flush()
  return text.join('').replaceAll('\0', '').toWellFormed()
}
