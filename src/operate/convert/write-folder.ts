/** Writes the folder that an import reads: its rows are such that an import takes them. */
import fs from 'node:fs'
import type { Fault } from '../../base/errors'
import { fileStore } from '../../desk/attachments/storage'
import { type Losses, noLosses } from '../import/fitting'
import { type FileName, KINDS } from '../import/import-kinds'
import type { Report } from '../import/import-report'
import type { Kind } from '../import/kind'
import { LINE_MOST } from '../import/read-lines'
import { faultsOf, shapedRow } from '../import/read-row'

/** Text that is written at once. */
const CHUNK = 256 * 1024

type Row = Record<string, unknown>

/** The working directory as a folder for an import. Fields that are undefined or empty are left out. */
export class OutFolder {
  readonly rows: Record<string, number> = {}
  files = 0
  /** Files that rows name and that the source does not have. */
  missing_files = 0
  readonly #report: Report
  readonly #open = new Map<string, { fd: number; text: string[]; size: number }>()
  readonly #store = fileStore('.')
  readonly #members = new Set<unknown>()

  constructor(report: Report) {
    this.#report = report
  }

  /** Writes a row, as far as an import takes it. @param losses what is not in the row already */
  write(name: FileName, given: Row, losses: Losses = noLosses()): void {
    const kind = KINDS[name] as Kind<unknown>
    this.#report.begin(name)
    const key = String(given.external_id)
    const row = taken(kind, shapedRow(kind, withoutEmpty(given), losses), losses)
    const line = row && lineOf(row, losses)
    if (line === undefined) {
      this.#report.note({ file: name, line: null, key }, { cut: [], left_out: losses.left_out })
      return
    }
    const file = this.#open.get(name) ?? { fd: fs.openSync(`${name}.jsonl`, 'wx', 0o600), text: [], size: 0 }
    this.#open.set(name, file)
    file.text.push(line)
    file.size += line.length
    if (file.size > CHUNK) this.#flush(file)
    this.rows[name] = (this.rows[name] ?? 0) + 1
    if (name === 'users') this.#members.add(key)
    this.#report.note({ file: name, line: this.rows[name], key }, losses)
  }

  /** Counts what has no row. @param file of the folder, or of the source */
  leaveOut(file: string, key: string | null, message: string): void {
    this.#report.note({ file, line: null, key }, { cut: [], left_out: [{ path: '', message }] })
  }

  /** Counts files that no message of the source has. */
  leaveFiles(keys: string[]): void {
    for (const key of keys) this.leaveOut('attachments', key, 'its message is not in the source')
  }

  /** Makes a member of a person who is gone and has an address: time is a member's. An import makes the others. */
  keepMember(external_id: string, { name, email }: { name?: string; email?: string } = {}): void {
    if (email && !this.#members.has(external_id)) this.write('users', { external_id, name, email, role: 'agent' })
  }

  /** Copies a file into the folder. @param name made of letters, digits, - and _ @returns its path there */
  async copy(name: string, bytes: AsyncIterable<Uint8Array> | Uint8Array): Promise<string> {
    const place = `files/${name}`
    await this.#store.put(place, bytes)
    this.files++
    return place
  }

  close(): void {
    for (const file of this.#open.values()) {
      this.#flush(file)
      fs.closeSync(file.fd)
    }
    this.#open.clear()
  }

  #flush(file: { fd: number; text: string[]; size: number }): void {
    fs.writeSync(file.fd, file.text.join(''))
    file.text = []
    file.size = 0
  }
}

/** A body may be empty. */
function withoutEmpty(given: Row): Row {
  return Object.fromEntries(Object.entries(given).filter(([field, value]) => value !== '' || field === 'body'))
}

/** Leaves out what an import refuses. @returns undefined when the row cannot be without it */
function taken(kind: Kind<unknown>, row: Row, losses: Losses): Row | undefined {
  for (;;) {
    const faults = faultsOf(kind, row)
    if (faults.length === 0) return row
    losses.left_out.push(...faults)
    const places = new Set(
      faults.map(({ path }) =>
        path
          .split('/')
          .slice(1, isPlain(row, path) ? 2 : 3)
          .join('/'),
      ),
    )
    // A value that is removed from a list moves those that follow it.
    for (const place of [...places].reverse()) if (!removeAt(row, place.split('/'))) return undefined
  }
}

function isPlain(row: Row, path: string): boolean {
  return typeof row[path.split('/')[1]!] !== 'object'
}

function removeAt(row: Row, [field = '', part]: string[]): boolean {
  const value = row[field]
  if (value === undefined) return false
  if (part === undefined) delete row[field]
  else if (Array.isArray(value)) value.splice(Number(part), 1)
  else delete (value as Row)[part]
  return true
}

/** The line of a row. An import takes none that is longer than it says: the longest text is shortened. */
function lineOf(row: Row, losses: Losses): string | undefined {
  for (;;) {
    const line = `${JSON.stringify(row)}\n`
    if (Buffer.byteLength(line) <= LINE_MOST) return line
    const fault = (path: string): Fault => ({ path, message: `its row is longer than ${LINE_MOST} bytes` })
    const [field, text] = Object.entries(row)
      .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
      .reduce((a, b) => (b[1].length > a[1].length ? b : a))
    if (text.length < 1000) {
      losses.left_out.push(fault(''))
      return undefined
    }
    if (!losses.cut.some(({ path }) => path === `/${field}`)) losses.cut.push(fault(`/${field}`))
    row[field] = text.slice(0, Math.floor(text.length * 0.75)).toWellFormed()
  }
}
