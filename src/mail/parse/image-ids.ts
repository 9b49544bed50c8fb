/** Finds images of a message by the addresses that its HTML gives them (RFC 2557). Pure. */
import { contentId, contentLocation } from '../../base/mime/part-name'
import type { Part } from '../../base/mime/parts'

/** Where relative addresses of a message without any location are. */
const NOWHERE = 'thismessage:/'
const MAX_ADDRESS = 2000

/** Gives the id by which the HTML may name a part: its Content-ID, else its Content-Location; null without either. */
export function idOf(part: Part): string | null {
  return contentId(part) ?? contentLocation(part)
}

/** Makes the function that finds the id of an image by its address, which may be relative; null for other addresses. */
export function imagesByLocation(root: Part): (address: string) => string | null {
  const parts = leavesOf(root)
  const base = parts.find(({ content_type }) => content_type === 'text/html')
  const base_url = (base && contentLocation(base)) ?? contentLocation(root) ?? NOWHERE
  const ids = new Map<string, string>()
  for (const part of parts) {
    const location = contentLocation(part)
    const id = idOf(part)
    if (location === null || id === null || !/^(?:image|application)\//.test(part.content_type)) continue
    for (const address of [location, absolute(location, base_url)]) if (!ids.has(address)) ids.set(address, id)
  }
  if (ids.size === 0) return () => null
  return (address) => ids.get(address) ?? ids.get(absolute(address, base_url)) ?? null
}

function leavesOf(part: Part): Part[] {
  return part.children.length === 0 ? [part] : part.children.flatMap(leavesOf)
}

function absolute(address: string, base_url: string): string {
  if (address.length > MAX_ADDRESS) return address
  return URL.parse(address, URL.canParse(base_url) ? base_url : NOWHERE)?.href ?? address
}
