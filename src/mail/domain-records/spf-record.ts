/** Says which SPF record lets the servers of mailboxes send for a domain (RFC 7208). */
import { isIP, isIPv6 } from 'node:net'
import { config } from '../../base/config'
import type { RecordLookup } from '../../base/net/dns'
import { isLoopback } from '../smtp/clients'
import type { MailRecord } from './checked'
import { ask } from './lookups'
import type { MailDomain } from './mail-domains'

/** Includes that providers tell their customers to write: their servers send from others than they listen at. */
const PROVIDERS: [host: RegExp, mechanism: string][] = [
  [/(^|\.)(gmail|google|googlemail)\.com$/i, 'include:_spf.google.com'],
  [/(^|\.)(office365|outlook)\.com$/i, 'include:spf.protection.outlook.com'],
  [/(^|\.)amazonaws\.com$/i, 'include:amazonses.com'],
  [/(^|\.)sendgrid\.net$/i, 'include:sendgrid.net'],
  [/(^|\.)mailgun\.org$/i, 'include:mailgun.org'],
  [/(^|\.)postmarkapp\.com$/i, 'include:spf.mtasv.net'],
]

/** @returns the record with all servers of the domain's mailboxes: the present one, with what it lacks */
export async function spfRecord({ domain, servers: hosts }: MailDomain, lookup: RecordLookup): Promise<MailRecord> {
  // A mail server on this machine sends from its address.
  const servers = hosts.map((host) => (host === 'localhost' || isLoopback(host) ? config.SMTP_HOSTNAME : host))
  const asked = { name: domain, type: 'TXT', purpose: 'SPF' } as const
  const wanted = (hosts: string[]) => `v=spf1 ${[...new Set(hosts.map(mechanismOf))].join(' ')} ~all`
  const texts = await ask(lookup, domain, 'TXT')
  if (texts === 'unknown') {
    return { ...asked, found: null, value: wanted(servers), state: 'unknown', note: 'DNS does not answer' }
  }
  const found = texts.filter((text) => /^v=spf1( |$)/i.test(text))
  const record = { ...asked, found }
  const [present, second] = found
  if (present === undefined) {
    return { ...record, value: wanted(servers), state: 'missing', note: 'receivers may take answers for forged' }
  }
  if (second !== undefined) {
    return {
      ...record,
      value: present,
      state: 'differs',
      note: 'there are several SPF records, so none counts: keep one',
    }
  }
  const verdicts = await Promise.all(servers.map((host) => lets(present, domain, host, lookup)))
  const lacking = servers.filter((_, at) => verdicts[at] === 'no')
  if (lacking.length > 0) {
    return {
      ...record,
      value: withMore(present, lacking),
      state: 'differs',
      note: `it does not let ${lacking.join(', ')} send`,
    }
  }
  const is_known = !verdicts.includes('unknown')
  return {
    ...record,
    value: present,
    state: is_known ? 'ok' : 'unknown',
    note: is_known ? `it lets ${servers.join(', ')} send` : 'DNS does not answer for what it refers to',
  }
}

function mechanismOf(host: string): string {
  if (isIP(host)) return `${isIPv6(host) ? 'ip6' : 'ip4'}:${host}`
  return PROVIDERS.find(([pattern]) => pattern.test(host))?.[1] ?? `a:${host.toLowerCase()}`
}

/** The order counts: the first mechanism that fits decides, so what is added comes before `all` and `redirect`. */
function withMore(present: string, hosts: string[]): string {
  const more = [...new Set(hosts.map(mechanismOf))].join(' ')
  const end = /\s+(?:[-~?+]?all|redirect=\S+)\s*$/i.exec(present)
  return end ? `${present.slice(0, end.index)} ${more}${end[0]}` : `${present} ${more} ~all`
}

/** Tells if a record lets a server send: it names it, or passes all of its addresses. */
async function lets(
  present: string,
  domain: string,
  host: string,
  lookup: RecordLookup,
): Promise<'yes' | 'no' | 'unknown'> {
  const words = present.toLowerCase().split(/\s+/)
  if (words.some((word) => word.replace(/^\+/, '') === mechanismOf(host).toLowerCase())) return 'yes'
  const found = isIP(host)
    ? [JSON.stringify(host)]
    : await Promise.all(['A', 'AAAA'].map((type) => ask(lookup, host, type)))
  if (found.includes('unknown')) return 'unknown'
  const addresses = found.flat().map((address) => String(JSON.parse(address)))
  const { spf } = await import('mailauth/lib/spf')
  const results = await Promise.all(
    addresses.map((ip) =>
      spf({ ip, helo: host, sender: `postmaster@${domain}`, mta: config.SMTP_HOSTNAME, resolver: lookup }),
    ),
  )
  const said = results.map(({ status }) => status.result)
  if (said.includes('temperror')) return 'unknown'
  return said.length > 0 && said.every((result) => result === 'pass') ? 'yes' : 'no'
}
