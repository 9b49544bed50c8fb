/** Ids as clients write them. Pure. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Ids of a body or query as the database stores them, each once. Strings that are no UUID name nothing and are left out. */
export function asIds(texts: string[]): string[] {
  return [...new Set(texts.map((text) => text.toLowerCase()))].filter(isUuid)
}
