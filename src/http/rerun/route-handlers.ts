/** Finds the handlers of routes, for hooks that call one: in their own transaction, or to see what a GET shows. */
import type { AnyElysia } from 'elysia'
import type { Scope } from '../../base/scope'

/** The part of Elysia's context that handlers use. All of it is validated and decoded. */
export type Call = {
  request: Request
  /** The pattern of the path, such as `/api/v1/tickets/:ticket_id`. */
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
  /** The patterns of all GET routes. */
  reads(): ReadonlySet<string>
}

/** Finds handlers among the routes of `app`. They are looked up at the first call, when all routes have been added. */
export function handlersOf(app: AnyElysia): Handlers {
  let found: { handlers: Map<string, Handler>; reads: Set<string> } | undefined
  const all = () => {
    // Elysia's type of a handler asks for its whole context; handlers here read no more than a call has.
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
