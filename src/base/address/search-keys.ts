/** Makes the keys by which a search of the ledger finds mail. */
import { addressKey, mailboxKey } from './email'

/** Gives each address, the one without its `+tag`, and its domain with `@`, in the form that keys have. */
export function searchKeys(addresses: (string | null)[]): string[] {
  const given = addresses.filter((address) => address !== null && address !== '') as string[]
  const keys = given.flatMap((address) => {
    const key = addressKey(address)
    return [key, mailboxKey(address), key.slice(key.lastIndexOf('@'))]
  })
  return [...new Set(keys)]
}
