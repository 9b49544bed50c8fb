/**
 * Reads the rows of a SQL dump: of mysqldump and phpMyAdmin, of pg_dump as COPY or as INSERT. It is a tokenizer over
 * bytes, because a dump has any size and its strings may hold files. No library does it: pg-dump-parser 1.8.1 takes a
 * whole text and gives no rows, and mysqldump 3.2.0 only writes.
 */
import { BackupError } from '../backup/backup-error'
import { Bytes, bareValue, columnsIn, copyValues, isHex, nameOf, unescaped, type Value } from './dump-values'

export type DumpRow = { table: string; row: Record<string, Value> }

const [QUOTE, DOUBLE, TICK, BACKSLASH, OPEN, CLOSE] = [0x27, 0x22, 0x60, 0x5c, 0x28, 0x29]
const [COMMA, END, LINE, DASH, HASH, SLASH, STAR] = [0x2c, 0x3b, 0x0a, 0x2d, 0x23, 0x2f, 0x2a]

/** The beginning of a dump, which says what has written it. */
const START_BYTES = 4096

type State = 'head' | 'quoted' | 'comment' | 'remark' | 'between' | 'value' | 'string' | 'copy'

/** @param chunks of the dump @param tables whose rows are wanted */
export async function* rowsOf(chunks: AsyncIterable<Uint8Array>, tables: Set<string>): AsyncGenerator<DumpRow> {
  const reader = new DumpReader(tables)
  for await (const chunk of chunks) {
    reader.feed(chunk)
    yield* reader.taken()
  }
  reader.end()
}

class DumpReader {
  readonly #tables: Set<string>
  readonly #columns = new Map<string, string[]>()
  #rows: DumpRow[] = []
  #state: State = 'head'
  #bytes = new Bytes()
  /** The byte that ends what is quoted in the head of a statement. */
  #quote = 0
  #last = 0
  #is_postgres = false
  #start = Buffer.alloc(0)
  #table = ''
  #names: string[] = []
  #is_wanted = false
  #row: Value[] = []
  /** The mark in front of a string: `_binary`, `x`, `E`. */
  #mark = ''
  #is_escaped = false
  #may_end = false
  #has_value = false

  constructor(tables: Set<string>) {
    this.#tables = tables
  }

