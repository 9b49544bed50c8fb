/** Reads from DNS what the mail of a domain depends on. */
import { config } from '../../base/config'
import type { RecordLookup } from '../../base/net/dns'

/** Domains that no public DNS knows. */
const PRIVATE = /(^|\.)(example(\.(com|net|org))?|test|invalid|localhost|local|internal|lan|home\.arpa)$/i

/** Tells if a domain can be known to public DNS. */
export function isPublicDomain(domain: string): boolean {
  return domain.includes('.') && !domain.startsWith('[') && !PRIVATE.test(domain)
}

/** True when neither the name nor an address of SMTP_HOSTNAME is among the servers, and no relay of ours is known. */
export async function leadElsewhere(hosts: string[], lookup: RecordLookup): Promise<boolean> {
  const { SMTP_HOSTNAME, SMTP_PORT, SMTP_TRUSTED_RELAYS } = config
  const own = SMTP_HOSTNAME.toLowerCase()
  // Another check looks at SMTP_HOSTNAME itself.
  if (SMTP_PORT === 0 || SMTP_TRUSTED_RELAYS.length > 0 || !isPublicDomain(own) || hosts.includes(own)) return false
  const [ours, ...theirs] = await Promise.all([own, ...hosts].map((host) => ask(lookup, host, 'A')))
  if (ours === 'unknown' || theirs.includes('unknown')) return false
  return !theirs.flat().some((address) => ours!.includes(address))
}

/**
 * Reads the policy of a domain. One without a record follows that of a domain above it (RFC 7489, section 6.6.3).
 * @returns `unknown` when DNS cannot tell now, undefined without a policy
 */
export async function readDmarc(domain: string, lookup: RecordLookup): Promise<string | undefined> {
  const labels = domain.split('.')
  const names = labels.slice(0, -1).map((_, index) => `_dmarc.${labels.slice(index).join('.')}`)
  const answers = await Promise.all(names.map((name) => ask(lookup, name, 'TXT')))
  for (const texts of answers) {
    const record = texts === 'unknown' ? texts : texts.find((text) => /^v=DMARC1\s*(;|$)/i.test(text))
    if (record) return record
  }
  return undefined
}

/** The public key in a DKIM record. */
export function keyIn(record: string): string {
  return /\bp=([^;]*)/.exec(record)?.[1]?.replace(/\s/g, '') ?? ''
}

/** The records as texts, `unknown` when DNS cannot tell now. */
export async function ask(lookup: RecordLookup, name: string, type: string): Promise<string[] | 'unknown'> {
  try {
    const records = await lookup(name, type)
    return records.map((record) => (Array.isArray(record) ? record.join('') : JSON.stringify(record)))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : 'unknown'
  }
}
