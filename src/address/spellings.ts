/** The forms that one address can have in the database. */
import type { Fragment, Sql } from '../db/transact'
import { asciiAddress, unicodeAddress } from './email'

/**
 * SQL for the list of what `lower(email)` can be for this address: as given, and with the domain in both of its forms
 * (Punycode and Unicode), because either form may have been stored. With null it matches nothing.
 */
export function spellings(sql: Sql, email: string | null): Fragment {
  const [ascii, unicode] = email === null ? [null, null] : [asciiAddress(email), unicodeAddress(email)]
  return sql`(lower(${email}), lower(${ascii}), lower(${unicode}))`
}
