/** Addresses of clients: the one of a request behind trusted proxies, and what stands for it where clients are counted. */
import ipaddr from 'ipaddr.js'
import type { Network } from '../config'
import { isInNetworks } from './networks'

/** A subscriber of IPv6 has at least a network of this length, and may use any address in it. */
const IPV6_BITS = 64

/**
 * Finds the client's address.
 * @param peer address of the TCP connection
 * @param forwarded the X-Forwarded-For header; it counts only as far as the proxies that wrote it are trusted
 */
export function clientAddress(peer: string, forwarded: string | null, trusted: Network[]): string {
  let address = peer
  const hops = (forwarded ?? '').split(',').map((hop) => hop.trim())
  for (let hop = hops.pop(); hop && isInNetworks(address, trusted); hop = hops.pop()) {
    if (!ipaddr.isValid(hop)) break
    address = hop
  }
  return address
}

/** What limits count instead of an address: an IPv4 address, or the network of an IPv6 address. */
export function subscriberOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const [without_zone] = parsed.toString().split('%')
  return ipaddr.IPv6.networkAddressFromCIDR(`${without_zone}/${IPV6_BITS}`).toString()
}
