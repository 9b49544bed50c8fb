/** Looks for settings that fit badly: to each other, to the mailboxes, or to the number of processes. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { findUntrustedProxy } from '../../base/net/untrusted-proxy'
import { isVerified } from '../../desk/messages/mailbox-address'
import { isPublicDomain } from '../../mail/domain-records/lookups'
import { readServer } from './database-server'
import { counted, type Finding, failure, warning } from './finding'

/** Servers try again to deliver a mail for about five days, and a copy that comes later is a new mail. */
const LEAST_LEDGER_DAYS = 7
const DAY_S = 86_400

/** Looks at settings that need nothing to be compared with. */
export async function checkSettingsAlone(): Promise<Finding[]> {
  const findings = [...addressFindings(), ...retentionFindings()]
  const names = ['RATE_LIMIT_PER_MINUTE', 'SESSION_RATE_LIMIT_PER_MINUTE'] as const
  const unlimited = names.find((name) => config[name] === 0)
  if (unlimited) {
    findings.push(
      warning(
        `${unlimited} is 0: one client can use up what all share`,
        'Remove the setting, or choose a limit that your clients keep to, such as 600.',
      ),
    )
  }
  // Without a relay of your own, mail is to come from everywhere.
  if (config.SMTP_PORT > 0 && config.SMTP_TRUSTED_RELAYS.length > 0 && config.SMTP_ALLOWED_NETWORKS.length === 0) {
    findings.push(
      warning(
        'SMTP_ALLOWED_NETWORKS is not set: everybody who reaches SMTP_PORT can bring mail, around the checks of a relay',
        'Set it to the networks of your relays. If mail is to come from everywhere, set it to 0.0.0.0/0,::/0.',
      ),
    )
  }
  return [...findings, ...(await proxyFindings())]
}

function addressFindings(): Finding[] {
  const { protocol, hostname } = new URL(config.BASE_URL)
  if (protocol === 'http:' && config.TLS_CERT_FILE) {
    return [
      failure(
        `BASE_URL ${config.BASE_URL} begins with http:, but the service speaks HTTPS: its links do not open`,
        'Let BASE_URL begin with https:.',
      ),
    ]
  }
  if (protocol === 'https:' || isLocal(hostname)) return []
  return [
    warning(
      `BASE_URL ${config.BASE_URL} begins with http: links in emails, to invitations and files, can be read and changed on their way`,
      'Put a reverse proxy with TLS in front of the service, or set TLS_CERT_FILE and TLS_KEY_FILE. Then let BASE_URL begin with https:.',
    ),
  ]
}

