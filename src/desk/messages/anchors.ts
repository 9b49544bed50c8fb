/**
 * Issues and reads the anchors of this service: its Message-IDs and the `+tag` of its reply addresses. Both carry a
 * keyed hash, so that a forged one is recognized and counts as absent.
 */
import { sign, verify } from '../../base/secrets'
import { isUuid } from '../../base/shapes/ids'

const ID_HASH_BYTES = 12

/** Makes the Message-ID of a message, without angle brackets. @param domain of the mailbox that sends it */
export function newMessageId(message_id: string, domain: string): string {
  const hash = sign('message-id', message_id).subarray(0, ID_HASH_BYTES).toString('hex')
  return `${message_id}.${hash}@${domain}`
}

/** Reads the id of the message from our Message-ID; null for one that is forged or not ours. */
export function readMessageId(email_message_id: string): string | null {
  const found = /^([0-9a-f-]{36})\.([0-9a-f]{24})@/i.exec(email_message_id)
  const message_id = found?.[1]?.toLowerCase() ?? ''
  if (!isUuid(message_id)) return null
  return verify('message-id', message_id, Buffer.from(found![2]!, 'hex')) ? message_id : null
}

const TAG_HASH_BYTES = 8
/** 24 bytes (id and hash) in base 36: relays may change the case of an address. */
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

type TagPurpose = 'reply-tag' | 'bounce-tag'

function withTag(purpose: TagPurpose, address: string, id: string): string {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  if (local.length + 1 + TAG_LENGTH > LOCAL_PART_MAX_LENGTH) return address
  const hash = sign(purpose, id).subarray(0, TAG_HASH_BYTES).toString('hex')
  const tag = BigInt(`0x${id.replaceAll('-', '')}${hash}`)
    .toString(36)
    .padStart(TAG_LENGTH, '0')
  return `${local}+${tag}${address.slice(at)}`
}

function readTag(purpose: TagPurpose, address: string): string | null {
  const tag = /\+([0-9a-z]{38})@[^@]*$/i.exec(address)?.[1]?.toLowerCase()
  if (!tag) return null
  const value = [...tag].reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n)
  const hex = value.toString(16).padStart(48, '0')
  if (hex.length !== 48) return null
  const id = hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return verify(purpose, id, Buffer.from(hex.slice(32), 'hex')) ? id : null
}
