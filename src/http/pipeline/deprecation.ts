/** Headers of routes that will go: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), also on errors. */
import Elysia from 'elysia'
import { config } from '../../base/config'
import type { Declarations } from '../request/declarations'

/** A plugin that tells callers of a deprecated route until when it stays. */
export function deprecation(declarations: Declarations) {
  return new Elysia({ name: 'deprecation' }).onTransform({ as: 'global' }, ({ request, route, set }) => {
    const ending = declarations.get(`${request.method === 'HEAD' ? 'GET' : request.method} ${route}`)?.deprecation
    if (!ending) return
    set.headers.deprecation = `@${Date.parse(ending.since) / 1000}`
    set.headers.sunset = new Date(ending.sunset).toUTCString()
    set.headers.link = `<${config.BASE_URL}/swagger>; rel="deprecation"; type="text/html"`
  })
}
