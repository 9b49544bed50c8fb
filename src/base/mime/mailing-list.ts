/** Reads what mailing lists write into the header of the mail that they pass on. Pure. */
import { type Address, parseAddresses } from './addresses'

/** A mailing list, as far as its mail names it. */
export type List = {
  /** The words in the brackets of List-Id (RFC 2919), in lower case; null without one. */
  id: string | null
  /** Addresses to which people write to the list (List-Post, RFC 2369). */
  addresses: string[]
}

type Fields = { list_id: string | null; list_post: string | null; precedence: string | null; from: Address | null }

/** Longest field that is read. */
const MAX_LENGTH = 1000

/** Reads the list that sent a message: it has a List-Id, is marked as mail of a list, or its From is `… via <list>`. */
export function readList({ list_id, list_post, precedence, from }: Fields): List | null {
  const is_marked = /^\s*list\b/i.test(precedence ?? '') || / via /i.test(from?.name ?? '')
  if (list_id === null && !is_marked) return null
  const value = list_id?.slice(-MAX_LENGTH).trim().toLowerCase() ?? null
  const posts = (list_post ?? '').slice(0, MAX_LENGTH).matchAll(/<mailto:([^<>?]+)/gi)
  return {
    id: value === null ? null : (/<([^<>]*)>[^<>]*$/.exec(value)?.[1]?.trim() ?? value),
    addresses: [...posts].flatMap(([, address]) => parseAddresses(address!)).map(({ address }) => address),
  }
}

/** True for an address of the list: `team@lists.example` belongs to the List-Id `team.lists.example`. */
export function isOfList({ id, addresses }: List, address: string): boolean {
  const lower = address.toLowerCase()
  return lower.replace('@', '.') === id || addresses.some((one) => one.toLowerCase() === lower)
}
