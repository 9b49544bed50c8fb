import { fold } from '../../base/shapes/fold'

/**
 * In UTF-16 units: 2,400 bytes, which an index entry holds. Only names of hundreds of ligatures are longer when folded.
 */
const MAX_SEARCH_TEXT = 800

/** Makes the text in which contacts are searched. */
export function searchText({ name, email }: { name: string; email: string }): string {
  return fold(`${name}\n${email}`).slice(0, MAX_SEARCH_TEXT).toWellFormed()
}
