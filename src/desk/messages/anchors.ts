/**
 * Issues and reads the anchors of this service: its Message-IDs and the `+tag` of its reply addresses. Both carry a
 * keyed hash, so that a forged one is recognized and counts as absent.
 */
import { sign, verify } from '../../base/secrets'
import { isUuid } from '../../base/shapes/ids'

const ID_HASH_BYTES = 12
/** 28 bytes (id and hash) in base 36. Some mail systems cut what has more than 48 characters before the `@`. */
const ID_LENGTH = 44

/** Makes the Message-ID of a message, without angle brackets. @param domain of the mailbox that sends it */
export function newMessageId(message_id: string, domain: string): string {
  return `${pack(message_id, sign('message-id', message_id).subarray(0, ID_HASH_BYTES), ID_LENGTH)}@${domain}`
}

/** Reads the id of the message from our Message-ID; null for one that is forged or not ours. */
export function readMessageId(email_message_id: string): string | null {
  const short = /^([0-9a-z]{44})@/i.exec(email_message_id)?.[1]
  // Releases before 0.3.0 wrote both in base 16.
  const [, long = '', hex = ''] = /^([0-9a-f-]{36})\.([0-9a-f]{24})@/i.exec(email_message_id) ?? []
  const found = short ? unpack(short, ID_HASH_BYTES) : { id: long.toLowerCase(), hash: Buffer.from(hex, 'hex') }
  if (!found || !isUuid(found.id)) return null
  return verify('message-id', found.id, found.hash) ? found.id : null
}

/** Writes an id and its hash in base 36: relays may change the case of an address. */
function pack(id: string, hash: Buffer, length: number): string {
  return BigInt(`0x${id.replaceAll('-', '')}${hash.toString('hex')}`)
    .toString(36)
    .padStart(length, '0')
}

/** Reads what `pack` wrote; null for what is too large for it. */
function unpack(packed: string, hash_bytes: number): { id: string; hash: Buffer } | null {
  const value = [...packed.toLowerCase()].reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n)
  const hex = value.toString(16).padStart(32 + 2 * hash_bytes, '0')
  if (hex.length !== 32 + 2 * hash_bytes) return null
  const id = hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { id, hash: Buffer.from(hex.slice(32), 'hex') }
}

const TAG_HASH_BYTES = 8
/** 24 bytes (id and hash) in base 36. */
const TAG_LENGTH = 38
/** By RFC 5321 section 4.5.3.1.1. */
const LOCAL_PART_MAX_LENGTH = 64

/**
 * Makes the address that answers about a ticket go to: the mailbox's with a signed `+tag`. A local part of more than 25
 * characters leaves no room for a tag; then the address stays as it is.
 */
export function replyAddress(mailbox_address: string, ticket_id: string): string {
  return withTag('reply-tag', mailbox_address, ticket_id)
}

/** Reads the id of the ticket from a reply address; null without a tag of ours, or with a forged one. */
export function readReplyTag(address: string): string | null {
  return readTag('reply-tag', address)
}

/**
 * Makes the envelope sender of a message, to which reports about it go (VERP). Without room for a tag as it is, too.
 */
export function bounceAddress(mailbox_address: string, message_id: string): string {
  return withTag('bounce-tag', mailbox_address, message_id)
}

/** Reads the id of the message from the address of a report; null without a tag of ours, or with a forged one. */
export function readBounceTag(address: string): string | null {
  return readTag('bounce-tag', address)
}

/** A letter to a member about a ticket. Its answer goes to the customer; to a letter about a note it is a note. */
type LetterAnchor = { ticket_id: string; is_about_note: boolean }

/** Base 36 of the last 46 bits of the id of a letter, which nobody else makes in the same moment. */
const LETTER_LENGTH = 9

/**
 * Makes the Message-ID of a letter, without angle brackets: it names the ticket, as its tag does, and the letter, at
 * most 48 characters before the `@`.
 */
export function letterMessageId(about: LetterAnchor, letter_id: string, domain: string): string {
  const letter = (BigInt(`0x${letter_id.replaceAll('-', '')}`) % 36n ** BigInt(LETTER_LENGTH)).toString(36)
  return `${tagOf(letterPurpose(about.is_about_note), about.ticket_id)}.${letter.padStart(LETTER_LENGTH, '0')}@${domain}`
}

/** As `replyAddress`, for the answer of a member to a letter; undefined where there is no room for a tag. */
export function letterAddress(mailbox_address: string, about: LetterAnchor): string | undefined {
  const address = withTag(letterPurpose(about.is_about_note), mailbox_address, about.ticket_id)
  return address === mailbox_address ? undefined : address
}

/** Reads what a letter is about from its Message-ID, or its reply address; null for what is forged or not ours. */
export function readLetterAnchor(text: string): LetterAnchor | null {
  const tag = /(?:\+|^)([0-9a-z]{38})(?:\.[0-9a-z]{9})?@[^@]*$/i.exec(text)?.[1]
  if (tag === undefined) return null
  for (const is_about_note of [true, false]) {
    const ticket_id = unsigned(letterPurpose(is_about_note), tag)
    if (ticket_id !== null) return { ticket_id, is_about_note }
  }
  return null
}

function letterPurpose(is_about_note: boolean): TagPurpose {
  return is_about_note ? 'note-letter-tag' : 'letter-tag'
}

type TagPurpose = 'reply-tag' | 'bounce-tag' | 'letter-tag' | 'note-letter-tag'

function withTag(purpose: TagPurpose, address: string, id: string): string {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  if (local.length + 1 + TAG_LENGTH > LOCAL_PART_MAX_LENGTH) return address
  return `${local}+${tagOf(purpose, id)}${address.slice(at)}`
}

function tagOf(purpose: TagPurpose, id: string): string {
  return pack(id, sign(purpose, id).subarray(0, TAG_HASH_BYTES), TAG_LENGTH)
}

function readTag(purpose: TagPurpose, address: string): string | null {
  const tag = /\+([0-9a-z]{38})@[^@]*$/i.exec(address)?.[1]
  return tag === undefined ? null : unsigned(purpose, tag)
}

function unsigned(purpose: TagPurpose, tag: string): string | null {
  const found = unpack(tag, TAG_HASH_BYTES)
  return found && verify(purpose, found.id, found.hash) ? found.id : null
}
