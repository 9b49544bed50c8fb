/** Counts the connections of each client. */
import ipaddr from 'ipaddr.js'
import { subscriberOf, widerNetworkOf } from '../../base/net/client-address'
import type { SmtpLimits } from './options'

/** One network gets this part of all connections. */
const NETWORK_SHARE = 4

/** The connections of each client, and of each network. */
export class Clients {
  readonly #limits: Pick<SmtpLimits, 'max_clients' | 'max_clients_per_address'>
  readonly #clients = new ClientCounter(subscriberOf)
  readonly #networks = new ClientCounter(widerNetworkOf)

  constructor(limits: Pick<SmtpLimits, 'max_clients' | 'max_clients_per_address'>) {
    this.#limits = limits
  }

  /** Clients with all connections that they may have. A network gets a quarter of all, or as many as one address. */
  findCrowd(address: string): 'address' | 'network' | undefined {
    const { max_clients, max_clients_per_address: most } = this.#limits
    if (this.#clients.count(address) >= most) return 'address'
    return this.#networks.count(address) >= Math.max(max_clients / NETWORK_SHARE, most) ? 'network' : undefined
  }

  add(address: string): void {
    this.#clients.add(address)
    this.#networks.add(address)
  }

  remove(address: string): void {
    this.#clients.remove(address)
    this.#networks.remove(address)
  }
}

class ClientCounter {
  readonly #counts = new Map<string, number>()

  /** @param nameOf what of an address is counted */
  constructor(readonly nameOf: (address: string) => string) {}

  count(address: string): number {
    return this.#counts.get(this.nameOf(address)) ?? 0
  }

  add(address: string): void {
    this.#counts.set(this.nameOf(address), this.count(address) + 1)
  }

  remove(address: string): void {
    const left = this.count(address) - 1
    if (left > 0) this.#counts.set(this.nameOf(address), left)
    else this.#counts.delete(this.nameOf(address))
  }
}

/** True for 127.0.0.0/8 and ::1, from where relays on this host connect. */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}
