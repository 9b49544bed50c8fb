/** Makes sure that a request has a URL that can be parsed, whatever its Host header says. */

/** Elysia looks for the path of a URL behind its 11th character, so scheme and host must be at least as long. */
const MIN_ORIGIN = 11

/**
 * Replaces the host of a URL that cannot be parsed or whose host is too short. Bun puts the Host header before the path
 * as it came, or leaves it out when it is missing. Only path and query are used afterwards.
 */
export function ensureUrl(request: Request): void {
  const { url } = request
  const path = pathStart(url)
  if (path >= MIN_ORIGIN && URL.canParse(url)) return
  Object.defineProperty(request, 'url', { value: `http://localhost${url.slice(path)}` })
}

/** Returns where the path begins in a URL, or in a path without a host. */
function pathStart(url: string): number {
  return url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2)
}

/** True for a URL of the API, as opposed to the probes and the documentation. */
export function isApi(url: string): boolean {
  return url.startsWith('/api/v1', pathStart(url))
}

/** True for the URL at which programs find tools (`http/mcp`): it takes the credentials of the API. */
export function isMcp(url: string): boolean {
  return /^\/mcp(?:$|\?)/.test(url.slice(pathStart(url)))
}

/** True for a URL that takes mail: its token is all that says who sends, so no other credential is looked at. */
export function isInlet(url: string): boolean {
  return url.startsWith('/api/v1/inbound/', pathStart(url))
}

/** True when percent-encoded bytes of the URL are not UTF-8. A lone percent sign counts as itself. */
export function isBadEncoding(url: string): boolean {
  if (!/%[89a-f]/i.test(url)) return false
  try {
    decodeURIComponent(url.replace(/%(?![0-9a-f]{2})/gi, '%25'))
    return false
  } catch {
    return true
  }
}
