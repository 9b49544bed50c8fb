/**
 * Keeps the backup of a running service up to date: sends what waits each second, makes base copies, removes what is no
 * longer needed. The service never waits for it. While the target is away, the log waits where the database has it.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { config } from '../../base/config'
import type { ConnectionOptions } from '../../base/db/connection-url'
import { type Client, NO_LIMITS, openClient } from '../../base/db/driver-client'
import type { Home } from '../../base/db/embedded/home'
import { within } from '../../base/flow/within'
import { log } from '../../base/log'
import { pieceSeconds } from '../start/database'
import { addBase, isWhole, type MadeBase } from './add-base'
import { alone } from './alone'
import { BackupNotes } from './backup-notes'
import { copyWhole } from './base-copy'
import { type OpenChain, resumeChain } from './chain'
import { logName, type Manifest } from './chain-manifest'
import { CopiedFiles } from './copied-files'
import { isNeeded, isPiece } from './log-pieces'
import {
  claimTarget,
  isUnproven,
  noteShipped,
  OlderManifestError,
  openOwnVault,
  readOwn,
  type Writer,
} from './own-target'
import { prune } from './prune'
import { ServerWaker } from './server-waker'
import type { BackupState } from './state'
import { isThere } from './target'
import { checkKey, type Vault } from './vault'
import { Verifier } from './verifier'
import type { WaitingLog } from './waiting-log'

/** Between looks at what waits. */
const ROUND_MS = 1000
/** After failures in a row the distance doubles up to this. */
const ROUND_MOST_MS = 15_000
/** Between looks at whose the target is. */
const OWN_MS = 10_000
/** After a base copy failed. */
const BASE_AGAIN_MS = 30_000
/** A round that lasts longer waits for a target that hangs. */
const STUCK_MS = 20_000
/** Longest wait at the end for what is left. */
const LAST_ROUND_MS = 1500

/** The embedded database. */
type OwnDatabase = { home: Home; owner: ConnectionOptions; waiting: WaitingLog }

export class Keeper {
  readonly #writer: Writer
  readonly #database: OwnDatabase | undefined
  /** The database of the settings, with the rights of its owner. */
  readonly #place: string | ConnectionOptions
  readonly #sql: Client
  readonly #state: BackupState
  readonly #notes: BackupNotes
  readonly #files: CopiedFiles
  readonly #verifier = new Verifier()
  readonly #stopping = new AbortController()
  #vault: Vault | undefined
  #manifest: Manifest | undefined
  #round_ms = 0
  #owned_ms = Number.NEGATIVE_INFINITY
  /** The chain that the log goes to; none until a base copy has begun. */
  #chain: OpenChain | undefined
  /** The base copy under way, and one that waits for the log that makes it whole. */
  #copying: { work: Promise<void>; abort: AbortController } | undefined
  #made: MadeBase | undefined
  #base_ms = Number.NEGATIVE_INFINITY
  /** Why the last base copy failed, until there is one. */
  #base_fault: unknown
  #files_ms = Number.NEGATIVE_INFINITY
  readonly #waker = new ServerWaker()
  #rounds: Promise<void> = Promise.resolve()

  /** @param state what an earlier process noted */
  constructor(writer: Writer, state: BackupState, database: OwnDatabase | undefined) {
    this.#writer = writer
    this.#state = state
    this.#notes = new BackupNotes(state)
    this.#database = database
    this.#place = database?.owner ?? config.DATABASE_DIRECT_URL ?? config.DATABASE_URL!
    this.#sql = openClient(this.#place, 1, NO_LIMITS)
    this.#files = new CopiedFiles(state.covered_until ? Date.parse(state.covered_until) - 3_600_000 : Date.now())
  }

  /** How the backup is, as the metrics show it. */
  get state(): Readonly<BackupState> {
    return this.#state
  }

