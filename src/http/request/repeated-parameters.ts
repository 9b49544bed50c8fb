/** Refuses a query that gives one name twice: whichever value counted, the other would be lost without a word. */
import Elysia from 'elysia'
import { ApiError, type Fault } from '../../base/errors'
import { isApi } from './url'
import { MOST_FAULTS } from './validation-errors'

/** Thrown before all handlers; `error-answers.ts` checks the path before it. */
export class RepeatedParameters extends ApiError {
  /** @param others faults of the same request, those of the same parameters left out */
  constructor(names: string[], others: Fault[] = []) {
    const own = names.map((name) => ({ path: `/query/${pointer(name)}`, message: 'must be given once' }))
    const paths = new Set(own.map(({ path }) => path))
    super('VALIDATION_ERROR', { errors: [...own, ...others.filter(({ path }) => !paths.has(path))] })
  }
}

/** Returns the plugin that refuses such a query on every route of the API. */
export function singleParameters() {
  return new Elysia({ name: 'single-parameters' }).onBeforeHandle({ as: 'global' }, ({ request }) => {
    const names = repeatedNames(request.url)
    if (names.length > 0) throw new RepeatedParameters(names)
  })
}

/** The names that the query of a URL of the API gives more than once, whatever way they are escaped. */
export function repeatedNames(url: string): string[] {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('&', start) || !isApi(url)) return []
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of new URLSearchParams(url.slice(start)).keys()) (seen.has(name) ? repeated : seen).add(name)
  return [...repeated].slice(0, MOST_FAULTS)
}

/** A name as a part of a JSON pointer (RFC 6901). */
function pointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
