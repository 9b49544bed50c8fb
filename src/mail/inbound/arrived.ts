/** Keeps small originals that have just arrived until this process files them, which then need not be read again. */
import { LRUCache } from 'lru-cache'
import { storage } from '../../desk/attachments/storage'

/** Bytes of all of them. What another process files is pushed out by what comes later. */
const MOST_BYTES = 4_000_000

const arrived = new LRUCache<string, Uint8Array>({ maxSize: MOST_BYTES, sizeCalculation: ({ length }) => length + 1 })

/** Passes on the bytes of an original, and keeps those that come in one piece. */
export async function* keepSmall(storage_key: string, raw: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of raw) {
    if (pieces.length < 2) pieces.push(piece)
    yield piece
  }
  if (pieces.length === 1) arrived.set(storage_key, pieces[0]!)
}

/** Reads an original. Another attempt to file it reads what is stored. */
export function readOriginal(storage_key: string): Promise<Uint8Array> | Uint8Array {
  const bytes = arrived.get(storage_key)
  arrived.delete(storage_key)
  return bytes ?? storage().read(storage_key)
}
