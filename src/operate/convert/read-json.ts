/**
 * Reads JSON of other desks: exports with an object on each line, and saved answers of their APIs, such as
 * `{"tickets": [...]}`. Objects that stand alone are of the kind that the name of their file says.
 */
import { BackupError } from '../backup/backup-error'
import { fieldsOf, objectsOf } from './foreign-values'
import type { Source } from './source'

/** Whatever another desk has: each field may be of any type, and is looked at before it is used. */
export type Foreign = Record<string, unknown>

/** An object, and the first number in the name of its file, which tells the ticket of saved answers without one. */
type Item = { kind: string; item: Foreign; number: string | undefined }

/** The largest piece that is parsed at once: a line, or a saved answer. */
const MOST_BYTES = 64 * 1024 * 1024

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPENS, CLOSES] = [new Set([0x7b, 0x5b]), new Set([0x7d, 0x5d])]

/**
 * Reads the objects of some kinds, file by file.
 * @param kinds their names in the plural, as files and answers have them
 */
export async function* itemsOf(source: Source, kinds: string[]): AsyncGenerator<Item> {
  const files = jsonFiles(source)
  if (files.length === 0) throw new BackupError('the source has no file that ends in .json, .jsonl or .ndjson')
  using progress = source.startPass(files, kinds)
  for (const file of files) {
    const named = kindOf(file, kinds)
    const number = /\d+/.exec(file)?.[0]
    for await (const value of valuesOf(progress.through(source.bytes(file)), file)) {
      for (const { kind, item } of objectsIn(value, named, kinds)) {
        source.used.add(file)
        yield { kind, item, number }
      }
    }
  }
}

export function jsonFiles(source: Source): string[] {
  return source.files.filter((file) => /\.(?:json|jsonl|ndjson)$/i.test(file))
}

/** The kind that is named last: `tickets/12/comments.json` has comments. */
function kindOf(file: string, kinds: string[]): string | undefined {
  return file
    .toLowerCase()
    .split(/[^a-z_]+/)
    .findLast((word) => kinds.includes(word))
}

function* objectsIn(
  value: unknown,
  named: string | undefined,
  kinds: string[],
): Generator<{ kind: string; item: Foreign }> {
  // A list may be in a list, to any depth.
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (Array.isArray(next)) for (let at = next.length - 1; at >= 0; at--) open.push(next[at])
    else if (typeof next === 'object' && next !== null) yield* objectsOfOne(next as Foreign, named, kinds)
  }
}

function* objectsOfOne(item: Foreign, named: string | undefined, kinds: string[]) {
  const answered = item.id === undefined ? kinds.filter((kind) => Array.isArray(item[kind])) : []
  for (const kind of answered) for (const one of objectsOf(item[kind])) yield { kind, item: one }
  const single =
    item.id === undefined ? kinds.find((kind) => fieldsOf(item[singularOf(kind)]).id !== undefined) : undefined
  if (single) yield { kind: single, item: fieldsOf(item[singularOf(single)]) }
  if (answered.length === 0 && !single && named && item.id !== undefined) yield { kind: named, item }
}

function singularOf(kind: string): string {
  return kind.replace(/ies$/, 'y').replace(/s$/, '')
}

/** The values of a file, which may be one, one on each line, or the items of one list. */
async function* valuesOf(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<unknown> {
  const splitter = new Splitter(file)
  for await (const chunk of chunks) {
    splitter.feed(chunk)
    yield* splitter.taken()
  }
  if (!splitter.is_done) throw new BackupError(`${file} ends within a value`)
}

/** Finds where the values begin and end: objects, and those in a list around all of them. */
class Splitter {
  #values: unknown[] = []
  #pieces: Uint8Array[] = []
  #size = 0
  #depth = 0
  #in_list = false
  #in_string = false
  #is_escaped = false
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  get is_done(): boolean {
    return this.#depth === 0
  }

  taken(): unknown[] {
    const values = this.#values
    this.#values = []
    return values
  }

  feed(chunk: Uint8Array): void {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (this.#in_string) this.#inString(byte)
      else if (byte === QUOTE) this.#in_string = true
      else if (OPENS.has(byte)) {
        if (this.#depth === 0 && byte === 0x5b && !this.#in_list) this.#in_list = true
        else if (this.#depth++ === 0) from = at
      } else if (CLOSES.has(byte)) {
        if (this.#depth === 0) this.#in_list = false
        else if (--this.#depth === 0) this.#end(chunk.subarray(from, at + 1))
      }
    }
    if (this.#depth > 0) this.#keep(chunk.subarray(from))
  }

  #inString(byte: number): void {
    if (this.#is_escaped) this.#is_escaped = false
    else if (byte === BACKSLASH) this.#is_escaped = true
    else if (byte === QUOTE) this.#in_string = false
  }

  #keep(bytes: Uint8Array): void {
    this.#pieces.push(bytes)
    this.#size += bytes.length
    if (this.#size > MOST_BYTES) throw new BackupError(`${this.#file} has a value of more than ${MOST_BYTES} bytes`)
  }

  #end(bytes: Uint8Array): void {
    this.#keep(bytes)
    const text = Buffer.concat(this.#pieces).toString()
    this.#pieces = []
    this.#size = 0
    try {
      this.#values.push(JSON.parse(text))
    } catch {
      throw new BackupError(`${this.#file} is no JSON`)
    }
  }
}
