/** Opens parts that hold a message in a form of their own: opaque S/MIME and TNEF. */
import libmime from 'libmime'
import { readSigned } from './cms'
import { type Part, splitParts, UnparsableMail } from './parts'
import { readTnef, type TnefFile, type TnefMessage } from './tnef'

const SIGNED_TYPES = ['application/pkcs7-mime', 'application/x-pkcs7-mime']
const TNEF_TYPES = ['application/ms-tnef', 'application/vnd.ms-tnef']
/** Types that say nothing, of files whose name tells. */
const UNKNOWN_TYPES = ['application/octet-stream', 'binary', 'application/x-unknown']
/** Signed messages within signed messages. */
const MAX_DEPTH = 5
const MAX_PARTS = 1000
/** Bytes of a text that are looked at. */
const START_BYTES = 4096

/**
 * Replaces each container by the parts that it holds. The text in a winmail.dat is left out when the message has text
 * beside it, which is the same. A part that cannot be opened, or holds nothing else, stays a file.
 * @throws UnparsableMail beyond 1,000 parts
 */
export function openContainers(root: Part): Part {
  const signed = replaceLeaves(root, (part) => openSigned(part, 0))
  const has_text = hasText(signed)
  const opened = replaceLeaves(signed, (part) => openTnef(part, has_text ? 'files' : 'all'))
  if (opened !== root && countOf(opened) > MAX_PARTS) {
    throw new UnparsableMail(`The message has more than ${MAX_PARTS} parts`)
  }
  return opened
}

/** Gives the tree with other leaves; the tree itself when none of them changes. */
function replaceLeaves(part: Part, replace: (leaf: Part) => Part): Part {
  if (part.children.length === 0) return replace(part)
  const children = part.children.map((child) => replaceLeaves(child, replace))
  return children.some((child, index) => child !== part.children[index]) ? { ...part, children } : part
}

function openSigned(part: Part, depth: number): Part {
  const kind = part.content_params.get('smime-type')?.toLowerCase() ?? 'signed-data'
  if (depth >= MAX_DEPTH || !isContainer(part, SIGNED_TYPES, /\.p7m$/i) || kind !== 'signed-data') return part
  const content = readSigned(part.content)
  if (!content) return part
  return opened(part, [replaceLeaves(splitParts(content), (leaf) => openSigned(leaf, depth + 1))])
}

function openTnef(part: Part, wanted: 'all' | 'files'): Part {
  if (!isContainer(part, TNEF_TYPES, /^win(?:mail|dat)?\d{0,3}\.dat$/i)) return part
  const message = readTnef(part.content)
  if (!message) return part
  const children = [...(wanted === 'all' ? textsOf(message) : []), ...message.files.map(fileOf)]
  return children.length === 0 ? part : opened(part, children)
}

function isContainer(
  { content_type, content_params, disposition_params }: Part,
  types: string[],
  name: RegExp,
): boolean {
  if (types.includes(content_type)) return true
  const given = disposition_params.get('filename') ?? content_params.get('name') ?? ''
  return UNKNOWN_TYPES.includes(content_type) && name.test(given)
}

/** Keeps the header, because the part may be the whole message. */
function opened(part: Part, children: Part[]): Part {
  return { ...leaf('multipart/mixed', Buffer.alloc(0)), fields: part.fields, children }
}

function textsOf({ text, html }: TnefMessage): Part[] {
  const forms = [
    ...(text ? [leaf('text/plain', Buffer.from(text), 'utf-8')] : []),
    ...(html ? [leaf('text/html', html.content, html.charset)] : []),
  ]
  return forms.length < 2 ? forms : [{ ...leaf('multipart/alternative', Buffer.alloc(0)), children: forms }]
}

function fileOf({ filename, content_type, content_id, content }: TnefFile): Part {
  const id = content_id?.replace(/[^!-~]/g, '')
  return {
    ...leaf((content_type ?? libmime.detectMimeType(filename)).toLowerCase(), content),
    disposition: 'attachment',
    disposition_params: new Map([['filename', filename]]),
    fields: id ? [{ key: 'content-id', value: `<${id}>` }] : [],
  }
}

function leaf(content_type: string, content: Buffer, charset?: string): Part {
  return {
    content_type,
    content_params: new Map(charset ? [['charset', charset]] : []),
    disposition: '',
    disposition_params: new Map(),
    fields: [],
    content,
    children: [],
  }
}

function hasText(part: Part): boolean {
  if (part.children.length > 0) return part.children.some(hasText)
  const { content_type, disposition, content } = part
  if (disposition === 'attachment' || !/^(?:text\/(?:plain|html)|)$/.test(content_type)) return false
  return content.toString('latin1', 0, START_BYTES).trim() !== ''
}

function countOf({ children }: Part): number {
  return children.reduce((sum, child) => sum + countOf(child), 1)
}
