/** The keys of stored bytes. A key comes from a row, and a row may come from a backup that somebody changed. */
import type { Store } from './store'

/** Attachments, originals of mail, and what the doctor writes to see if it can. */
const KEY = /^(?:attachments|inbound|doctor)\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Tells if this service makes such keys. Others could lead out of the folder or the prefix of the bucket. */
export function isStorageKey(key: string): boolean {
  return KEY.test(key)
}

/**
 * Wraps a store: there is nothing under a key that this service does not make, and nothing is written or removed there.
 */
export function onlyKnownKeys(store: Store): Store {
  const known = async (key: string) => {
    if (!isStorageKey(key)) throw Object.assign(new Error('ENOENT: no key of this service'), { code: 'ENOENT' })
    return key
  }
  return {
    put: async (key, bytes) => store.put(await known(key), bytes),
    open: async (key, range) => store.open(await known(key), range),
    read: async (key) => store.read(await known(key)),
    fileOf: async (key) => store.fileOf(await known(key)),
    remove: async (key) => store.remove(await known(key)),
  }
}
