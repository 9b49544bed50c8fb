/**
 * Email addresses: which ones are valid, and which of them are the same. Pure.
 *
 * Three functions say what a valid address is, because they ask for different things:
 * - `isEmailAddress` (here) is strict: what the API accepts must be a mailbox that the internet can reach.
 * - `looksLikeAddress` (base/mime/addresses.ts) is wide: a mail that has arrived has a sender, even if its address
 *   breaks
 *   a rule, such as a local part that begins with a dot.
 * - `isAddress` (mail/outbound/header-values.ts) asks whether an address is safe to send to: it must not be read as two
 *   addresses or as a name in an envelope or a header. It lets the addresses through that mail came from.
 */
import { codePoints } from './characters'
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

/**
 * The key of an address: two addresses are the same when their keys are equal, and only then. It is the address with
 * its domain as Punycode (UTS 46) and the letters A to Z in lower case. Other letters of the local part stay as they
 * are: PostgreSQL and JavaScript disagree about the lower case of some (`İ`), and others fall to ASCII letters (the
 * Kelvin sign to `k`), which would make one address of two. Every table that is searched by address stores the key, and
 * no statement computes one.
 */
export function addressKey(address: string): string {
  const start = address.lastIndexOf('@') + 1
  const domain = toDomain(address.slice(start)) ?? address.slice(start)
  return (address.slice(0, start) + domain).replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** The key of an address without its `+tag`: that of the mailbox it goes to, because no mailbox's address has a tag. */
export function mailboxKey(address: string): string {
  return addressKey(address.trim()).replace(/\+[^@]*@/, '@')
}

/** Stands where a text or a name of a person was who is erased. */
export const ERASED = '[erased]'

/** Stands where the address of such a person was (RFC 2606): nothing is ever sent there. */
export const ERASED_EMAIL = 'erased@erased.invalid'
