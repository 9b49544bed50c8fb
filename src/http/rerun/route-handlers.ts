/** The handlers of routes, for hooks that run one themselves: in a transaction of theirs, or to see what a GET shows. */
import type { AnyElysia } from 'elysia'
import type { Scope } from '../../scope'

/** What a handler gets, as far as hooks know it: everything is checked and decoded. */
export type Call = {
  request: Request
  /** The path's pattern. */
  route: string
  params: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  set: { status?: number | string; headers: Record<string, unknown> }
  status: (code: number, body: unknown) => unknown
  scope: Scope
}

export type Handler = (call: Call) => unknown

export type Handlers = {
  find(method: string, route: string): Handler | undefined
  /** Patterns of all GET routes. */
  reads(): ReadonlySet<string>
}

/** Of all routes of `app`, which may still be without them. */
export function handlersOf(app: AnyElysia): Handlers {
  let found: { handlers: Map<string, Handler>; reads: Set<string> } | undefined
  const all = () => {
    found ??= {
      handlers: new Map(
        app.routes.map(({ method, path, handler }) => [`${method} ${path}`, handler as unknown as Handler]),
      ),
      reads: new Set(app.routes.filter(({ method }) => method === 'GET').map(({ path }) => path)),
    }
    return found
  }
  return { find: (method, route) => all().handlers.get(`${method} ${route}`), reads: () => all().reads }
}
