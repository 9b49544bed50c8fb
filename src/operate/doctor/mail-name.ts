/** Looks at SMTP_HOSTNAME, by which other mail servers know the service. */
import { isIP } from 'node:net'
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { lookupFor } from '../../base/net/dns'
import { ask, isPublicDomain } from '../../mail/domain-records/lookups'
import { type Finding, warning } from './finding'

const LOOKUP_MS = 3500

/** Asks DNS for SMTP_HOSTNAME, once a mailbox has an address of the internet. */
export async function checkMailName({ sql }: Connection): Promise<Finding[]> {
  const { SMTP_PORT, SMTP_HOSTNAME } = config
  if (SMTP_PORT === 0 || isIP(SMTP_HOSTNAME)) return []
  const rows = await sql<{ domain: string }[]>`
    select distinct substring(address_key from '[^@]*$') as domain from mailboxes where active limit 1000`
  if (!rows.some(({ domain }) => isPublicDomain(domain))) return []
  const action = 'Set SMTP_HOSTNAME to the name that the MX record of your mail domains names.'
  if (!isPublicDomain(SMTP_HOSTNAME)) {
    return [
      warning(
        `SMTP_HOSTNAME is ${SMTP_HOSTNAME}, which is no name of the internet: other servers cannot tell who greets them`,
        action,
      ),
    ]
  }
  const lookup = lookupFor(LOOKUP_MS)
  const addresses = await Promise.all(['A', 'AAAA'].map((type) => ask(lookup, SMTP_HOSTNAME, type)))
  if (addresses.some((found) => found === 'unknown' || found.length > 0)) return []
  return [
    warning(
      `SMTP_HOSTNAME is ${SMTP_HOSTNAME}, which DNS does not know: servers that check the name refuse or doubt it`,
      action,
    ),
  ]
}
