/** A request's URL, which must be one whatever its Host header says. */

/** How many characters a URL has at least before its path: Elysia looks for the path from there on. */
const MIN_ORIGIN = 11

/**
 * Bun puts the Host header before the path as it is, or leaves it out when it is missing or cannot be one. What is no
 * URL then, or has too short a host, gets another host; nothing but the path and the query counts here.
 */
export function ensureUrl(request: Request): void {
  const { url } = request
  const path = pathStart(url)
  if (path >= MIN_ORIGIN && URL.canParse(url)) return
  Object.defineProperty(request, 'url', { value: `http://localhost${url.slice(path)}` })
}

/** Where the path of a URL begins, or of what is a path alone. */
export function pathStart(url: string): number {
  return url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2)
}
