/** Whether an address lies in a network, however either is spelled. */
import ipaddr from 'ipaddr.js'
import type { Network } from '../config'

/** @param address what is none lies in no network; mapped IPv4 counts as IPv4 */
export function isInNetworks(address: string, networks: Network[]): boolean {
  if (networks.length === 0 || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
}
