/** How many connections each client has. */
import ipaddr from 'ipaddr.js'

/** One subscriber of IPv6 has at least a network of this length. */
const IPV6_BITS = 64

export type ClientCounter = {
  /** Connections of the address, or of its network for IPv6. */
  count(address: string): number
  add(address: string): void
  remove(address: string): void
}

export function countClients(): ClientCounter {
  const counts = new Map<string, number>()
  const count = (address: string) => counts.get(subscriberOf(address)) ?? 0
  return {
    count,
    add: (address) => void counts.set(subscriberOf(address), count(address) + 1),
    remove(address) {
      const left = count(address) - 1
      if (left > 0) counts.set(subscriberOf(address), left)
      else counts.delete(subscriberOf(address))
    },
  }
}

/** Relays on this host all have one address. */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

function subscriberOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/${IPV6_BITS}`).toString()
}
