/** What counts as an email address, and the two ways to write an international domain. Pure. */
import { domainToUnicode } from 'node:url'
import { codePoints } from '../shapes/characters'
import { toDomain } from './domains'

const MAX_LENGTH = 254
const MAX_LOCAL_BYTES = 64
/** A dot-atom of RFC 5321, with the letters of RFC 6531; quoted forms are left to museums. */
const LOCAL = /^[\w!#$%&'*+/=?^`{|}~\u{a1}-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u{a1}-\u{10ffff}-]+)*$/u
const INVISIBLE = /[\s\p{C}]/u

/** True for `local@domain` as RFC 5321 and 6531 have it, the domain with a dot; domain literals are refused. */
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

/** The address with an international domain as Punycode, which servers and headers have. */
export function asciiAddress(address: string): string {
  return withDomain(address, (domain) => domain)
}

/** The address with an international domain as people write it. */
export function unicodeAddress(address: string): string {
  return withDomain(address, domainToUnicode)
}

/** What is equal for two addresses that are one: the case does not count, nor how an international domain is written. */
export function addressKey(address: string): string {
  return asciiAddress(address).toLowerCase()
}

/** @param write the domain, of which it gets Punycode; what is no domain stays as it is */
function withDomain(address: string, write: (domain: string) => string): string {
  const start = address.lastIndexOf('@') + 1
  const domain = toDomain(address.slice(start))
  return domain === undefined ? address : address.slice(0, start) + write(domain)
}
