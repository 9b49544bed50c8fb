/** A place that keeps bytes by key: see `storage.ts`. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>

/** Size in bytes, and SHA-256 in lower case hex. */
export type Stored = { size: number; digest: string }

/** Positions of the first and the last byte. */
export type ByteRange = { start: number; end: number }

export type Store = {
  /** Writes bytes: durable when it resolves, with nothing left behind when it rejects. */
  put(key: string, bytes: Bytes): Promise<Stored>
  /** Reads bytes, or a range of them. Rejects when there is nothing under the key. */
  open(key: string, range?: ByteRange): Promise<ReadableStream<Uint8Array>>
  /** Reads all bytes. Rejects when there is nothing under the key. */
  read(key: string): Promise<Uint8Array>
  /** Names the file of a key, for a process that reads it itself; null in a store without files. */
  fileOf(key: string): Promise<string | null>
  /** Removes bytes. It is not an error when there are none. */
  remove(key: string): Promise<void>
}
