/** Says in the log and in DATA_DIR how the backup goes. */
import { config } from '../../base/config'
import { log } from '../../base/log'
import { wordsOf } from './backup-words'
import { type BackupState, writeState } from './state'

/** Between lines of the log while the target is away. */
const REMINDER_MS = 60_000

export class BackupNotes {
  readonly #state: BackupState
  #written_ms = Number.NEGATIVE_INFINITY
  #warned_ms = Number.NEGATIVE_INFINITY
  /** Failures in a row. */
  failures = 0

  /** @param state is changed, and written from time to time */
  constructor(state: BackupState) {
    this.#state = state
  }

  /** Notes that all is sent. @param missing_files how many the store did not have */
  success(missing_files: number): void {
    const { failing_since } = this.#state
    this.failures = 0
    this.#state.missing_files = missing_files
    this.#state.error = this.#state.failing_since = undefined
    if (failing_since) log.info({ failing_since }, 'the backup is written again')
    const is_due = performance.now() - this.#written_ms > (config.BACKUP_LAG_SECONDS * 1000) / 4
    if (is_due || failing_since) this.write()
  }

  /** Notes why nothing could be sent. */
  failure(error: unknown): void {
    this.failures++
    this.#state.error = wordsOf(error)
    this.#state.failing_since ??= new Date().toISOString()
    this.write()
    if (performance.now() - this.#warned_ms < REMINDER_MS) return
    this.#warned_ms = performance.now()
    log.error({ reason: this.#state.error, since: this.#state.failing_since }, 'the backup cannot be written')
  }

  write(): void {
    try {
      writeState(this.#state)
      this.#written_ms = performance.now()
    } catch (error) {
      log.warn({ reason: wordsOf(error) }, 'the state of the backup cannot be noted in DATA_DIR')
    }
  }
}
