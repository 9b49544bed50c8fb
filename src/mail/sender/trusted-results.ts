/** Reads what a trusted relay found out about the sender (RFC 8601). */
import parse from 'mailauth/lib/parse-dkim-headers'
import { toDomain } from '../../address/domains'
import { config } from '../../config'
import type { HeaderField } from '../mime/headers'
import { type Authentication, bestOf, resultOf } from './results'

export type Judgement = { sender_verified: boolean | null; authentication: Authentication }

/** Of an Authentication-Results field. */
const MAX_FIELD = 10_000

/**
 * Reads the topmost Authentication-Results field of a message that came through a trusted relay. It counts when it has
 * the name TRUSTED_AUTHSERV_ID and one result of DMARC, for the domain of From. A failure without a policy in the field
 * says nothing.
 * @param from_domain in ASCII
 * @returns null when the field does not count
 */
export function readTrustedResults(fields: HeaderField[], from_domain: string | undefined): Judgement | null {
  const field = fields.find(({ key }) => key === 'authentication-results')?.value
  const id = config.TRUSTED_AUTHSERV_ID?.toLowerCase()
  if (!field || field.length > MAX_FIELD || !id || !from_domain) return null
  const { value: name, spf, dkim = [], dmarc, arc } = parse(`Authentication-Results: ${field}`).parsed
  // A version may follow the name.
  const is_ours = name?.split(' ')[0]?.replaceAll('"', '') === id
  // The parser keeps the last of several results.
  const has_one_result = field.match(/\bdmarc\s*=/gi)?.length === 1
  if (!is_ours || !dmarc || !has_one_result || domainOf(dmarc.header?.from) !== from_domain) return null
  const authentication = {
    spf: resultOf(spf?.value),
    dkim: bestOf(dkim.map(({ value }) => resultOf(value))),
    dmarc: resultOf(dmarc.value),
    arc: resultOf(arc?.value),
  }
  const policy = dmarc.policy?.dmarc ?? /\bp=(\w+)/i.exec(dmarc.comment ?? '')?.[1]
  return { sender_verified: verdictOf(authentication.dmarc, policy), authentication }
}

/** True for a pass, false for a failure that the owner of the domain wants to be acted on, else null. */
export function verdictOf(dmarc: string, policy: string | undefined): boolean | null {
  if (dmarc === 'pass') return true
  return dmarc === 'fail' && /^(?:quarantine|reject)$/i.test(policy ?? '') ? false : null
}

function domainOf(address: string | undefined): string | undefined {
  return address && toDomain(address.slice(address.lastIndexOf('@') + 1))
}
