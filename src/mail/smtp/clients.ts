/** Counts the connections of each client. */
import ipaddr from 'ipaddr.js'

export class ClientCounter {
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
