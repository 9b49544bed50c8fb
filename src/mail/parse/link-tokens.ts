/**
 * Finds the tokens in links such as `https://desk.example/reset?token=…`, wherever a message has them: in its text,
 * quoted, attached, encoded, or wrapped. Letters of the service hold such links, and who has one can open an account.
 * Pure.
 */
import { openContainers } from '../../base/mime/containers'
import { FIELD } from '../../base/mime/headers'
import { type Part, splitParts, UnparsableMail } from '../../base/mime/parts'

const MARK = Buffer.from('token')
/** A token of 256 bits as base64url. Mail systems encode the sign before it, once or twice. */
const TOKEN = /^token(?:=3d|=|%3d|%253d|-3d|&#61;|&#x3d;)([\w-]{43})/i
/** Bytes in which a token ends, however its lines are wrapped. */
const WINDOW = 400
/** Places that are looked at, which takes 0.1 s. */
const MAX_PLACES = 10_000
/** Bytes of an attached message that is taken apart: a letter is short. */
const MAX_INNER_BYTES = 2_000_000
const MAX_TOKENS = 1000
/** Messages attached to attached messages. */
const MAX_DEPTH = 5

/** Places that are left. */
type Budget = { places: number }

/** Finds the tokens in all parts of a message, and in its decoded text: at most 1,000. */
export function linkTokens(root: Part, texts: string[]): string[] {
  const budget = { places: MAX_PLACES }
  const found = [...texts.flatMap((text) => tokensIn(Buffer.from(text), budget)), ...tokensOfPart(root, 0, budget)]
  return [...new Set(found)].slice(0, MAX_TOKENS)
}

/** Finds the tokens in bytes that are not encoded, or quoted-printable. */
export function tokensIn(bytes: Uint8Array, budget: Budget = { places: MAX_PLACES }): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found = new Set<string>()
  for (let at = buffer.indexOf(MARK); at >= 0 && budget.places > 0; at = buffer.indexOf(MARK, at + MARK.length)) {
    // Letters go on in another word.
    if (/\w/.test(String.fromCharCode(buffer[at + MARK.length] ?? 0))) continue
    budget.places -= 1
    const token = TOKEN.exec(unescaped(unwrapped(buffer.toString('latin1', at, at + WINDOW))))?.[1]
    if (token) found.add(token)
  }
  return [...found].slice(0, MAX_TOKENS)
}

/** Joins lines that were wrapped: by quoted-printable, with marks of a quotation, or by tags. */
function unwrapped(text: string): string {
  return text
    .replace(/=[ \t]*\r?\n/g, '')
    .replace(/<[^<>]*>/g, '')
    .replace(/\s+[\s>|]*/g, '')
}

/** Gives the signs of a token back that Proofpoint wrote as numbers, as it did with the sign before it. */
function unescaped(text: string): string {
  return /^token-3d/i.test(text) ? text.replace(/-2d/gi, '-').replace(/-5f/gi, '_') : text
}

function tokensOfPart(part: Part, depth: number, budget: Budget): string[] {
  if (part.children.length > 0) return part.children.flatMap((child) => tokensOfPart(child, depth, budget))
  const inner = depth < MAX_DEPTH && mayBeMessage(part) ? openInner(part) : null
  return [...tokensIn(part.content, budget), ...(inner ? tokensOfPart(inner, depth + 1, budget) : [])]
}

/** True for an attached message: by its type, or for a file that begins with a header. */
function mayBeMessage({ content_type, content }: Part): boolean {
  if (content.length > MAX_INNER_BYTES) return false
  if (content_type.startsWith('message/')) return true
  return !/^(?:image|audio|video)\//.test(content_type) && FIELD.test(content.toString('latin1', 0, 200))
}

function openInner(part: Part): Part | null {
  try {
    return openContainers(splitParts(part.content))
  } catch (error) {
    if (error instanceof UnparsableMail) return null
    throw error
  }
}
