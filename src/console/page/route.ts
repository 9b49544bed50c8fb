/** The address of a view. It is all in the hash, such as `#/<organization>/tickets/<id>?status=open`. */
import { Cell, useCell } from './cell'

export type Route = { organization_id: string; path: string[]; query: URLSearchParams }

const route = new Cell(read())
window.addEventListener('hashchange', () => {
  route.value = read()
})

export function useRoute(): Route {
  return useCell(route)
}

/** Hears of each address before its view is drawn. @returns what ends it */
export function onRoute(hear: (now: Route) => void): () => void {
  return route.listen(() => hear(route.value))
}

/** The address of a view, for a link. */
export function hrefOf(organization_id: string, path: string[], query?: URLSearchParams): string {
  const words = query?.toString()
  return `#/${[organization_id, ...path].map(encodeURIComponent).join('/')}${words ? `?${words}` : ''}`
}

/** Opens a view. @param replace true when the way back shall not lead to the present one */
export function go(href: string, replace = false): void {
  if (href === location.hash) return
  if (!replace) location.hash = href
  else {
    history.replaceState(null, '', href)
    route.value = read()
  }
}

/** The query with other values; an empty one is left out. */
export function changed(query: URLSearchParams, values: Record<string, string | undefined>): URLSearchParams {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(values)) {
    if (value) next.set(name, value)
    else next.delete(name)
  }
  return next
}

function read(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [organization_id = '', ...rest] = path.split('/').filter(Boolean).map(decode)
  return { organization_id, path: rest, query: new URLSearchParams(query) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
