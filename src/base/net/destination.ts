/**
 * Decides which addresses the service may connect to for a user: webhook receivers and the SMTP servers of mailboxes.
 * A name is resolved once, every address it has is judged, and the caller dials those addresses and nothing else, so
 * no second lookup can lead elsewhere (DNS rebinding).
 */
import { lookup as systemLookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import type { Network } from '../address/networks'
import { within } from '../flow/within'

/** Resolves a name to all its addresses. Rejects with a `code` such as `ENOTFOUND` as node:dns does. */
export type Lookup = (hostname: string) => Promise<string[]>

/**
 * `blocked_address`: a host that may not be reached. `dns`: the name has no address.
 * `dns_local`: no name can be resolved just now, which is our own trouble and says nothing about the host.
 */
type DestinationFault = 'blocked_address' | 'dns' | 'dns_local'

export class DestinationError extends Error {
  constructor(readonly reason: DestinationFault) {
    super(reason)
  }
}

const URL_MAX_LENGTH = 2048
/** Port 25 would let a receiver's URL speak to mail servers; nothing listens on 0. */
const REFUSED_PORTS = ['0', '25']
/** Azure's platform address is public by its number, yet answers only inside the virtual machine. */
const DENIED_ADDRESSES = ['168.63.129.16']
/** All of public IPv6. What lies outside is unassigned or carries an IPv4 address, such as `::127.0.0.1`. */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Checks the URL of a webhook: `https` only, no credentials, at most 2,048 characters. `resolveDestination` judges the
 * host at each connection, because the addresses of a name can change.
 * @returns the fault, or undefined
 */
export function checkUrl(url: string): string | undefined {
  if (Array.from(url).length > URL_MAX_LENGTH) return `must have at most ${URL_MAX_LENGTH} characters`
  // The parser drops white space and completes `https:host`; what is stored should be what was meant.
  if (!/^https:\/\/[^\s]+$/i.test(url) || !URL.canParse(url)) return 'must be an https URL'
  const { protocol, username, password, port } = new URL(url)
  if (protocol !== 'https:') return 'must be an https URL'
  if (username || password) return 'must not hold credentials'
  if (REFUSED_PORTS.includes(port)) return `must not use port ${port}`
  return undefined
}

/**
 * Tells if connecting to an address is allowed: public unicast, not this host, or in a network the operator allows.
 * Mapped IPv4 is judged as IPv4; other forms that carry an IPv4 address (NAT64, 6to4, Teredo) are refused.
 * @param address any spelling that `ipaddr.js` reads
 * @param own the addresses of this host
 */
export function isAllowedAddress(address: string, allowed: Network[], own = ownAddresses): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  const covers = ([network, prefix]: Network) => network.kind() === parsed.kind() && parsed.match(network, prefix)
  if (allowed.some(covers)) return true
  if (parsed.range() !== 'unicast') return false
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(PUBLIC_IPV6)) return false
  const text = parsed.toString()
  return !DENIED_ADDRESSES.includes(text) && !own().includes(text)
}

/**
 * The addresses to dial for a host, in the resolver's order, each one allowed.
 * @param host a name or an address literal, as in a URL (`[::1]`) or without brackets
 * @param options.lookup replaces the system's resolver
 * @param options.timeout_ms limit of the lookup, 5 s by default
 * @throws DestinationError also when a single address among several is not allowed
 */
export async function resolveDestination(
  host: string,
  options: { allowed: Network[]; lookup?: Lookup; timeout_ms?: number },
): Promise<string[]> {
  const { allowed, lookup = lookupAll, timeout_ms = 5000 } = options
  const name = bareHost(host)
  const found = ipaddr.isValid(name) ? [name] : await resolve(name, lookup, timeout_ms)
  if (!found.every((address) => isAllowedAddress(address, allowed))) throw new DestinationError('blocked_address')
  return found.map((address) => ipaddr.process(address).toString())
}

/** The host of a URL as a resolver and a certificate know it: without brackets and without the root's dot. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

const NO_ANSWER = 'the resolver did not answer'
const NO_SUCH_NAME = ['ENOTFOUND', 'ENODATA', 'EBADNAME']

/** The two names that each resolver knew last, newest first. */
const known_names = new WeakMap<Lookup, string[]>()

/**
 * A failure that is no clear answer (a resolver that is silent, refuses or fails) is the name's own only if another
 * name still resolves: one that did before. With none, the trouble counts as ours.
 */
async function resolve(name: string, lookup: Lookup, timeout_ms: number): Promise<string[]> {
  const others = (known_names.get(lookup) ?? []).filter((known) => known !== name)
  try {
    const addresses = await within(timeout_ms, lookup(name), NO_ANSWER)
    if (addresses.length === 0) throw new DestinationError('dns')
    known_names.set(lookup, [name, ...others].slice(0, 2))
    return [...new Set(addresses)]
  } catch (error) {
    if (error instanceof DestinationError) throw error
    if (hasCode(error) && NO_SUCH_NAME.includes(error.code)) throw new DestinationError('dns')
    const other = others[0]
    const answers = other === undefined ? [] : await within(timeout_ms, lookup(other), NO_ANSWER).catch(() => [])
    throw new DestinationError(answers.length > 0 ? 'dns' : 'dns_local')
  }
}

async function lookupAll(hostname: string): Promise<string[]> {
  const found = await systemLookup(hostname, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

function hasCode(error: unknown): error is { code: string } {
  return typeof error === 'object' && error !== null && 'code' in error
}

/** Asked each time: addresses come and go with interfaces, and the call takes some 40 µs. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => ipaddr.process(address).toString()),
  )
}
