/** Writes the folder that an import reads. */
import fs from 'node:fs'
import { fileStore } from '../../desk/attachments/storage'

type FileName = 'companies' | 'users' | 'contacts' | 'labels' | 'tickets' | 'participants' | 'messages' | 'time_entries'

/** Text that is written at once. */
const CHUNK = 256 * 1024

/** The working directory as a folder for an import. Fields that are undefined are left out. */
export class OutFolder {
  readonly rows: Record<string, number> = {}
  files = 0
  /** Files that rows name and that the source does not have. */
  missing_files = 0
  readonly #open = new Map<string, { fd: number; text: string[]; size: number }>()
  readonly #store = fileStore('.')

  write(name: FileName, row: object): void {
    const file = this.#open.get(name) ?? { fd: fs.openSync(`${name}.jsonl`, 'wx', 0o600), text: [], size: 0 }
    this.#open.set(name, file)
    const line = `${JSON.stringify(row)}\n`
    file.text.push(line)
    file.size += line.length
    if (file.size > CHUNK) this.#flush(file)
    this.rows[name] = (this.rows[name] ?? 0) + 1
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
