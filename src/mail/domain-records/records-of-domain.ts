/** Says which DNS records a domain of mailboxes needs, and compares them with those that are there. */
import { isIP } from 'node:net'
import { config } from '../../base/config'
import type { RecordLookup } from '../../base/net/dns'
import { decrypt } from '../../base/secrets'
import { dkimRecord } from '../mailboxes/dkim'
import type { MailRecord } from './checked'
import { ask, keyIn, leadElsewhere, readDmarc } from './lookups'
import type { MailDomain } from './mail-domains'
import { spfRecord } from './spf-record'

/** @returns the records in the order in which they are usually set up */
export async function recordsOf(domain: MailDomain, lookup: RecordLookup): Promise<MailRecord[]> {
  const records = [mxRecord(domain, lookup)]
  if (domain.servers.length > 0) {
    records.push(
      spfRecord(domain, lookup),
      ...domain.keys.map((key) => dkimOf(key, lookup)),
      dmarcRecord(domain, lookup),
    )
  }
  return Promise.all(records)
}

async function mxRecord({ domain }: MailDomain, lookup: RecordLookup): Promise<MailRecord> {
  const own = config.SMTP_HOSTNAME
  const own_record = { name: domain, type: 'MX', value: `10 ${own}.`, purpose: 'MX', found: null } as const
  if (config.SMTP_PORT === 0) {
    return {
      ...own_record,
      value: null,
      state: 'left',
      note: 'SMTP_PORT is 0: it names the server that brings the mail',
    }
  }
  const found = await ask(lookup, domain, 'MX')
  if (found === 'unknown') return { ...own_record, state: 'unknown', note: 'DNS does not answer' }
  const hosts = found.map((one) => String(JSON.parse(one).exchange).toLowerCase())
  const record = { ...own_record, found: hosts }
  if (hosts.length === 0) {
    return { ...record, state: 'missing', note: 'mail goes to the address of the domain itself, or nowhere' }
  }
  const there = `mail goes to ${hosts.join(', ')}`
  if (hosts.includes(own.toLowerCase())) return { ...record, state: 'ok', note: there }
  if (config.SMTP_TRUSTED_RELAYS.length > 0) {
    return { ...record, value: null, state: 'left', note: `${there}: right, if it is of SMTP_TRUSTED_RELAYS` }
  }
  if (isIP(own)) return { ...record, value: null, state: 'left', note: `${there}; SMTP_HOSTNAME is no name to compare` }
  return (await leadElsewhere(hosts, lookup))
    ? { ...record, state: 'differs', note: `${there}, which must relay it here` }
    : { ...record, state: 'ok', note: `${there}, which has an address of ${own}` }
}

async function dkimOf(key: MailDomain['keys'][number], lookup: RecordLookup): Promise<MailRecord> {
  const at = { column: 'mailboxes.dkim_private_key', organization_id: key.organization_id, id: key.id } as const
  const name = `${key.selector}._domainkey.${key.domain}`
  const record = { name, type: 'TXT', purpose: 'DKIM', found: null } as const
  let value: string
  try {
    value = dkimRecord(key.domain, key.selector, decrypt(key.encrypted, at)).value
  } catch {
    return { ...record, value: null, state: 'unknown', note: 'no secret key here opens the key of the mailbox' }
  }
  const texts = await ask(lookup, name, 'TXT')
  if (texts === 'unknown') return { ...record, value, state: 'unknown', note: 'DNS does not answer' }
  if (texts.some((text) => keyIn(text) === keyIn(value))) {
    return { ...record, found: texts, value, state: 'ok', note: 'the key of the mailbox' }
  }
  const state = texts.length > 0 ? 'differs' : 'missing'
  const note = texts.length > 0 ? 'another key is there: signatures of answers fail' : 'signatures of answers fail'
  return { ...record, found: texts, value, state, note }
}

async function dmarcRecord({ domain }: MailDomain, lookup: RecordLookup): Promise<MailRecord> {
  // Without an address for reports: at a domain whose mail comes here they would be refused, or become tickets.
  const wanted = { name: `_dmarc.${domain}`, type: 'TXT', value: 'v=DMARC1; p=none', purpose: 'DMARC' } as const
  const found = await readDmarc(domain, lookup)
  if (found === 'unknown') return { ...wanted, found: null, state: 'unknown', note: 'DNS does not answer' }
  const record = { ...wanted, found: found ? [found] : [] }
  if (found) return { ...record, value: found, state: 'ok', note: 'the policy of the domain or of one above it' }
  return { ...record, state: 'missing', note: 'everybody can write in the name of the domain' }
}
