/** Finds an address in a list of networks, in any spelling. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** A network as ipaddr.js matches it: base address and length of the prefix. */
export type Network = [base: ipaddr.IPv4 | ipaddr.IPv6, bits: number]

/** Bits before the IPv4 address in a mapped one (RFC 4291, section 2.5.5.2). */
const MAPPED_BITS = 96

/** @param address mapped IPv4 counts as IPv4; a text that is not an address lies in no network */
export function isInNetworks(address: string, networks: Network[]): boolean {
  if (networks.length === 0 || !ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
}

/** Reads a network, or a single address; undefined for any other text. An IPv4 network within IPv6 counts as IPv4. */
export function toNetwork(text: string): Network | undefined {
  // The library also reads `1`, `1.2.3` and octal numbers, which nobody means.
  const [address = ''] = text.split('/')
  if (isIP(address) === 0 || address.includes('%')) return undefined
  const cidr = text.includes('/') ? text : `${text}/${isIP(address) === 6 ? 128 : 32}`
  if (!ipaddr.isValidCIDR(cidr)) return undefined
  const [base, bits] = ipaddr.parseCIDR(cidr)
  const is_mapped = base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= MAPPED_BITS
  return is_mapped ? [base.toIPv4Address(), bits - MAPPED_BITS] : [base, bits]
}

/** A network of the settings, at all its ports or at one. */
export type PortNetwork = [...network: Network, port?: number]

/** The networks that may be reached at a port. */
export function networksAt(port: number, networks: PortNetwork[]): Network[] {
  return networks.filter(([, , only]) => only === undefined || only === port).map(([base, bits]) => [base, bits])
}