function isLocal(hostname: string): boolean {
  return /^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

function retentionFindings(): Finding[] {
  const { LEDGER_RETENTION_DAYS, RAW_MAIL_RETENTION_DAYS, DELIVERY_RETENTION_DAYS, RETRY_SCHEDULE_SECONDS } = config
  const findings: Finding[] = []
  if (LEDGER_RETENTION_DAYS > 0 && LEDGER_RETENTION_DAYS < Math.max(LEAST_LEDGER_DAYS, RAW_MAIL_RETENTION_DAYS)) {
    findings.push(
      warning(
        `LEDGER_RETENTION_DAYS is ${LEDGER_RETENTION_DAYS}: mail that a server delivers again later is not recognized and makes a second ticket`,
        `Set it to ${Math.max(LEAST_LEDGER_DAYS, RAW_MAIL_RETENTION_DAYS)} or more.`,
      ),
    )
  }
  const schedule_s = RETRY_SCHEDULE_SECONDS.reduce((sum, delay_s) => sum + delay_s, 0)
  if (DELIVERY_RETENTION_DAYS * DAY_S < schedule_s) {
    findings.push(
      warning(
        'DELIVERY_RETENTION_DAYS is shorter than RETRY_SCHEDULE_SECONDS in all: nobody can look up why a delivery failed',
        `Set DELIVERY_RETENTION_DAYS to ${Math.ceil(schedule_s / DAY_S)} or more.`,
      ),
    )
  }
  return findings
}

async function proxyFindings(): Promise<Finding[]> {
  const proxy = await findUntrustedProxy()
  if (!proxy) return []
  return [
    warning(
      `X-Forwarded-For came from ${proxy.peer} at ${proxy.seen_at}, which TRUSTED_PROXIES does not name: if it is your ` +
        'reverse proxy, all clients behind it count as one address',
      `Add ${proxy.peer}, or its network, to TRUSTED_PROXIES. If it was a client, nothing is to be done.`,
    ),
  ]
}

/** Looks at settings that fit badly to several processes of the service. */
export async function checkProcesses(connection: Connection): Promise<Finding[]> {
  const { processes, hosts } = await readServer(connection)
  const findings: Finding[] = []
  if (processes > 1 && !config.REDIS_URL && config.RATE_LIMIT_PER_MINUTE + config.SESSION_RATE_LIMIT_PER_MINUTE > 0) {
    findings.push(
      warning(
        `${processes} processes of the service work, and REDIS_URL is not set: each counts requests for itself, so limits are ${processes} times as high`,
        'Set REDIS_URL to one Redis for all of them.',
        { processes },
      ),
    )
  }
  if (hosts > 1 && config.ATTACHMENT_STORE === 'file') {
    findings.push(
      warning(
        `Processes on ${hosts} machines work, and ATTACHMENT_STORE is file: unless DATA_DIR is one shared file system, a file that came to one cannot be read by the others`,
        'Set ATTACHMENT_STORE to a bucket, or share the folder attachments of DATA_DIR.',
        { hosts },
      ),
    )
  }
  return findings
}

type UnverifiedDomain = { organization_id: string; domain: string }

/** Domains of active mailboxes that their organization has not verified. */
export function readUnverifiedDomains({ sql }: Connection): Promise<UnverifiedDomain[]> {
  return sql<UnverifiedDomain[]>`
    select distinct organization_id, substring(address_key from '[^@]*$') as domain from mailboxes m
    where active and not ${isVerified(sql)} order by organization_id, domain limit 1000`
}

/** Looks at settings that fit badly to the mailboxes. */
export async function checkMailboxDomains(connection: Connection): Promise<Finding[]> {
  const { sql } = connection
  const [counts] = await sql<{ organizations: number; unverified: number; domains: string[] | null }[]>`
    select (select count(*) from organizations) as organizations,
      count(*) filter (where not ${isVerified(sql)}) as unverified,
      (array_agg(distinct substring(address_key from '[^@]*$')))[1:1000] as domains
    from mailboxes m where active`
  const { organizations, unverified, domains } = counts!
  const findings = verificationFindings(organizations, unverified)
  const public_domain = domains?.find(isPublicDomain)
  if (public_domain && isLocal(new URL(config.BASE_URL).hostname)) {
    findings.push(
      warning(
        `BASE_URL is ${config.BASE_URL}, and mail goes out for ${public_domain}: links in it open on no machine but this`,
        'Set BASE_URL to the public address of the service.',
      ),
    )
  }
  return findings
}

function verificationFindings(organizations: number, unverified: number): Finding[] {
  const is_on = config.MAILBOX_DOMAIN_CHECK === 'on'
  if (unverified === 0 || (!is_on && organizations < 2)) return []
  const domains = `${counted(unverified, 'active mailbox')} with a domain that is not verified`
  const verify = 'verify each domain in unverified_domains (--json): bun run cli domain allow, or a TXT record'
  if (is_on)
    return [warning(`${domains}: they neither receive nor send`, `${verify[0]!.toUpperCase()}${verify.slice(1)}.`)]
  return [
    warning(
      `MAILBOX_DOMAIN_CHECK is off, so that an organization can take a mailbox address of somebody else's domain (${domains})`,
      `If organizations do not trust each other, ${verify}. Then set MAILBOX_DOMAIN_CHECK=on.`,
    ),
  ]
}
