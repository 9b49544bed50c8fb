/**
 * Words of custom fields: a filter by `custom.<key>` looks for one. A word is a hash of organization, name and value as
 * a UUID, so that it is a facet of a ticket's search document, the key of a tally, and an entry of an index over all
 * organizations. A list has a word for each of its texts.
 */
import { createHash } from 'node:crypto'
import { codePoints, isCleanText } from '../../base/address/characters'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { CUSTOM_KEY, type Custom, type CustomFilter, MOST_CHARACTERS } from './model'

const MOST_FILTERS = 5
/** A number of JSON. */
const NUMBER = /^-?(0|[1-9]\d{0,400})(\.\d{1,400})?([eE][+-]?\d{1,3})?$/

/** The words of custom fields, as the column `custom_words` has them. @returns null when there are none */
export function wordsOfCustom(organization_id: string, custom: Custom): string[] | null {
  const words = Object.entries(custom).flatMap(([key, value]) =>
    [value].flat().map((part) => wordOf(organization_id, key, String(part))),
  )
  return words.length > 0 ? [...new Set(words)] : null
}

/**
 * The words that a filter looks for: of each list one at least.
 * @param path in front of the name of a field, for faults
 * @throws VALIDATION_ERROR with all that is wrong with it
 */
export function wordsOfFilter(organization_id: string, filter: CustomFilter = {}, path = '/query/custom.'): string[][] {
  const entries = Object.entries(filter)
  const errors = entries.flatMap(([key, text], index) => {
    const message = faultOf(key, text, index)
    return message ? { path: `${path}${key}`, message } : []
  })
  if (errors.length > 0) throw new ApiError('VALIDATION_ERROR', { errors }, 422)
  return entries.map(([key, text]) => {
    // A number is known by the text that JSON has for it: 1.50 finds 1.5.
    const texts = NUMBER.test(text) && Number.isFinite(Number(text)) ? [text, String(Number(text))] : [text]
    return [...new Set(texts)].map((text) => wordOf(organization_id, key, text))
  })
}

/** SQL for the condition of a filter on a table with `custom_words`: empty, or `and …`. @param words its column */
export function hasWords(sql: Sql, words: Fragment, lists: string[][]): Fragment {
  return lists.reduce((conditions, list) => sql`${conditions} and ${words} && ${list}::uuid[]`, sql``)
}

function faultOf(key: string, text: string, index: number): string | undefined {
  if (index >= MOST_FILTERS) return `must be one of at most ${MOST_FILTERS} custom fields`
  if (!CUSTOM_KEY.test(key)) return 'must name a custom field'
  if (!isCleanText(text) || codePoints(text) > MOST_CHARACTERS) {
    return `must be text of at most ${MOST_CHARACTERS} characters`
  }
  return undefined
}

/** A UUID of the version that is free to use. */
function wordOf(organization_id: string, key: string, text: string): string {
  const hex = createHash('sha256').update(`${organization_id}\n${key}\n${text}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
