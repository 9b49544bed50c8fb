import { fold } from '../../base/shapes/fold'

/** In bytes, what an index entry holds. */
const MAX_SEARCH_TEXT = 2400

/** Makes the text in which contacts are searched. Of many long addresses the last ones may be missing. */
export function searchText({ name, emails }: { name: string; emails: string[] }): string {
  const text = Buffer.from(fold([name, ...emails].join('\n')).toWellFormed())
  return new TextDecoder().decode(text.subarray(0, MAX_SEARCH_TEXT), { stream: true })
}
