/** Runs `cli backup verify` once a week, in a process of its own: memory and processor of the service stay free. */
import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { config } from '../../base/config'
import { log } from '../../base/log'
import { readVerified } from './state'

const CLI = path.join(import.meta.dirname, '../../cli.ts')
const WEEK_MS = 7 * 86_400_000
/** After a look that failed. */
const AGAIN_MS = 6 * 3_600_000

export class Verifier {
  #process: ChildProcess | undefined
  #tried_ms = Number.NEGATIVE_INFINITY

  /** Begins when the last look that found nothing wrong is a week ago. The command notes what it finds. */
  verifyWeekly(): void {
    if (config.BACKUP_VERIFY === 'off' || this.#process || performance.now() - this.#tried_ms < AGAIN_MS) return
    const last = readVerified()
    if (last && !last.fault && Date.now() - Date.parse(last.at) < WEEK_MS) return
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
