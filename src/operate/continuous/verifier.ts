/** Runs `cli backup verify` every 6 days, in another process: the service keeps its memory and processor. */
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { config } from '../../base/config'
import { log } from '../../base/log'
import { readVerified } from './state'

const CLI = path.join(import.meta.dirname, '../../cli.ts')
/** A look that begins then has ended within a week, also when it waits for a base copy or is tried again. */
const NEXT_MS = 6 * 86_400_000
/** After a look that failed. */
const AGAIN_MS = 6 * 3_600_000

export class Verifier {
  #process: ChildProcess | undefined
  #tried_ms = Number.NEGATIVE_INFINITY

  /** Begins when a look is due. The command notes what it finds. */
  verifyWhenDue(): void {
    if (config.BACKUP_VERIFY === 'off' || this.#process || performance.now() - this.#tried_ms < AGAIN_MS) return
    if (!isLookDue(readVerified(), Date.now())) return
    this.#tried_ms = performance.now()
    const child = spawn(process.execPath, [CLI, 'backup', 'verify'], { stdio: 'ignore' })
    this.#process = child
    child.unref()
    child.on('error', () => {})
    child.on('close', (code) => {
      this.#process = undefined
      if (code === 0) log.info('the backup was verified')
      else log.error({ reason: readVerified()?.fault, code }, 'the backup could not be verified')
    })
  }

  stop(): void {
    this.#process?.kill()
  }
}

/** Tells whether the last look found something wrong, or is long ago. */
export function isLookDue(last: ReturnType<typeof readVerified>, now_ms: number): boolean {
  return !last || last.fault !== undefined || now_ms - Date.parse(last.at) >= NEXT_MS
}
