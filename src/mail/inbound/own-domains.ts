/** Tells whether a domain is one of ours, and whose: the domain of a stranger may name a person. */
import { toDomain } from '../../base/address/domains'
import { onDatabaseClosed } from '../../base/db/closing'
import type { Connection } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import { listMailDomains } from '../mailboxes/queries'

/** Senders that guess addresses must not cost a statement each. */
const KEPT_MS = 30_000

let known: Promise<Map<string, string | null>> | undefined
let read_at = Number.NEGATIVE_INFINITY
onDatabaseClosed(() => {
  known = undefined
})

/**
 * The domain of an address as Punycode in lower case, when an organization has a mailbox there or listed it; else null.
 */
export async function ownDomainOf(connection: Connection, address: string): Promise<string | null> {
  const domain = domainOf(address)
  return domain !== null && (await ownDomains(connection)).has(domain) ? domain : null
}

/** The organization that has all mailboxes at a domain; null when there is none, or several have some. */
export async function ownerOfDomain(connection: Connection, domain: string): Promise<string | null> {
  return (await ownDomains(connection)).get(domain) ?? null
}

/** The domain of an address as Punycode in lower case; null when it is no domain. */
export function domainOf(address: string): string | null {
  return toDomain(address.slice(address.lastIndexOf('@') + 1)) ?? null
}

function ownDomains(connection: Connection): Promise<Map<string, string | null>> {
  if (known === undefined || performance.now() - read_at > KEPT_MS) {
    read_at = performance.now()
    known = listMailDomains(connection).catch((error) => {
      log.debug({ error: safeError(error) }, 'the domains of mailboxes cannot be read')
      read_at = Number.NEGATIVE_INFINITY
      return new Map()
    })
  }
  return known
}
