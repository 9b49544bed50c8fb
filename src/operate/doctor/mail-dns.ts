/** Looks at the DNS records of the domains of mailboxes: where mail to them goes, and if answers look forged. */
import type { Connection } from '../../base/db/transact'
import { lookupFor, type RecordLookup } from '../../base/net/dns'
import { decrypt } from '../../base/secrets'
import { mayUseAddress } from '../../desk/messages/mailbox-address'
import { ask, isPublicDomain, keyIn, leadElsewhere, readDmarc } from '../../mail/domain-records/lookups'
import { dkimRecord } from '../../mail/mailboxes/dkim'
import { counted, type Finding, firstOf, warning } from './finding'

/** Domains that are looked at, in the order of their names. */
const MOST = 50
const LOOKUP_MS = 3500
type Domain = {
  domain: string
  sends: boolean
  /** Mailboxes that send and have no key to sign with. */
  unsigned: number
  keys: { organization_id: string; id: string; domain: string; selector: string; encrypted: string }[] | null
}

/** The records that a domain lacks. */
type Fault = { kind: 'MX' | 'elsewhere' | 'SPF' | 'DMARC' | 'DKIM' | 'no key' | 'unknown'; name: string }

/** Asks for MX of every domain, and for SPF, DKIM and DMARC of those that send. */
export async function checkMailDns({ sql }: Connection): Promise<Finding[]> {
  const rows = await sql<Domain[]>`
    select substring(address_key from '[^@]*$') as domain, bool_or(smtp_host is not null) as sends,
      count(*) filter (where smtp_host is not null and dkim_domain is null) as unsigned,
      json_agg(json_build_object('organization_id', organization_id, 'id', id, 'domain', dkim_domain,
        'selector', dkim_selector, 'encrypted', dkim_private_key)) filter (where dkim_domain is not null) as keys
    from mailboxes m where active and ${mayUseAddress(sql)} group by 1 order by 1 limit 1000`
  const lookup = lookupFor(LOOKUP_MS)
  const found = rows.filter(({ domain }) => isPublicDomain(domain)).slice(0, MOST)
  const faults = (await Promise.all(found.map((domain) => faultsOf(domain, lookup)))).flat()
  const namesOf = (kind: Fault['kind']) => faults.filter((fault) => fault.kind === kind).map(({ name }) => name)
  return [
    ...findingFor(
      namesOf('MX'),
      'no MX record: mail to them does not arrive',
      'Publish an MX record that names the mail server in front of the service.',
    ),
    ...findingFor(
      namesOf('elsewhere'),
      'an MX record that names another server: mail arrives only if that server relays it to this one',
      'Let the MX record name SMTP_HOSTNAME, or name the networks of the relay in SMTP_TRUSTED_RELAYS.',
    ),
    ...findingFor(
      namesOf('SPF'),
      'no SPF record: receivers may take answers for forged',
      'Publish a TXT record v=spf1 that names the servers which send for the domain.',
    ),
    ...findingFor(
      namesOf('DMARC'),
      'no DMARC record: anybody can write in their name, and large receivers doubt answers',
      'Publish a TXT record at _dmarc of the domain, such as v=DMARC1; p=none.',
    ),
    ...findingFor(
      namesOf('no key'),
      'mailboxes that send without a DKIM key: answers are not signed, unless their mail server does it',
      'Give the mailbox a key: PATCH /mailboxes/:id with dkim {"domain": …, "selector": …}, and publish the record that it shows.',
    ),
    ...findingFor(
      namesOf('DKIM'),
      'no DKIM record with the key of the mailbox: signatures of answers fail',
      'Publish the record that GET /mailboxes/:id shows as dkim.',
    ),
    ...findingFor(
      namesOf('unknown'),
      'DNS that did not answer',
      'Look at DNS_SERVERS, or at the resolver of the machine: senders of mail cannot be checked either.',
    ),
  ]
}

function findingFor(names: string[], what: string, action: string): Finding[] {
  if (names.length === 0) return []
  const unique = [...new Set(names)]
  return [
    warning(`${counted(unique.length, 'mail domain')} with ${what} (${firstOf(unique)})`, action, { names: unique }),
  ]
}

async function faultsOf({ domain, sends, unsigned, keys }: Domain, lookup: RecordLookup): Promise<Fault[]> {
  const faults: Promise<Fault[]>[] = [mxFault(domain, lookup)]
  if (sends) faults.push(spfFault(domain, lookup), dmarcFault(domain, lookup))
  if (unsigned > 0) faults.push(Promise.resolve([{ kind: 'no key', name: domain }]))
  for (const key of keys ?? []) faults.push(dkimFault(key, lookup))
  return (await Promise.all(faults)).flat()
}

async function mxFault(domain: string, lookup: RecordLookup): Promise<Fault[]> {
  const [mx, a] = await Promise.all([ask(lookup, domain, 'MX'), ask(lookup, domain, 'A')])
  if (mx === 'unknown') return [{ kind: 'unknown', name: domain }]
  // Without MX, mail goes to the address of the domain itself (RFC 5321, section 5.1).
  if (mx.length === 0) return a === 'unknown' || a.length > 0 ? [] : [{ kind: 'MX', name: domain }]
  const hosts = mx.map((record) => String(JSON.parse(record).exchange).toLowerCase())
  return (await leadElsewhere(hosts, lookup)) ? [{ kind: 'elsewhere', name: domain }] : []
}

async function dmarcFault(domain: string, lookup: RecordLookup): Promise<Fault[]> {
  return (await readDmarc(domain, lookup)) === undefined ? [{ kind: 'DMARC', name: domain }] : []
}

async function spfFault(domain: string, lookup: RecordLookup): Promise<Fault[]> {
  const texts = await ask(lookup, domain, 'TXT')
  if (texts === 'unknown' || texts.some((text) => /^v=spf1( |$)/i.test(text))) return []
  return [{ kind: 'SPF', name: domain }]
}

async function dkimFault(
  { organization_id, id, domain, selector, encrypted }: NonNullable<Domain['keys']>[number],
  lookup: RecordLookup,
): Promise<Fault[]> {
  const at = { column: 'mailboxes.dkim_private_key', organization_id, id } as const
  let record: { name: string; value: string }
  try {
    record = dkimRecord(domain, selector, decrypt(encrypted, at))
  } catch {
    // The check of the secrets says so.
    return []
  }
  const texts = await ask(lookup, record.name, 'TXT')
  if (texts === 'unknown' || texts.some((text) => keyIn(text) === keyIn(record.value))) return []
  return [{ kind: 'DKIM', name: record.name }]
}
