/** The remains of another desk: a folder with dumps, saved answers and files, or one file. Nothing outside is read. */
import fs from 'node:fs'
import path from 'node:path'
import { bytesBelow } from '../../base/disk/plain-file'
import { rewriteImages } from '../../base/html/image-addresses'
import { type Progress, startProgress } from '../../base/long-work'
import { BackupError } from '../backup/backup-error'
import type { Losses } from '../import/fitting'
import { type DumpRow, rowsOf } from './sql-dump'
import type { OutFolder } from './write-folder'

/** Folders are entered to this depth. */
const DEPTH_MOST = 12

/** A file of a message: where it may be, or its path in the folder when it is there already. */
export type SourceFile = {
  places: string[]
  /** Its name in the folder. */
  id: string
  url?: string
  filename: string
  content_type?: string
  content_id?: string
  /** Where texts of the source have it as a picture. */
  shown_at?: string
}

export class Source {
  readonly root: string
  /** Names of the files below the root, in order; links are left out. */
  readonly files: string[]
  /** The names of files of JSON that had something of a kind. */
  readonly used = new Set<string>()

  /** @throws BackupError when there is nothing */
  constructor(given: string) {
    const stat = fs.statSync(given, { throwIfNoEntry: false })
    if (!stat) throw new BackupError(`there is no ${given}`)
    this.root = stat.isDirectory() ? given : path.dirname(given)
    this.files = stat.isDirectory() ? [...filesBelow(given)].sort() : [path.basename(given)]
  }

  bytes(file: string): AsyncGenerator<Uint8Array> {
    return bytesBelow(this.root, file)
  }

  /** Begins to read files for some kinds of things. The same files are read again for others. */
  startPass(files: string[], [first, ...more]: string[]): Progress {
    const total = files.reduce((sum, file) => sum + fs.statSync(path.join(this.root, file)).size, 0)
    const progress = startProgress('convert', { total, unit: 'bytes' })
    progress.part = more.length > 0 ? `${first} and ${more.length} more` : first!
    return progress
  }

  /** Reads rows of tables in the order of the dumps, `.sql` files. @throws BackupError when there is none */
  async *rows(tables: string[], prefix = ''): AsyncGenerator<DumpRow> {
    const dumps = this.files.filter((file) => file.endsWith('.sql'))
    if (dumps.length === 0) throw new BackupError('the source has no dump, a file that ends in .sql')
    const wanted = new Set(tables.map((table) => prefix + table))
    using progress = this.startPass(dumps, tables)
    for (const dump of dumps) {
      for await (const { table, row } of rowsOf(progress.through(this.bytes(dump)), wanted)) {
        yield { table: table.slice(prefix.length), row }
      }
    }
  }

  /** Copies the files of a message. @returns those that are there; the others are counted, and lost */
  async attach(files: SourceFile[], out: OutFolder, losses: Losses): Promise<object[]> {
    const attached = []
    for (const [at, { places, id, url: copied, filename, shown_at, ...file }] of files.entries()) {
      const url = copied ?? (await this.#copy(places, id, out))
      if (url && shown_at) this.#shown.set(shown_at, url)
      if (url) attached.push({ url, filename: filename || 'file', ...file })
      else {
        out.missing_files++
        losses.left_out.push({ path: `/attachments/${at}`, message: 'the file is missing in the source' })
      }
    }
    return attached
  }

  /**
   * Points the pictures of HTML to files that were attached until now, also to other messages.
   * @param placeOf gives what is the same in all addresses of a file
   */
  show(html: string, placeOf: (address: string) => string): string {
    return this.#shown.size === 0 ? html : rewriteImages(html, (address) => this.#shown.get(placeOf(address)))
  }

  /** Paths of files in the folder that is written, by their places in texts. */
  readonly #shown = new Map<string, string>()

  async #copy(places: string[], id: string, out: OutFolder): Promise<string | undefined> {
    const known = this.#known()
    const name = places.map((one) => path.normalize(one)).find((one) => known.has(one))
    return name && out.copy(id.replace(/[^\w-]/g, '_').slice(0, 100), this.bytes(name))
  }

  #names: Set<string> | undefined

  #known(): Set<string> {
    this.#names ??= new Set(this.files)
    return this.#names
  }
}

function* filesBelow(root: string, below = '', depth = 0): Generator<string> {
  for (const entry of fs.readdirSync(path.join(root, below), { withFileTypes: true })) {
    const name = path.join(below, entry.name)
    if (entry.isFile()) yield name
    else if (entry.isDirectory() && depth < DEPTH_MOST) yield* filesBelow(root, name, depth + 1)
  }
}
