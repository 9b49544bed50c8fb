/**
 * Copies attachments and originals of mail to the backup, each once: their bytes never change. Files come before the
 * piece of the log that has their rows, so that no restored row lacks its file.
 */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Session } from '../../base/db/session'
import { log } from '../../base/log'
import { firstIdAt } from '../../base/shapes/ids'
import { openStore } from '../../desk/attachments/storage'
import { isStorageKey } from '../../desk/attachments/storage-key'
import type { Bytes } from '../../desk/attachments/store'
import { copyNames, inOrder, type Named, openIfThere, readNamed } from '../backup/stored-files'
import { FILES, fileName } from './chain-manifest'
import type { Pace } from './pace'
import type { Vault } from './vault'

const KINDS = ['attachments', 'inbound'] as const

/** An id may be made this long before its promise is committed, on whatever machine. */
const SLACK_MS = 600_000

/** Files that are copied, or that the store does not have, since some time. */
export class CopiedFiles {
  /** Rows of older files were looked at. */
  #from_ms: number
  #knows_target = false
  readonly #done = new Set<string>()
  /** Files of rows that the store did not have. */
  missing = 0

  /** @param from_ms all files that were begun before are in the backup */
  constructor(from_ms: number) {
    this.#from_ms = from_ms
  }

  /**
   * Copies what rows name since the last call. When it resolves, all files of rows that were committed before are
   * there.
   */
  async copyNew(sql: Session, vault: Vault): Promise<void> {
    if (!this.#knows_target) await this.#readTarget(vault)
    // Before the rows: an upload that ends between the two is seen by the next call.
    const [promised] = await sql<{ first: string | null }[]>`
      select min(substr(storage_key, strpos(storage_key, '/') + 1)) as first from storage_removals where due_at > now()`
    const next_ms = Math.min(Date.now() - SLACK_MS, promised?.first ? timeOfId(promised.first) : Infinity)
    const named = await namedSince(sql, firstIdAt(this.#from_ms))
    await this.#copyAll(named.filter((key) => !this.#done.has(key)).values(), vault)
    this.#from_ms = Math.max(this.#from_ms, next_ms)
    for (const key of this.#done) if (timeOfKey(key) < this.#from_ms - SLACK_MS) this.#done.delete(key)
  }

  /**
   * Copies all files of a list that the target lacks, at a pace.
   * @param list the list of a base copy
   * @param which `all` writes also those that are there, with a proof of the present key
   */
  async copyMissing(list: AsyncIterable<Named>, vault: Vault, pace: Pace, which: 'all' | 'lacking'): Promise<void> {
    const there = vault.target.list(FILES)
    let at = await there.next()
    async function* lacking() {
      for await (const { key } of list) {
        while (!at.done && at.value.name < fileName(key)) at = await there.next()
        if (which === 'all' || at.done || at.value.name !== fileName(key)) yield key
      }
    }
    await this.#copyAll(lacking(), vault, pace)
  }

  async #copyAll(keys: Iterable<string> | AsyncIterable<string>, vault: Vault, pace?: Pace): Promise<void> {
    const from = openStore()
    const copies = inOrder(Readable.from(keys), async (key: string) => {
      const bytes = await openIfThere(from, key)
      if (bytes) await vault.put(fileName(key), pace ? paced(bytes, pace) : bytes)
      else this.#noteMissing(key)
      this.#done.add(key)
    })
    for await (const _ of copies);
  }

  #noteMissing(key: string): void {
    this.missing++
    log.error({ storage_key: key }, 'a stored file is missing and cannot be backed up')
  }

  /** After a start: what is in the target already need not be copied again. */
  async #readTarget(vault: Vault): Promise<void> {
    for (const kind of KINDS) {
      const after = fileName(`${kind}/${firstIdAt(this.#from_ms)}`)
      for await (const { name } of vault.target.list(`${FILES}/${kind}`, after)) {
        this.#done.add(name.slice(FILES.length + 1))
      }
    }
    this.#knows_target = true
  }
}

async function* paced(bytes: Bytes, pace: Pace): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) {
    await pace(piece.length)
    yield piece
  }
}

/** Keys of files that were begun since, of all organizations, and that rows name. */
async function namedSince(sql: Session, id: string): Promise<string[]> {
  const rows = await sql<{ storage_key: string }[]>`
    select storage_key from attachments where storage_key >= ${`attachments/${id}`}
    union select storage_key from inbound_messages where storage_key >= ${`inbound/${id}`}`
  return rows.map(({ storage_key }) => storage_key)
}

/** The files that the rows name now, as lines. */
export async function* linesOfNames(sql: Session): AsyncGenerator<Uint8Array> {
  yield* await copyNames(sql)
}

/** Reads a list as `linesOfNames` made it. */
export async function* readList(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Named> {
  for await (const line of createInterface({ input: Readable.from(bytes), crlfDelay: Number.POSITIVE_INFINITY })) {
    const named = readNamed(line)
    if (isStorageKey(named.key)) yield named
  }
}

/**
 * Removes the files that no moment since `from_ms` needs: those that were begun before it, and that the list of that
 * moment does not name.
 */
export async function removeUnneeded(list: AsyncIterable<Named>, from_ms: number, vault: Vault): Promise<number> {
  const needed = list[Symbol.asyncIterator]()
  let at = await needed.next()
  let removed = 0
  for await (const { name } of vault.target.list(FILES)) {
    while (!at.done && fileName(at.value.key) < name) at = await needed.next()
    const is_named = !at.done && fileName(at.value.key) === name
    if (is_named || timeOfKey(name) >= from_ms - 12 * SLACK_MS) continue
    await vault.target.remove(name)
    removed++
  }
  return removed
}

/** When the upload of a file began. Ids that have no time count as new. */
function timeOfKey(key: string): number {
  return timeOfId(key.slice(key.lastIndexOf('/') + 1))
}

function timeOfId(id: string): number {
  const is_v7 = id[14] === '7'
  return is_v7 ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Date.now()
}
