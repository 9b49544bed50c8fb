/**
 * Finds an own mail server that the settings do not name: SPF is then judged by its address, and fails for all mail.
 */
import ipaddr from 'ipaddr.js'
import { isInNetworks } from '../../base/address/networks'
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { type Finding, warning } from './finding'

/** Messages that are looked at, the newest ones. */
const MOST = 50
/** Fewer messages raise no doubt. */
const LEAST = 10

/** Warns when all recent mail came from addresses that nobody on the internet has. */
export async function checkRelays({ sql }: Connection): Promise<Finding[]> {
  // The condition on the key lets an index be used that is ordered by id.
  const rows = await sql<{ remote_address: string | null }[]>`
    select remote_address from inbound_messages where storage_key is not null order by id desc limit ${MOST}`
  const addresses = rows.flatMap(({ remote_address }) => remote_address ?? [])
  const own = addresses.filter(
    (address) =>
      ipaddr.isValid(address) &&
      ipaddr.process(address).range() !== 'unicast' &&
      !isInNetworks(address, config.SMTP_TRUSTED_RELAYS),
  )
  if (addresses.length < LEAST || own.length < addresses.length) return []
  return [
    warning(
      `All recent mail came from ${own[0]}, which SMTP_TRUSTED_RELAYS does not name: if that is your own mail server, ` +
        'senders that only SPF proves count as forged',
      `Add ${own[0]}, or its network, to SMTP_TRUSTED_RELAYS.`,
    ),
  ]
}
