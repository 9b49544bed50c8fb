/** Finds an address in a list of networks, in any spelling. */
import ipaddr from 'ipaddr.js'
import type { Network } from '../config'

/** @param address mapped IPv4 counts as IPv4; a text that is not an address lies in no network */
export function isInNetworks(address: string, networks: Network[]): boolean {
  if (networks.length === 0 || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
}

/** A network of the settings, at all its ports or at one. */
export type PortNetwork = [...network: Network, port?: number]

/** The networks that may be reached at a port. */
export function networksAt(port: number, networks: PortNetwork[]): Network[] {
  return networks.filter(([, , only]) => only === undefined || only === port).map(([base, bits]) => [base, bits])
}
