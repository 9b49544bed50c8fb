/**
 * Keeps what is made faster than it is read in a temporary file. The file has no name, so that nothing else can open it
 * and the system removes it with the process, however that ends.
 */
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import path from 'node:path'

/** Bytes read at once. */
const READ_BYTES = 64 * 1024

export class Spool {
  readonly #file: FileHandle
  #written = 0
  /** Calls of the file under way. */
  #busy = 0
  #state: 'open' | 'ended' | 'failed' | 'closed' = 'open'
  #failure: unknown
  /** Resolves when something was written, or when nothing more comes. */
  #progress = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()

  private constructor(file: FileHandle) {
    this.#file = file
  }

  /** Makes the file in a folder, which is made too when it is missing. Only the user of the process may open them. */
  static async open(folder: string): Promise<Spool> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const name = path.join(folder, crypto.randomUUID())
    const file = await open(name, 'wx+', 0o600)
    await unlink(name)
    return new Spool(file)
  }

  /** Adds bytes. @throws Error when the spool was closed, because nobody reads it any more */
  async write(bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; ) {
      const { bytesWritten } = await this.#use((file) => file.write(bytes, start, bytes.length - start, this.#written))
      start += bytesWritten
      this.#written += bytesWritten
    }
    this.#advance()
  }

  /** Says that all was written. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended'
    this.#advance()
  }

  /** Says that the rest cannot be made: the reader gets `error` after what was written. */
  fail(error: unknown): void {
    if (this.#state === 'open') this.#state = 'failed'
    this.#failure = error
    this.#advance()
  }

  /** Yields all bytes from the first, and waits for those that are not written yet. */
  async *read(): AsyncGenerator<Uint8Array> {
    for (let position = 0; ; ) {
      const { promise } = this.#progress
      if (position < this.#written) {
        const chunk = new Uint8Array(Math.min(READ_BYTES, this.#written - position))
        const at = position
        const { bytesRead } = await this.#use((file) => file.read(chunk, 0, chunk.length, at))
        position += bytesRead
        yield chunk.subarray(0, bytesRead)
      } else if (this.#state === 'open') await promise
      else if (this.#state === 'ended') return
      else throw this.#failure ?? closedError()
    }
  }

  /** Removes the bytes once no call uses them. May be called more than once. */
  async close(): Promise<void> {
    if (!this.#is_closed) {
      this.#state = 'closed'
      this.#advance()
      await this.#closeIfIdle()
    }
    await this.#closed.promise
  }

  get #is_closed(): boolean {
    return this.#state === 'closed'
  }

  async #use<T>(work: (file: FileHandle) => Promise<T>): Promise<T> {
    if (this.#is_closed) throw closedError()
    this.#busy++
    try {
      return await work(this.#file)
    } finally {
      this.#busy--
      if (this.#is_closed) await this.#closeIfIdle()
    }
  }

  async #closeIfIdle(): Promise<void> {
    if (this.#busy > 0) return
    await this.#file.close().finally(() => this.#closed.resolve())
  }

  #advance(): void {
    this.#progress.resolve()
    this.#progress = Promise.withResolvers()
  }
}

function closedError(): Error {
  return new Error('The temporary file was closed')
}
