/** The words in which results of SPF, DKIM, DMARC and ARC are given (RFC 8601, section 2.7). Pure. */
import { AUTHENTICATION_RESULTS } from '../../base/db/schema'

export type Result = (typeof AUTHENTICATION_RESULTS)[number]

/** The results for one message. */
export type Authentication = Record<'spf' | 'dkim' | 'dmarc' | 'arc', Result>

/** Reads a result; `none` for a text that RFC 8601 does not know. */
export function resultOf(text: string | undefined): Result {
  const word = text?.toLowerCase()
  return AUTHENTICATION_RESULTS.find((result) => result === word) ?? (word === 'hardfail' ? 'fail' : 'none')
}

/** Gives one result for several signatures: `pass` when one passes, else the first that says anything. */
export function bestOf(results: Result[]): Result {
  return results.find((result) => result === 'pass') ?? results.find((result) => result !== 'none') ?? 'none'
}
