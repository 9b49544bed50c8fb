/** Keeps prepared texts, such as macros and signatures, with their form. */
import { type Column, type SQL, sql } from 'drizzle-orm'
import { type Format, formOfText } from '../html/formats'

/** The columns that a change sets. */
type PreparedText = { text?: string | null; format?: Format | null | SQL }

/**
 * Takes a blank text for none. A form alone is for the text that is kept, if there is one.
 * @param kept the column of the text
 */
export function preparedText(text: string | null | undefined, format: Format | undefined, kept: Column): PreparedText {
  if (text === undefined) return format ? { format: sql`case when ${kept} is not null then ${format} end` } : {}
  const given = text?.trim() ? text : null
  return { text: given, format: formOfText(given, format) }
}
