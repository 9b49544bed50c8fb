/**
 * Opens `winmail.dat` (TNEF, [MS-OXTNEF]), in which Outlook and Exchange put the text and the files of a message.
 *
 * Own code, because node-tnef 1.4 turns all bytes into an array of numbers: with a file of 20 MB its process grows to
 * 1.6 GB. It also decodes no charset and writes to standard output. "a winmail.dat of 20 MB is opened in time" in
 * mail-parse-containers.test.ts. A TNEF stream is a flat list of attributes, each with its length.
 */
import { decodeBytes } from './charset'
import { bytesOf, numberOf, type Properties, readProperties, textOf, untilNul } from './mapi'
import { readCompressedRtf } from './rtf'

export type TnefFile = { filename: string; content_type: string | null; content_id: string | null; content: Buffer }

export type TnefMessage = {
  subject: string | null
  text: string | null
  html: { content: Buffer; charset: string } | null
  files: TnefFile[]
}

const SIGNATURE = 0x223e9f78
const FIRST_ATTRIBUTE = 6
/** Level, id and length before the data, and the sum behind it. */
const HEAD_BYTES = 9
const SUM_BYTES = 2
const ATTRIBUTE = {
  subject: 0x8004,
  body: 0x800c,
  file_data: 0x800f,
  file_title: 0x8010,
  file_begins: 0x9002,
  properties: 0x9003,
  file_properties: 0x9005,
  code_page: 0x9007,
}
const PROPERTY = {
  subject: 0x0037,
  body: 0x1000,
  rtf: 0x1009,
  html: 0x1013,
  code_page: 0x3fde,
  file_data: 0x3701,
  file_short_name: 0x3704,
  file_name: 0x3707,
  file_type: 0x370e,
  file_content_id: 0x3712,
  display_name: 0x3001,
}
/** The prefix of a message that is attached to the message: the id of its interface. */
const OBJECT_HEAD_BYTES = 16
const MAX_DEPTH = 5
const MAX_FILES = 1000
const DEFAULT_CHARSET = 'windows-1252'

type Decode = (bytes: Buffer) => string
type OpenFile = { title: string | null; data: Buffer | null; properties: Properties }
type Stream = { message: TnefMessage; charset: string; files: OpenFile[] }

/** Opens a TNEF stream; null for bytes that are none, and for more than 1,000 files. What is cut off is left out. */
export function readTnef(content: Buffer, depth = 0): TnefMessage | null {
  if (!isTnef(content)) return null
  const stream: Stream = {
    message: { subject: null, text: null, html: null, files: [] },
    charset: DEFAULT_CHARSET,
    files: [],
  }
  for (let position = FIRST_ATTRIBUTE; position + HEAD_BYTES <= content.length; ) {
    const id = content.readUInt16LE(position + 1)
    const size = content.readUInt32LE(position + 5)
    const start = position + HEAD_BYTES
    takeAttribute(stream, id, content.subarray(start, start + size))
    if (stream.files.length > MAX_FILES) return null
    position = start + size + SUM_BYTES
  }
  const { message, charset } = stream
  const decode = decoderOf(charset)
  return { ...message, files: stream.files.flatMap((file) => filesOf(file, decode, depth)) }
}

function isTnef(content: Buffer): boolean {
  return content.length >= FIRST_ATTRIBUTE && content.readUInt32LE(0) === SIGNATURE
}

function takeAttribute(stream: Stream, id: number, data: Buffer): void {
  const { message, charset, files } = stream
  const decode = decoderOf(charset)
  if (id === ATTRIBUTE.file_begins) files.push(newFile())
  else if (id === ATTRIBUTE.code_page && data.length >= 4) stream.charset = charsetOf(data.readUInt32LE(0))
  else if (id === ATTRIBUTE.subject) message.subject = untilNul(decode(data))
  else if (id === ATTRIBUTE.body) message.text ??= untilNul(decode(data))
  else if (id === ATTRIBUTE.properties) takeProperties(message, readProperties(data), charset)
  else if (id === ATTRIBUTE.file_title) lastOf(files).title = untilNul(decode(data))
  else if (id === ATTRIBUTE.file_data) lastOf(files).data = data
  else if (id === ATTRIBUTE.file_properties) lastOf(files).properties = readProperties(data)
}

function takeProperties(message: TnefMessage, properties: Properties, charset: string): void {
  const decode = decoderOf(charset)
  message.subject = textOf(properties, PROPERTY.subject, decode) ?? message.subject
  message.text = textOf(properties, PROPERTY.body, decode) ?? message.text
  const html = bytesOf(properties, PROPERTY.html)
  const code_page = numberOf(properties, PROPERTY.code_page)
  if (html) message.html = { content: html, charset: code_page === null ? charset : charsetOf(code_page) }
  const rtf = bytesOf(properties, PROPERTY.rtf)
  if (rtf && html === null) message.text ??= readCompressedRtf(rtf)
}

/** Gives a file, or the text and the files of a message that is attached. */
function filesOf({ title, data, properties }: OpenFile, decode: Decode, depth: number): TnefFile[] {
  const text = (id: number) => textOf(properties, id, decode) || null
  const filename =
    text(PROPERTY.file_name) ?? text(PROPERTY.display_name) ?? title ?? text(PROPERTY.file_short_name) ?? ''
  const content = bytesOf(properties, PROPERTY.file_data) ?? data
  if (!content) return []
  const inner = content.subarray(OBJECT_HEAD_BYTES)
  const message = depth < MAX_DEPTH && isTnef(inner) ? readTnef(inner, depth + 1) : null
  if (message) return [...textFiles(message, filename), ...message.files]
  const content_type = text(PROPERTY.file_type)
  return [{ filename, content_type, content_id: text(PROPERTY.file_content_id), content: data ?? content }]
}

/** The text of an attached message as a file. */
function textFiles({ subject, text, html }: TnefMessage, name: string): TnefFile[] {
  const filename = (subject ?? name) || 'message'
  const file = { content_id: null, filename: `${filename}.${html ? 'html' : 'txt'}` }
  if (html) return [{ ...file, content_type: 'text/html', content: html.content }]
  return text ? [{ ...file, content_type: 'text/plain', content: Buffer.from(text) }] : []
}

function newFile(): OpenFile {
  return { title: null, data: null, properties: new Map() }
}

function lastOf(files: OpenFile[]): OpenFile {
  if (files.length === 0) files.push(newFile())
  return files.at(-1)!
}

/** The charset of a code page of Windows. */
function charsetOf(code_page: number): string {
  const named: Record<number, string> = { 65001: 'utf-8', 20127: 'us-ascii', 20866: 'koi8-r', 21866: 'koi8-u' }
  if (named[code_page]) return named[code_page]
  if (code_page > 28590 && code_page < 28606) return `iso-8859-${code_page - 28590}`
  return code_page >= 1250 && code_page <= 1258 ? `windows-${code_page}` : `cp${code_page}`
}

function decoderOf(charset: string): Decode {
  return (bytes) => decodeBytes(bytes, charset)
}
