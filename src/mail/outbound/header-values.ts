/**
 * Writes the values of header fields: subject, names, addresses and ids. Header injection is impossible by
 * construction: addresses, ids and media types are checked, and control characters are gone from every text that
 * becomes part of a header.
 */
import { encodeWord } from 'nodemailer/lib/mime-funcs'

export type MailAddress = { name?: string | null; address: string }

/** A longer id cannot be folded into lines of 998 bytes (RFC 5322 section 2.1.1). */
const ID_MAX_LENGTH = 900
/** A longer word cannot be folded into lines of 78 characters, which RFC 5322 asks for. */
const WORD_MAX_LENGTH = 60
/** Text of an encoded word, without charset and encoding; RFC 2047 allows 75 with them. */
const ENCODED_WORD_LENGTH = 52

/**
 * Writes the subject of a message: exactly one prefix and one `[CODE]`. Every `Re:` among the leading prefixes goes, in
 * any case; other prefixes (`Fwd:`, `AW:`, `[External]`) stay.
 */
export function ticketSubject(subject: string, code: string, answers: 'Re: ' | ''): string {
  const tag = `[${code}]`
  let rest = oneLine(subject)
    .split(new RegExp(tag.replace(/\W/g, '\\$&'), 'i'))
    .join(' ')
  let kept = ''
  for (;;) {
    const [prefix] = /^\s*(\[[^\]]*\]|\p{L}{1,20}\s?(\[\d+\]|\(\d+\))?\s?[:：])/u.exec(rest) ?? []
    if (prefix === undefined) break
    rest = rest.slice(prefix.length)
    if (!/^\s*re\b/i.test(prefix)) kept += prefix
  }
  return answers + oneLine(`${kept}${rest} ${tag}`)
}

/**
 * A local part that needs quotes for its blanks (RFC 5321 section 4.1.2). Signs of the syntax are refused in it, too.
 */
const QUOTED_LOCAL = /^"[\w!#$%&'*+/=?^`{|}~. -]{1,62}"@/

/**
 * True for a text that can stand as an address in an envelope and a header without being read as anything else.
 * `base/address/email.ts` says how this differs from what the API accepts.
 */
export function isAddress(text: string): boolean {
  if (text.length > 254) return false
  const unquoted = text.replace(QUOTED_LOCAL, 'quoted@')
  return /^[^\s\p{C}<>()[\]\\,;:"@]+@[^\s\p{C}<>()[\]\\,;:"@.]+(\.[^\s\p{C}<>()[\]\\,;:"@.]+)*$/u.test(unquoted)
}

/** True for an id that can stand in a header. Without angle brackets. */
export function isMessageId(id: string | null | undefined): id is string {
  return typeof id === 'string' && id.length <= ID_MAX_LENGTH && /^[!-;=?-~]+$/.test(id)
}

/** True for a local part that is not ASCII. The domain needs nothing, because it goes as Punycode. */
export function needsUtf8(address: string): boolean {
  return !/^[\0-\x7f]*$/.test(address.slice(0, address.lastIndexOf('@')))
}

/** Writes an address as the library takes it. */
export function headerAddress({ name, address }: MailAddress) {
  return { name: label(name ?? ''), address }
}

/**
 * Writes the addresses of a field. An ASCII header leaves out addresses that are not ASCII (RFC 6532), so that its
 * readers do not see these recipients.
 */
export function headerAddresses(addresses: MailAddress[], charset: 'ascii' | 'utf-8') {
  return addresses
    .filter(({ address }) => isAddress(address) && (charset === 'utf-8' || !needsUtf8(address)))
    .map(headerAddress)
}

/** Writes the name of a person or a file. Nothing in it may look encoded, because readers would decode that. */
function label(name: string): string {
  return oneLine(name).replaceAll('=?', '= ?')
}

/** Writes the name of a file. The library sends `*` without quotes, at which Python's parser stops. */
export function fileName(name: string): string {
  return label(name).replaceAll('*', '_') || 'attachment'
}

/** Writes a text of a header: encoded (RFC 2047) when it is not ASCII, cannot be folded or looks encoded. */
export function encodedText(text: string): string {
  const is_plain = /^[ -~]*$/.test(text) && !text.includes('=?')
  if (is_plain && text.split(' ').every((word) => word.length <= WORD_MAX_LENGTH)) return text
  const ascii = text.replace(/[^ -~]+/g, '').length
  return encodeWord(text, ascii * 2 > text.length ? 'Q' : 'B', ENCODED_WORD_LENGTH)
}

/** Drops control characters and lone surrogates, which have no place in a header, and leaves single spaces. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ').trim()
}
