/** Remembers for a few seconds who a credential belongs to. */
import { LRUCache } from 'lru-cache'

/** A change by another process counts after this time: well within the 10 seconds that the API promises. */
const REMEMBER_MS = 5000
/**
 * A credential that was found in the last hour is looked up again even if its address has sent too many unknown ones.
 */
const IN_USE_MS = 3_600_000

export class Remembered<Holder extends object> {
  readonly #known = new LRUCache<string, Holder>({ max: 10_000, ttl: REMEMBER_MS })
  readonly #in_use = new LRUCache<string, true>({ max: 10_000, ttl: IN_USE_MS })
  /** Counts the changes in this process, so that a look-up that began before one is not remembered. */
  #changes = 0

  /**
   * Finds the holder of a credential; undefined for one that is unknown.
   * @param mayLookUp decides if a credential that was not seen lately may cost a query: strangers can make them up
   */
  async find(
    hash: Buffer,
    mayLookUp: () => Promise<boolean>,
    read: (hash: Buffer) => Promise<Holder | undefined>,
  ): Promise<Holder | undefined> {
    const digest = hash.toString('base64')
    const remembered = this.#known.get(digest)
    if (remembered) return remembered
    if (!(this.#in_use.has(digest) || (await mayLookUp()))) return undefined
    const changes_before = this.#changes
    const holder = await read(hash)
    if (!holder) return undefined
    if (this.#changes === changes_before) this.#known.set(digest, holder)
    this.#in_use.set(digest, true)
    return holder
  }

  /** Forgets holders after a change of them. */
  forget(hasChanged: (holder: Holder) => boolean): void {
    this.#changes++
    for (const [digest, holder] of this.#known.entries()) if (hasChanged(holder)) this.#known.delete(digest)
  }
}
