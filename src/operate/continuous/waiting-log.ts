/**
 * The log of the database that is not in the backup yet. The server keeps it in pieces of 16 MB, which are nearly empty
 * when little happens. While the target is away they are kept compressed in a folder of DATA_DIR, and count for what
 * they take there.
 */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import type { Home } from '../../base/db/embedded/home'
import { BACKUP_WAITING } from '../start/data-dir'
import { bytesOfPiece, endPiece, isPiece, PIECE_BYTES, readyPieces } from './log-pieces'
import { seal, unseal } from './sealed'
import { openTarget, type Target } from './target'

const FOLDER = 'log'
const waitingName = (piece: string) => `${FOLDER}/${piece}`

export class WaitingLog {
  readonly #home: Home
  readonly #folder: Target
  /** Compressed pieces, with their bytes. */
  readonly #kept = new Map<string, number>()
  /** Is read now, where the server has it. */
  #sent: string | undefined

  private constructor(home: Home, folder: Target) {
    this.#home = home
    this.#folder = folder
  }

  /** Opens what an earlier process kept. */
  static async open(home: Home): Promise<WaitingLog> {
    const place = path.join(config.DATA_DIR, BACKUP_WAITING)
    fs.mkdirSync(place, { recursive: true, mode: 0o700 })
    const log = new WaitingLog(home, openTarget(place))
    await log.#folder.removeUnfinished(FOLDER)
    for await (const { name, size } of log.#folder.list(FOLDER)) log.#kept.set(name.slice(FOLDER.length + 1), size)
    return log
  }

  /** All that waits, in the order of the log. */
  names(): string[] {
    return [...new Set([...this.#kept.keys(), ...readyPieces(this.#home)])].toSorted()
  }

  /** The room that it takes on the disk. */
  get bytes(): number {
    const whole = readyPieces(this.#home).filter((name) => isPiece(name) && !this.#kept.has(name))
    return this.#kept.values().reduce((sum, size) => sum + size, whole.length * PIECE_BYTES)
  }

  /** Reads a piece while it is sent. */
  async *bytesOf(name: string): AsyncGenerator<Uint8Array> {
    if (this.#kept.has(name)) return yield* unseal(waitingName(name), await this.#folder.open(waitingName(name)))
    this.#sent = name
    try {
      yield* bytesOfPiece(this.#home, name)
    } finally {
      this.#sent = undefined
    }
  }

  /** Lets go of what is in the backup, or of no use. */
  async end(name: string): Promise<void> {
    if (readyPieces(this.#home).includes(name)) endPiece(this.#home, name)
    if (!this.#kept.has(name)) return
    await this.#folder.remove(waitingName(name))
    this.#kept.delete(name)
  }

  /** Compresses what the server keeps, and lets the server remove that. */
  async keep(): Promise<void> {
    for (const name of readyPieces(this.#home)) {
      if (!isPiece(name) || name === this.#sent) continue
      if (!this.#kept.has(name)) {
        const content = seal(waitingName(name), bytesOfPiece(this.#home, name))
        const { size } = await this.#folder.put(waitingName(name), content)
        this.#kept.set(name, size)
      }
      // It was sent meanwhile, or is being read.
      if (name !== this.#sent && readyPieces(this.#home).includes(name)) endPiece(this.#home, name)
    }
  }

  async drop(): Promise<void> {
    for (const name of this.names()) await this.end(name)
  }
}
