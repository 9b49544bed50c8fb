/** What became of the lines of an import: numbers for each file, and the lines that were not taken. */
import fs from 'node:fs'
import type { Fault } from '../../base/errors'

export type Numbers = { created: number; updated: number; unchanged: number; conflicts: number; failed: number }

/** A line that was not taken. A conflict was changed here and in the file. */
type Refused = { file: string; line: number; key: string | null; result: 'failed' | 'conflict'; errors: Fault[] }

/** Lines that standard error shows of a run without a report. */
const SHOWN_MOST = 20

export class Report {
  readonly numbers: Record<string, Numbers> = {}
  readonly #fd: number | undefined
  #shown = 0

  /** @param file to write refused lines to; it is made anew, for its owner alone, since keys may be of people */
  constructor(file: string | undefined) {
    this.#fd = file === undefined ? undefined : fs.openSync(file, 'w', 0o600)
  }

  /** Begins a file of the import, all of whose numbers are 0 then. */
  begin(name: string): Numbers {
    this.numbers[name] = { created: 0, updated: 0, unchanged: 0, conflicts: 0, failed: 0 }
    return this.numbers[name]
  }

  refuse(refused: Refused): void {
    const numbers = this.numbers[refused.file]!
    if (refused.result === 'failed') numbers.failed++
    else numbers.conflicts++
    const text = `${JSON.stringify(refused)}\n`
    if (this.#fd !== undefined) fs.writeSync(this.#fd, text)
    else if (this.#shown++ < SHOWN_MOST) process.stderr.write(text)
    else if (this.#shown === SHOWN_MOST + 1) process.stderr.write('deskwire: --report FILE has all such lines\n')
  }

  get has_failed(): boolean {
    return Object.values(this.numbers).some(({ failed }) => failed > 0)
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
  }
}
