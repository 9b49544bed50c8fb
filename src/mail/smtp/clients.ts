/** Counts the connections of each client. */
import ipaddr from 'ipaddr.js'
import { subscriberOf } from '../../net/client-address'

export class ClientCounter {
  /** Connections by address, or by network of IPv6. */
  readonly #counts = new Map<string, number>()

  count(address: string): number {
    return this.#counts.get(subscriberOf(address)) ?? 0
  }

  add(address: string): void {
    this.#counts.set(subscriberOf(address), this.count(address) + 1)
  }

  remove(address: string): void {
    const left = this.count(address) - 1
    if (left > 0) this.#counts.set(subscriberOf(address), left)
    else this.#counts.delete(subscriberOf(address))
  }
}

/** True for 127.0.0.0/8 and ::1, from where relays on this host connect. */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}
