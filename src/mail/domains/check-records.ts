/**
 * Compares the DNS records of an organization's domain with what its mailboxes need, as `cli doctor --records` does.
 * DNS is asked only for a domain that is proven to be the organization's, and never tells which addresses names of
 * networks inside have: whoever chooses the names could learn them from what fits.
 */
import { isAllowedAddress } from '../../base/net/destination'
import { lookupFor, type RecordLookup } from '../../base/net/dns'
import type { Scope } from '../../base/scope'
import type { MailRecord } from '../domain-records/checked'
import { readMailDomains } from '../domain-records/mail-domains'
import { recordsOf } from '../domain-records/records-of-domain'
import { getDomain } from './queries'

const LOOKUP_MS = 8000

/** @returns the records in the order in which they are usually set up @throws DOMAIN_NOT_FOUND */
export async function checkRecords(scope: Scope, id: string): Promise<MailRecord[]> {
  const { sql, organization_id } = scope
  const { domain, status } = await getDomain(scope, id)
  const own = sql`m.organization_id = ${organization_id} and substring(m.address_key from '[^@]*$') = ${domain}`
  const [found] = await readMailDomains(scope, own)
  const { keys = [], ...mailboxes } = found ?? { domain, organizations: [], servers: [], unsigned: 0 }
  // A mailbox may sign for any domain.
  const aligned = keys.filter((key) => domain === key.domain || domain.endsWith(`.${key.domain}`))
  const records = await recordsOf({ ...mailboxes, keys: aligned }, status === 'verified' ? publicLookup() : askNobody)
  if (status === 'verified') return records
  return records.map((record) => ({ ...record, state: 'left', note: 'verify the domain first' }))
}

/** Looks up as for inbound mail, without addresses that are not public. */
function publicLookup(): RecordLookup {
  const lookup = lookupFor(LOOKUP_MS)
  return async (name, type) => {
    const records = await lookup(name, type)
    if (type !== 'A' && type !== 'AAAA') return records
    return (records as string[]).filter((address) => isAllowedAddress(address, [], () => []))
  }
}

const askNobody: RecordLookup = () => Promise.reject(new Error('not asked'))
