/** Tells what became of rows of an import or another desk: numbers for each file, and rows that are not as given. */
import fs from 'node:fs'
import type { Fault } from '../../base/errors'
import { explained } from '../backup/backup-error'
import type { Losses } from './fitting'

/** Rows by what became of them. Of those that came something may be `cut` or `left_out`, or a row as a whole is. */
export type Numbers = {
  created: number
  updated: number
  unchanged: number
  conflicts: number
  failed: number
  cut: number
  left_out: number
}

/** A row, by its line in the file, or null when it is in none. */
type RowName = { file: string; line: number | null; key: string | null }

/** A line that was not taken. A conflict was changed here and in the file. */
type Refused = RowName & { result: 'failed' | 'conflict'; errors: Fault[] }

/** Lines that standard error shows of a run without a report. */
const SHOWN_MOST = 20

/** @param what is done, such as `the import` */
export function openReport(file: string | undefined, what: string): Report {
  try {
    return new Report(file)
  } catch (error) {
    throw explained(error, what)
  }
}

export class Report {
  readonly numbers: Record<string, Numbers> = {}
  readonly #fd: number | undefined
  #shown = 0

  /** @param file to write such rows to; it is made anew, for its owner alone, since keys may be of people */
  constructor(file: string | undefined) {
    this.#fd = file === undefined ? undefined : fs.openSync(file, 'w', 0o600)
  }

  /** Begins a file of the import, all of whose numbers are 0 then. */
  begin(name: string): Numbers {
    this.numbers[name] ??= { created: 0, updated: 0, unchanged: 0, conflicts: 0, failed: 0, cut: 0, left_out: 0 }
    return this.numbers[name]
  }

  refuse(refused: Refused): void {
    const numbers = this.begin(refused.file)
    if (refused.result === 'failed') numbers.failed++
    else numbers.conflicts++
    const text = `${JSON.stringify(refused)}\n`
    if (this.#fd !== undefined) fs.writeSync(this.#fd, text)
    else if (this.#shown++ < SHOWN_MOST) process.stderr.write(text)
    else if (this.#shown === SHOWN_MOST + 1) process.stderr.write('deskwire: --report FILE has all such lines\n')
  }

  /** Notes what a row has lost. A row that was tried twice says it twice. */
  note({ file, line, key }: RowName, losses: Losses): void {
    for (const result of ['cut', 'left_out'] as const) {
      const errors = [...new Map(losses[result].map((one) => [`${one.path} ${one.message}`, one])).values()]
      if (errors.length === 0) continue
      this.begin(file)[result]++
      if (this.#fd !== undefined) fs.writeSync(this.#fd, `${JSON.stringify({ file, line, key, result, errors })}\n`)
    }
  }

  /** Rows of each file that were cut, or of which something was left out. */
  get lost(): { cut: Record<string, number>; left_out: Record<string, number> } {
    const of = (result: 'cut' | 'left_out') =>
      Object.fromEntries(Object.entries(this.numbers).map(([name, numbers]) => [name, numbers[result]]))
    return { cut: of('cut'), left_out: of('left_out') }
  }

  get has_failed(): boolean {
    return Object.values(this.numbers).some(({ failed }) => failed > 0)
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
  }
}
