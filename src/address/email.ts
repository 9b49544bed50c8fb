/**
 * Email addresses: which ones are valid, and the two ways to write an international domain. Pure.
 *
 * Three functions say what a valid address is, because they ask for different things:
 * - `isEmailAddress` (here) is strict: what the API accepts must be a mailbox that the internet can reach.
 * - `looksLikeAddress` (mail/mime/addresses.ts) is wide: a mail that has arrived has a sender, even if its address breaks
 *   a rule, such as a local part that begins with a dot.
 * - `isAddress` (mail/outbound/header-values.ts) asks whether an address is safe to send to: it must not be read as two
 *   addresses or as a name in an envelope or a header. It lets the addresses through that mail came from.
 */
import { domainToUnicode } from 'node:url'
import { codePoints } from '../shapes/characters'
import { toDomain } from './domains'

const MAX_LENGTH = 254
const MAX_LOCAL_BYTES = 64
/** A dot-atom of RFC 5321, with the letters of RFC 6531. Quoted local parts are refused: hardly any server has them. */
const LOCAL = /^[\w!#$%&'*+/=?^`{|}~\u{a1}-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u{a1}-\u{10ffff}-]+)*$/u
const INVISIBLE = /[\s\p{C}]/u

/** True for `local@domain` as RFC 5321 and 6531 define it, the domain with a dot. Domain literals are refused. */
export function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  return (
    at > 0 &&
    text.length <= MAX_LENGTH * 2 &&
    codePoints(text) <= MAX_LENGTH &&
    Buffer.byteLength(local) <= MAX_LOCAL_BYTES &&
    LOCAL.test(local) &&
    !INVISIBLE.test(local) &&
    toDomain(text.slice(at + 1)) !== undefined
  )
}

/** The address with an international domain as Punycode, as servers and headers write it. */
export function asciiAddress(address: string): string {
  return withDomain(address, (domain) => domain)
}

/** The address with an international domain as people write it. */
export function unicodeAddress(address: string): string {
  return withDomain(address, domainToUnicode)
}

/** A key that is equal for two ways to write one address: case does not count, nor the form of an international domain. */
export function addressKey(address: string): string {
  return asciiAddress(address).toLowerCase()
}

/** @param write gets the domain as Punycode; an address without a valid domain stays as it is */
function withDomain(address: string, write: (domain: string) => string): string {
  const start = address.lastIndexOf('@') + 1
  const domain = toDomain(address.slice(start))
  return domain === undefined ? address : address.slice(0, start) + write(domain)
}