  /** Makes sure whose the target is. @throws ForeignTargetError, PassphraseError; others while it is away or changed */
  async claim(): Promise<void> {
    const vault = await openOwnVault('begin', this.#state)
    const manifest = await claimTarget(vault, this.#state, this.#writer)
    Object.assign(this.#state, {
      ...{ place: vault.target.place, key_digest: vault.key_digest, generation: manifest.generation },
      ...{ is_unproven: isUnproven(manifest), last_base: manifest.chains.at(-1)?.bases.at(-1)?.ended_at },
    })
    this.#notes.write()
    this.#manifest = manifest
    if (this.#database && !this.#chain && !this.#copying) await this.#resume(this.#database, vault, manifest)
    // Not before: without its chain the log that waits would be let go.
    this.#vault = vault
    this.#owned_ms = performance.now()
  }

  start(): void {
    this.#rounds = this.#repeat()
    if (this.#database) void this.#tend(this.#database.waiting)
  }

  /** Sends what is left, for some seconds at most. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#copying?.abort.abort()
    this.#verifier.stop()
    const last = this.#rounds.then(async () => {
      if (this.#database && this.#chain) await this.#sql`select pg_switch_wal()`
      await this.#round()
    })
    await within(LAST_ROUND_MS, last, 'late').catch(() => {})
    this.#notes.write()
    await this.#sql.end({ timeout: 1 })
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#round_ms = performance.now()
      await this.#round().then(
        () => (this.#base_fault ? this.#noteFailure(this.#base_fault) : this.#notes.success(this.#files.missing)),
        (error) => this.#noteFailure(error),
      )
      const wait_ms = Math.min(ROUND_MS * 2 ** Math.min(this.#notes.failures, 10), ROUND_MOST_MS)
      await sleep(wait_ms, undefined, { signal }).catch(() => {})
    }
  }

  async #round(): Promise<void> {
    if (!this.#vault || !this.#manifest) await this.claim()
    await (this.#database ? this.#send() : alone(this.#place, () => this.#send()))
  }

  async #send(): Promise<void> {
    const vault = this.#vault!
    const at_ms = Date.now()
    if (this.#database) await this.#waker.wake(this.#sql)
    const ready = this.#database?.waiting.names() ?? []
    await this.#checkOwner(vault, ready.length > 0)
    const is_due = performance.now() - this.#files_ms > (config.BACKUP_LAG_SECONDS * 1000) / 4
    if (ready.length > 0 || is_due) {
      await this.#files.copyNew(this.#sql, vault)
      this.#files_ms = performance.now()
    }
    await this.#sendLog(vault, ready)
    await this.#keepBases(vault)
    const chain_id = this.#chain?.id
    if (!this.#state.last_base || (this.#database && !this.#manifest!.chains.some(({ id }) => id === chain_id))) return
    // Changes that are in no complete piece yet are younger than this.
    const open_s = this.#database ? pieceSeconds() + 1 : 0
    if (this.#waker.awakeMs() < open_s * 1000) return
    this.#state.covered_until = new Date(at_ms - open_s * 1000).toISOString()
  }

  /** @param is_writing looks in any case: a piece of another process in the place of ours would break the chain */
  async #checkOwner(vault: Vault, is_writing: boolean): Promise<void> {
    if (!is_writing && performance.now() - this.#owned_ms < OWN_MS) return
    await checkKey(vault)
    this.#manifest = await readOwn(vault, this.#writer, this.#state)
    this.#state.generation = this.#manifest.generation
    await this.#checkLog(vault)
    this.#owned_ms = performance.now()
  }

  /** The last object that was sent is still there: a disk that was set back to an older state has the same manifest. */
  async #checkLog({ target }: Vault): Promise<void> {
    const { chain, piece } = this.#state.shipped ?? {}
    const is_last = chain !== undefined && chain === this.#manifest?.chains.at(-1)?.id
    if (!is_last || !piece || (await isThere(target, logName(chain, piece)))) return
    // The loss was said: the chain ends before it.
    this.#state.shipped = undefined
    this.#giveUp(`the backup in ${target.place} has lost the log that was written last: was its disk set back?`)
  }

  async #sendLog(vault: Vault, ready: string[]): Promise<void> {
    if (!this.#database) return
    // A base copy begins: which pieces it needs is not known yet.
    if (this.#copying && !this.#chain) return
    const { waiting } = this.#database
    for (const name of ready) {
      const chain = this.#chain
      if (chain && isNeeded(name) && (!isPiece(name) || name >= chain.first)) {
        await vault.put(logName(chain.id, name), waiting.bytesOf(name))
        if (isPiece(name)) chain.shipped = name
      }
      await waiting.end(name)
    }
    this.#state.waiting_bytes = waiting.bytes
    await noteShipped(vault, this.#manifest!, this.#chain, this.#state)
  }

  async #keepBases(vault: Vault): Promise<void> {
    if (this.#made && isWhole(this.#made.base, this.#chain?.shipped)) await this.#addBase(vault, this.#made)
    const last_ms = Date.parse(this.#state.last_base ?? '')
    const is_old = this.#state.is_unproven || !(Date.now() - last_ms < config.BACKUP_BASE_HOURS * 3_600_000)
    const is_due = is_old || (this.#database !== undefined && !this.#chain)
    if (is_due && !this.#made && !this.#copying && performance.now() - this.#base_ms > BASE_AGAIN_MS) this.#copy(vault)
    if (this.#state.last_base && !this.#copying) this.#verifier.verifyWhenDue()
  }

  async #addBase(vault: Vault, made: MadeBase): Promise<void> {
    this.#manifest = await addBase(vault, this.#writer, this.#state, made, this.#chain?.shipped)
    this.#made = undefined
    this.#notes.write()
    await prune(vault, this.#manifest)
  }

  /** Begins a base copy, which goes on beside the rounds. */
  #copy(vault: Vault): void {
    const abort = new AbortController()
    const chain_id = this.#chain?.id ?? this.#manifest!.chains.find(() => !this.#database)?.id ?? randomUUID()
    this.#base_ms = performance.now()
    const onBegin = (first: string) => {
      this.#chain ??= { id: chain_id, first, shipped: undefined }
    }
    const which: 'all' | 'lacking' = this.#state.is_unproven ? 'all' : 'lacking'
    const options = { vault, chain_id, signal: abort.signal, onBegin }
    const work = copyWhole(this.#place, this.#database, options, { copied: this.#files, which })
      .then(
        (base) => {
          this.#made = { chain_id, base }
          this.#base_fault = undefined
        },
        (error) => this.#dropChain(abort.signal.aborted ? undefined : error),
      )
      .finally(() => {
        this.#copying = undefined
      })
    this.#copying = { work, abort }
  }

  /** A base copy failed. The log of a chain that has no other is of no use. */
  #dropChain(error: unknown): void {
    if (!this.#manifest?.chains.some(({ id }) => id === this.#chain?.id)) this.#chain = undefined
    this.#base_fault = error
  }

  async #resume({ waiting }: OwnDatabase, vault: Vault, { postgresql, chains }: Manifest): Promise<void> {
    const is_same = postgresql?.system === this.#writer.postgresql?.system
    this.#chain = is_same ? await resumeChain(chains.at(-1), vault, waiting.names(), this.#sql) : undefined
    await this.#checkLog(vault)
  }

  #noteFailure(error: unknown): void {
    // The target may be another one when it is back.
    this.#owned_ms = Number.NEGATIVE_INFINITY
    this.#notes.failure(error)
    if (!(error instanceof OlderManifestError)) return
    Object.assign(this.#state, { generation: error.generation, shipped: undefined })
    this.#giveUp(error.message)
  }

  /** Keeps what waits small while rounds fail or do not end. */
  async #tend(waiting: WaitingLog): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const is_stuck = performance.now() - this.#round_ms > STUCK_MS
      if (this.#notes.failures > 0 || is_stuck) await waiting.keep().catch((error) => this.#notes.failure(error))
      await this.#boundSpool(waiting).catch((error) => this.#notes.failure(error))
      await sleep(ROUND_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Gives up the log that waits when it takes too much of the disk: the database would stop when that is full. */
  async #boundSpool(waiting: WaitingLog): Promise<void> {
    this.#state.waiting_bytes = waiting.bytes
    // Nothing is kept for a chain that is given up.
    const is_useless = this.#state.given_up_at !== undefined && !this.#chain && !this.#copying
    if (this.#state.waiting_bytes <= config.BACKUP_SPOOL_BYTES && !is_useless) return
    await waiting.drop()
    if (!is_useless) this.#giveUp('the log of the database waited for the backup until BACKUP_SPOOL_BYTES')
  }

  /** Ends the chain. The next one begins with a base copy, at once. */
  #giveUp(reason: string): void {
    this.#copying?.abort.abort()
    this.#chain = this.#made = undefined
    this.#base_ms = Number.NEGATIVE_INFINITY
    Object.assign(this.#state, { given_up_at: new Date().toISOString(), given_up_why: reason })
    log.error(`${reason}: it is given up`)
    this.#notes.write()
  }
}
