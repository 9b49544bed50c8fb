/** The operator's SMTP server for letters, as SYSTEM_SMTP_URL names it. */
import { BlockList } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Network } from '../../base/address/networks'
import { config } from '../../base/config'
import type { MailAddress } from '../outbound/header-values'
import type { MailboxSmtp } from '../outbound/settings'

/** The operator chose the server, so it may be in any network. */
export const ANY_NETWORK: Network[] = [ipaddr.parseCIDR('0.0.0.0/0'), ipaddr.parseCIDR('::/0')]

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Reads server and sender of letters; undefined when the operator has set none. */
export function operatorServer(): { smtp: MailboxSmtp; from: MailAddress } | undefined {
  const { SYSTEM_SMTP_URL, SYSTEM_MAIL_FROM } = config
  if (!SYSTEM_SMTP_URL || !SYSTEM_MAIL_FROM) return undefined
  const url = new URL(SYSTEM_SMTP_URL)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const security = securityOf(url, host)
  const port = Number(url.port) || (security === 'tls' ? 465 : security === 'starttls' ? 587 : 25)
  const username = decodeURIComponent(url.username) || null
  const password = decodeURIComponent(url.password) || null
  return { smtp: { host, port, security, username, password }, from: SYSTEM_MAIL_FROM }
}

function securityOf({ protocol, searchParams }: URL, host: string): MailboxSmtp['security'] {
  if (protocol === 'smtps:') return 'tls'
  return searchParams.get('security') === 'none' || isLoopback(host) ? 'none' : 'starttls'
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || LOOPBACK.check(host, host.includes(':') ? 'ipv6' : 'ipv4')
}
