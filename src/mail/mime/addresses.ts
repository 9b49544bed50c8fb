/** Address fields of a message, however badly they are written. */
import addressparser from 'nodemailer/lib/addressparser'
import { storable } from '../../search/fold'
import { decodeWords, dropWords, protectWords } from './words'

/** `name` is '' when there is none; `address` is never empty. */
export type Address = { name: string; address: string }

/** Contacts are made of recipients: a list of thousands is an attack or a mistake. */
const MAX_ADDRESSES = 1000
const MAX_FIELD_LENGTH = 200_000
const MAX_NAME_LENGTH = 255

/** True for what can be a mailbox: one `@`, a local part, a domain, no white space or brackets, at most 254 characters. */
export function looksLikeAddress(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s\p{Cc}\p{Cs}@<>()[\],;:"\\]+@[^\s\p{Cc}\p{Cs}@<>()[\],;:"\\]+$/u.test(text) &&
    !/@\.|\.$/.test(text)
  )
}

/** A whole one: what a longer one ends with is another mailbox, and so is what follows a quoted word. */
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
 * Where to look for an address in a field that holds none by the rules. Of several `@` the last would tell the domain
 * that answers for the message, the first what somebody wants us to see; and encoded words are text, unless all is one.
 */
function plainText(value: string): string {
  const text = value.slice(0, MAX_FIELD_LENGTH)
  const outside = dropWords(text)
  const source = outside.includes('@') ? outside : decodeWords(text)
  return source.indexOf('@') === source.lastIndexOf('@') ? source : ''
}

function readList(value: string): Address[] {
  return addressparser(value, { flatten: true })
    .slice(0, MAX_ADDRESSES)
    .map((entry) => ({ name: cleanName(entry.name ?? ''), address: cleanAddress(entry.address ?? '') }))
    .filter((entry) => looksLikeAddress(entry.address))
    .map((entry) => (entry.name === entry.address ? { ...entry, name: '' } : entry))
}

/** Control characters that make text read in another order than it has, so that one name looks like another. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g

function cleanName(name: string): string {
  const bare = decodeWords(name)
    .replace(DIRECTIONS, '')
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2')
    .replace(/^[<>\s]+|[<>\s]+$/g, '')
    .trim()
  return storable(bare, MAX_NAME_LENGTH)
}

/**
 * Brackets, quotes, spaces and a trailing dot around an address are damage, never meaning. A quoted local part stands
 * for the same without quotes; where that is none, nobody can be answered there, as without its spaces it is another.
 */
function cleanAddress(address: string): string {
  const decoded = address.includes('=?') ? decodeWords(address) : address
  if (/"\s*@/.test(decoded)) return decoded.replace(/^[\s<]*"([^"]*)"\s*@/, '$1@').replace(/[\s>.]+$/, '')
  // With a quote or bracket that never ends the name comes along.
  const bare = decoded.includes('@') ? decoded.slice(decoded.lastIndexOf('<', decoded.lastIndexOf('@')) + 1) : decoded
  return bare.replace(/[<>"]|^<?mailto:/gi, '').replace(/^[\s,;:']+|[\s,;:'.]+$/g, '')
}
