/** Counts and logs what the SMTP listener refuses: one line each, as long as a client is not refused too often. */

import { isInNetworks } from '../../base/address/networks'
import { config } from '../../base/config'
import { log } from '../../base/log'
import { countRefusal } from '../../base/metrics/smtp-refusals'
import { loggedAddress, subscriberOf } from '../../base/net/client-address'
import { isLoopback } from '../smtp/clients'
import { explainReason, type SmtpRefusalNote } from '../smtp/refusals'
import { Flood, type FloodSum } from './flood'
import { domainOf } from './own-domains'

const WINDOW_MS = 60_000

const flood = new Flood({ window_ms: WINDOW_MS, most_of_source: 30, most_in_all: 300, most_sums: 100 }, logSum)

/** Counts a refusal and logs it. Addresses of people are not in it: of a recipient, only a domain of ours. */
export function noteRefusal(note: SmtpRefusalNote): void {
  countRefusal(note)
  const { level, text } = explainReason(note)
  if (level === 'debug' && !log.isLevelEnabled('debug')) return
  const { has_message: _, recipient_domain, ...rest } = note
  const domain = recipient_domain === undefined ? undefined : domainOf(recipient_domain)
  const { code, reason, remote_address } = note
  // A relay brings the mail of many: what it is refused is limited like that of all clients together.
  const is_relay = isLoopback(remote_address) || isInNetworks(remote_address, config.SMTP_TRUSTED_RELAYS)
  const limit = is_relay ? 'in all' : 'of the source'
  const words = [`${code} ${reason}`, ...(domain ? [`to ${domain}`] : [])]
  if (!flood.admits(subscriberOf(remote_address), words, limit)) return
  // HELO often has the address.
  const client =
    config.LOG_CLIENT_ADDRESS === 'full' ? {} : { remote_address: loggedAddress(remote_address), helo: null }
  const line = { ...rest, ...client, recipient_domain: domain, because: text }
  log[level](line, 'smtp refusal')
}

/** Logs the sums of refusals that were not logged one by one, before the process ends. */
export function endRefusals(): void {
  flood.end()
}

function logSum({ source, count, counts }: FloodSum): void {
  log.warn(
    { remote_address: source && loggedAddress(source), count, counts, seconds: WINDOW_MS / 1000 },
    'smtp refusals of a minute',
  )
}
