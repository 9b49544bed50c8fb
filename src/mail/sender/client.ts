/** Finds the server that handed a message to us, or to our own relay: the one by which SPF is judged. */
import parser from 'mailauth/lib/parse-received'
import { isInNetworks, toNetwork } from '../../base/address/networks'
import { config } from '../../base/config'
import type { HeaderField } from '../../base/mime/headers'

/** The words of SMTP about the delivery of a message. */
export type Delivery = {
  /** The address that connected, or that a relay named by XCLIENT. */
  remote_address: string
  helo: string
  /** The relay that connected, when it named its client by XCLIENT. */
  relay_address: string | null
}

type Client = { address: string; helo: string }

type Handover = {
  /** Null when the relay does not say it. */
  client: Client | null
  /** True when it came through a relay of SMTP_TRUSTED_RELAYS, whose own header fields can be believed. */
  is_relayed: boolean
  /**
   * How many fields at the top these relays wrote: those above the Received of the one that took it from the client.
   * All below may be the sender's.
   */
  own_fields: number
}

/** Relays of one operator that a message passes one after the other. */
const MOST_RELAYS = 10
/** The most of a Received field. */
const MAX_FIELD = 2000

/**
 * Follows the Received fields, from the topmost one, as long as trusted relays wrote them: the first address that is
 * not of a trusted relay is the client.
 */
export function findHandover({ remote_address, helo, relay_address }: Delivery, fields: HeaderField[]): Handover {
  const relays = config.SMTP_TRUSTED_RELAYS
  const client = { address: remote_address, helo }
  const received = fields.flatMap(({ key, value }, place) => (key === 'received' ? [{ place, ...fromOf(value) }] : []))
  if (relay_address) {
    const is_own = isSameAddress(received[0]?.client?.address, remote_address)
    return { client, is_relayed: isInNetworks(relay_address, relays), own_fields: is_own ? received[0]!.place : 0 }
  }
  if (!isInNetworks(remote_address, relays)) return { client, is_relayed: false, own_fields: 0 }
  let own_fields = 0
  for (const { place, client } of received.slice(0, MOST_RELAYS)) {
    own_fields = place
    if (!client) break
    if (!isInNetworks(client.address, relays)) return { client, is_relayed: true, own_fields }
  }
  return { client: null, is_relayed: true, own_fields }
}

/** The client that a Received field names; null when it names no address. */
function fromOf(value: string): { client: Client | null } {
  const received = parser.parseReceived(`Received: ${value.slice(0, MAX_FIELD)}`)
  const address = received && parser.getClientAddress(received.from)
  return { client: address ? { address, helo: received.from?.value ?? '' } : null }
}

function isSameAddress(one: string | undefined, other: string): boolean {
  const network = one === undefined ? undefined : toNetwork(one)
  return network !== undefined && isInNetworks(other, [network])
}
