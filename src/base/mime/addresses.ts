/**
 * Reads address fields of a message, however badly they are written.
 *
 * nodemailer's parser, which mailparser uses too, splits the field. What it gives is repaired and checked here, because
 * it reads syntax in quoted local parts and encoded words, as postal-mime 4.0 does: "the sender in %p is read" in
 * mail-parse-headers.test.ts. letterparser 0.1 misreads the From of 27 of the 368 messages of the test corpus.
 */
import addressparser from 'nodemailer/lib/addressparser'
import { dropControls } from './controls'
import { decodeWords, dropWords, protectWords } from './encoded-words'

/** `name` is '' when there is none; `address` is never empty. */
export type Address = { name: string; address: string }

/** Recipients become participants: a list of thousands is an attack or a mistake. */
const MAX_ADDRESSES = 1000
const MAX_FIELD_LENGTH = 200_000
const MAX_NAME_LENGTH = 255

/**
 * A local part that needs quotes for its blanks (RFC 5321 section 4.1.2), such as `"a b"`. One with signs of the
 * syntax, such as `@` or a comma, is left out: a program that misreads the quotes would see another address in it.
 */
const QUOTED_LOCAL = /^"[\w!#$%&'*+/=?^`{|}~. -]{1,62}"@/

/**
 * True for text that can be a mailbox: a local part without white space or brackets unless they are in quotes, one `@`,
 * a domain, at most 254 characters. `base/address/email.ts` says how this differs from what the API accepts.
 */
export function looksLikeAddress(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s\p{Cc}\p{Cs}@<>()[\],;:"\\]+@[^\s\p{Cc}\p{Cs}@<>()[\],;:"\\]+$/u.test(
      text.replace(QUOTED_LOCAL, 'quoted@'),
    ) &&
    !/@\.|\.$/.test(text)
  )
}

/**
 * Matches whole addresses only: the end of a longer address is another mailbox, and so is the text behind a quoted
 * word.
 */
const BARE_ADDRESS = /(?<![^\s<>()[\],;:])[^\s@<>()[\],;:"\\]{1,64}@[^\s@<>()[\],;:"\\]{1,190}(?![^\s<>()[\],;:"\\])/

/**
 * Reads an address field (RFC 5322, obsolete forms and common damage). Members of groups are listed flat; entries
 * without anything like an address are left out.
 * @param value the field, encoded words not yet decoded
 */
export function parseAddresses(value: string): Address[] {
  const found = readList(protectWords(value.slice(0, MAX_FIELD_LENGTH)))
  if (found.length > 0) return found
  const bare = BARE_ADDRESS.exec(plainText(value))?.[0].replace(/\.+$/, '')
  return bare && looksLikeAddress(bare) ? [{ name: '', address: bare }] : []
}

/**
 * Gives the text in which to look for an address when the field holds none by the rules; '' when it has several `@`:
 * the last one is in front of the domain that answers for the message, but the first one may be all that a reader sees.
 * Encoded words are left out unless the address is in one of them.
 */
function plainText(value: string): string {
  const text = value.slice(0, MAX_FIELD_LENGTH)
  const outside = dropWords(text)
  const source = outside.includes('@') ? outside : decodeWords(text)
  return source.indexOf('@') === source.lastIndexOf('@') ? source : ''
}

function readList(value: string): Address[] {
  return (
    addressparser(value, { flatten: true })
      .slice(0, MAX_ADDRESSES)
      .map((entry) => ({ name: cleanName(entry.name ?? ''), address: cleanAddress(entry.address ?? '') }))
      .filter((entry) => looksLikeAddress(entry.address))
      // The library puts quotes around a local part of which only a part was quoted.
      .filter(({ address }) => !address.startsWith('"') || value.includes(address))
      .map(({ name, address }) => ({ name: name === address ? '' : withoutOthers(name, address), address }))
  )
}

/** Matches an address in a name, with brackets and quotes around it; also with signs that look like `@`. */
const ADDRESS_IN_NAME = /[<("'[]*([^\s<>()[\],;:"'@＠﹫]{1,64}[@＠﹫][^\s<>()[\],;:"'@＠﹫]{1,190})[>)"'\]]*/gu

/** Drops other addresses from a name: many programs show the name alone, and it would pass for the address. */
function withoutOthers(name: string, address: string): string {
  const kept = name.replace(ADDRESS_IN_NAME, (text, found: string) =>
    found.toLowerCase() === address.toLowerCase() ? text : ' ',
  )
  return kept === name ? name : kept.replace(/\s+/g, ' ').replace(/^[\s,;:/|-]+|[\s,;:/|-]+$/g, '')
}

/**
 * Gives the name that stands beside an address: whole characters, at most 255, and no other address; '' without one.
 */
export function displayName(given: string, address: string): string {
  const name = cleanName(given)
  return name.toLowerCase() === address.toLowerCase() ? '' : withoutOthers(name, address)
}

/** Drops control characters that show text in another order, so that it looks like another text. */
export function dropDirections(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
}

function cleanName(name: string): string {
  const bare = dropControls(dropDirections(decodeWords(name)))
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2')
    .replace(/^[<>\s]+|[<>\s]+$/g, '')
    .trim()
  return bare.slice(0, MAX_NAME_LENGTH).toWellFormed()
}

/**
 * Removes brackets, quotes, spaces and a trailing dot around an address, which are always damage. A quoted local part
 * is unquoted where it needs no quotes. One that an encoded word holds, or that is not valid in quotes, makes the
 * address unusable: without its spaces it would be another mailbox.
 */
function cleanAddress(address: string): string {
  const decoded = address.includes('=?') ? decodeWords(address) : address
  if (/"\s*@/.test(decoded)) {
    const bare = decoded.replace(/^[\s<]*"([^"]*)"\s*@/, '$1@').replace(/[\s>.]+$/, '')
    return looksLikeAddress(bare) || decoded !== address ? bare : decoded.replace(/^[\s<]+|[\s>.]+$/g, '')
  }
  // A quote or bracket that never ends brings the name along.
  const bare = decoded.includes('@') ? decoded.slice(decoded.lastIndexOf('<', decoded.lastIndexOf('@')) + 1) : decoded
  return bare.replace(/[<>"]|^<?mailto:/gi, '').replace(/^[\s,;:']+|[\s,;:'.]+$/g, '')
}
