/** Reads what a trusted relay found out about the sender (RFC 8601). */
import { toDomain } from '../../base/address/domains'
import { config } from '../../base/config'
import type { HeaderField } from '../../base/mime/headers'
import { parseAuthenticationResults } from './authentication-results'
import { type Authentication, bestOf, resultOf } from './results'

export type Judgement = { sender_verified: boolean | null; authentication: Authentication }

/** `spf_domain`: of the envelope sender, when SPF is a pass. */
type TrustedResults = { judgement: Judgement; spf_domain: string | undefined }

/** The most of an Authentication-Results field. */
const MAX_FIELD = 10_000

/**
 * Reads the topmost Authentication-Results field of a message that came through a trusted relay. It counts when it has
 * the name TRUSTED_AUTHSERV_ID and one result of DMARC, for the domain of From. A failure without a policy in the field
 * says nothing.
 * @param from_domain in ASCII
 * @returns null when the field does not count
 */
export function readTrustedResults(fields: HeaderField[], from_domain: string | undefined): TrustedResults | null {
  const field = fields.find(({ key }) => key === 'authentication-results')?.value
  const id = config.TRUSTED_AUTHSERV_ID?.toLowerCase()
  if (!field || field.length > MAX_FIELD || !id || !from_domain) return null
  const parsed = parseAuthenticationResults(field)
  if (parsed?.authserv_id !== id) return null
  const of = (wanted: string) => parsed.results.filter(({ method }) => method === wanted)
  const [dmarc, another] = of('dmarc')
  if (!dmarc || another || domainOf(dmarc.properties.get('header.from')) !== from_domain) return null
  const best = (method: string) => bestOf(of(method).map(({ result }) => resultOf(result)))
  const authentication = { spf: best('spf'), dkim: best('dkim'), dmarc: best('dmarc'), arc: best('arc') }
  const policy = dmarc.properties.get('policy.dmarc') ?? /\bp(?:olicy)?=(\w+)/i.exec(dmarc.comments.join(' '))?.[1]
  const sent = of('spf').find(({ result }) => resultOf(result) === 'pass')
  return {
    judgement: { sender_verified: verdictOf(authentication.dmarc, policy), authentication },
    spf_domain: domainOf(sent?.properties.get('smtp.mailfrom')),
  }
}

/** True for a pass, false for a failure that the owner of the domain wants to be acted on, else null. */
export function verdictOf(dmarc: string, policy: string | undefined): boolean | null {
  if (dmarc === 'pass') return true
  return dmarc === 'fail' && /^(?:quarantine|reject)$/i.test(policy ?? '') ? false : null
}

function domainOf(address: string | undefined): string | undefined {
  return address && toDomain(address.slice(address.lastIndexOf('@') + 1))
}
