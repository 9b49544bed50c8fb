/** Ids as clients write them. Pure. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/**
 * Ids of a body or query as the database stores them, each once. Strings that are no UUID name nothing and are left
 * out.
 */
export function asIds(texts: string[]): string[] {
  return [...new Set(texts.map((text) => text.toLowerCase()))].filter(isUuid)
}

/** The lowest UUID that an id made in that millisecond can be (RFC 9562: 48 bits of time come first). */
export function firstIdAt(time_ms: number): string {
  const hex = Math.max(time_ms, 0).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The UUID that follows one in the order of ids. */
export function idAfter(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