  taken(): DumpRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  /** @throws BackupError when the dump ends where more must follow: it was cut off, and rows are missing */
  end(): void {
    const is_copied = this.#state === 'copy' && this.#bytes.text() === '\\.'
    if (this.#state === 'head' || this.#state === 'comment' || is_copied) return
    throw new BackupError(`the dump ends within a statement${this.#table && `, after rows of ${this.#table}`}`)
  }

  feed(chunk: Uint8Array): void {
    if (this.#start.length < START_BYTES) {
      this.#start = Buffer.concat([this.#start, chunk.subarray(0, START_BYTES)])
      this.#is_postgres ||= this.#start.includes('PostgreSQL database dump')
    }
    for (let at = 0; at < chunk.length; ) at = this.#step(chunk, at)
  }

  /** Reads a byte, or many of a string. @returns the place of the next */
  #step(chunk: Uint8Array, at: number): number {
    if (this.#state === 'string') return this.#inString(chunk, at)
    if (this.#state === 'copy') return this.#inCopy(chunk, at)
    const byte = chunk[at]!
    if (this.#state === 'value') return this.#inRow(byte, at)
    if (this.#state === 'between') this.#betweenRows(byte)
    else if (this.#state === 'quoted') this.#inQuoted(byte)
    else if (this.#state === 'comment') {
      if (byte === LINE) this.#state = 'head'
    } else if (this.#state === 'remark') {
      if (this.#last === STAR && byte === SLASH) this.#state = 'head'
    } else this.#inHead(byte)
    this.#last = byte
    return at + 1
  }

  #inHead(byte: number): void {
    const is_empty = this.#bytes.isBlank()
    if (byte === LINE && is_empty) return void this.#bytes.clear()
    if ((byte === DASH && this.#last === DASH && this.#bytes.hasOne()) || (byte === HASH && is_empty)) {
      this.#bytes.clear()
      this.#state = 'comment'
      return
    }
    if (byte === STAR && this.#last === SLASH) {
      this.#bytes.cutLast()
      this.#state = 'remark'
      return
    }
    this.#bytes.add(byte)
    if (byte === QUOTE || byte === DOUBLE || byte === TICK) {
      this.#quote = byte
      this.#state = 'quoted'
    } else if (byte === END) this.#endOfStatement()
    else if (byte === OPEN && /\bvalues\s*\($/i.test(this.#bytes.tail())) this.#beginRows()
  }

  #inQuoted(byte: number): void {
    this.#bytes.add(byte)
    if (byte === this.#quote && this.#last !== BACKSLASH) this.#state = 'head'
  }

  #endOfStatement(): void {
    const text = this.#bytes.text()
    this.#bytes.clear()
    const made = /^\s*create\s+table\s+(?:if\s+not\s+exists\s+)?([^\s(]+)\s*\(([\s\S]*)\)/i.exec(text)
    if (made) this.#columns.set(nameOf(made[1]!), columnsIn(made[2]!))
    const copy = /^\s*copy\s+(\S+)\s*\(([^)]*)\)\s+from\s+stdin/i.exec(text)
    if (!copy) return
    this.#is_postgres = true
    this.#begin(copy[1]!, copy[2]!.split(',').map(nameOf))
    this.#state = 'copy'
  }

  #beginRows(): void {
    const head = /^\s*(?:insert|replace)\s+(?:ignore\s+)?into\s+([^\s(]+)\s*(?:\(([^)]*)\))?/i.exec(this.#bytes.text())
    this.#bytes.clear()
    this.#begin(head?.[1] ?? '', head?.[2]?.split(',').map(nameOf))
    this.#state = 'value'
  }

  #begin(table: string, names: string[] | undefined): void {
    this.#table = nameOf(table)
    this.#is_wanted = this.#tables.has(this.#table)
    this.#names = names ?? this.#columns.get(this.#table) ?? []
    this.#row = []
    if (this.#is_wanted && this.#names.length === 0)
      throw new BackupError(`the dump does not say the columns of ${this.#table}`)
  }

  #betweenRows(byte: number): void {
    if (byte === OPEN) {
      this.#row = []
      this.#state = 'value'
    } else if (byte === END) this.#state = 'head'
  }

  #inRow(byte: number, at: number): number {
    if (byte === QUOTE) {
      this.#mark = this.#bytes.text().trim().toLowerCase()
      this.#bytes.clear()
      ;[this.#is_escaped, this.#may_end] = [false, false]
      this.#state = 'string'
    } else if (byte === COMMA || byte === CLOSE) {
      // A word that follows a string, such as a cast, says nothing.
      if (!this.#has_value && !this.#bytes.isBlank()) this.#row.push(bareValue(this.#bytes.text().trim()))
      this.#bytes.clear()
      this.#has_value = false
      if (byte === CLOSE) this.#endOfRow()
    } else {
      this.#bytes.add(byte)
    }
    return at + 1
  }

  /** Copies what has no quote and no backslash as a whole. */
  #inString(chunk: Uint8Array, at: number): number {
    const has_escapes = !this.#is_postgres || this.#mark === 'e'
    if (this.#may_end) {
      this.#may_end = false
      if (chunk[at] === QUOTE) {
        this.#keep(chunk.subarray(at, at + 1))
        return at + 1
      }
      this.#endOfString()
      return at
    }
    if (this.#is_escaped) {
      this.#is_escaped = false
      if (this.#is_wanted) this.#bytes.add(unescaped(chunk[at]!))
      return at + 1
    }
    let end = at
    while (end < chunk.length && chunk[end] !== QUOTE && !(has_escapes && chunk[end] === BACKSLASH)) end++
    if (end > at) this.#keep(chunk.subarray(at, end))
    if (end === chunk.length) return end
    if (chunk[end] === QUOTE) this.#may_end = true
    else this.#is_escaped = true
    return end + 1
  }

  #keep(bytes: Uint8Array): void {
    if (this.#is_wanted) this.#bytes.append(bytes)
  }

  #endOfString(): void {
    const value = this.#bytes.take()
    const is_hex = this.#mark === 'x' || (this.#is_postgres && isHex(value))
    this.#row.push(is_hex ? Buffer.from(value.toString('latin1').replace(/^\\x/, ''), 'hex') : value)
    this.#state = 'value'
    this.#has_value = true
  }

  #endOfRow(): void {
    this.#state = 'between'
    this.#give()
  }

  #give(): void {
    if (!this.#is_wanted) return
    const row = Object.fromEntries(this.#names.map((name, at) => [name, this.#row[at] ?? null]))
    this.#rows.push({ table: this.#table, row })
  }

  #inCopy(chunk: Uint8Array, at: number): number {
    const end = chunk.indexOf(LINE, at)
    this.#bytes.append(chunk.subarray(at, end < 0 ? chunk.length : end))
    if (end < 0) return chunk.length
    const line = this.#bytes.take()
    if (line.length === 2 && line[0] === BACKSLASH && line[1] === 0x2e) this.#state = 'head'
    else if (this.#is_wanted && line.length > 0) {
      this.#row = copyValues(line)
      this.#give()
    }
    return end + 1
  }
}
