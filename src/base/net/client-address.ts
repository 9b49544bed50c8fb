/**
 * Addresses of clients: the one of a request behind trusted proxies, and what stands for it where clients are counted.
 */
import ipaddr from 'ipaddr.js'
import { isInNetworks, type Network } from '../address/networks'
import { config } from '../config'

/** A subscriber of IPv6 has at least a network of this length, and may use any address in it. */
const IPV6_BITS = 64
/** Names no single subscriber. */
const NETWORK_BITS = { ipv4: 24, ipv6: 48 }

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

/** The key that limits count instead of an address: an IPv4 address, or the network of an IPv6 address. */
export function subscriberOf(address: string): string {
  return networkOf(address, { ipv4: 32, ipv6: IPV6_BITS })
}

/** The network that one operator mostly has: 24 bits of IPv4, 48 of IPv6. */
export function widerNetworkOf(address: string): string {
  return networkOf(address, NETWORK_BITS)
}

/** A client's address as a line of the log shows it (LOG_CLIENT_ADDRESS); undefined for nothing. */
export function loggedAddress(address: string): string | undefined {
  if (config.LOG_CLIENT_ADDRESS === 'full') return address
  return config.LOG_CLIENT_ADDRESS === 'none' ? undefined : widerNetworkOf(address)
}

/** The first address of the network that has an address; any other text stays as it is. */
function networkOf(address: string, bits: { ipv4: number; ipv6: number }): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  const [without_zone] = parsed.toString().split('%')
  return parsed.kind() === 'ipv4'
    ? ipaddr.IPv4.networkAddressFromCIDR(`${without_zone}/${bits.ipv4}`).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${without_zone}/${bits.ipv6}`).toString()
}
