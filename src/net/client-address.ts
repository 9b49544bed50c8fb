/** The address of the client of a request, behind trusted proxies. */
import ipaddr from 'ipaddr.js'
import type { Network } from '../config'
import { isInNetworks } from './networks'

/**
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
