/** The query parameters of everything that answers with CSV. */
import type { CsvForm } from './csv-text'
import { queryFlag, queryWord } from './query'

export const CSV_FORM = {
  bom: queryFlag({ description: 'Whether the file begins with a byte order mark; default false' }),
  delimiter: queryWord(['comma', 'semicolon', 'tab'], { description: 'Between cells; default comma' }),
  decimal: queryWord(['point', 'comma'], { description: 'In numbers with decimals; default point' }),
} satisfies Record<keyof CsvForm, unknown>

/** The headers of a file. */
export function csvHeaders(filename: string): Record<string, string> {
  return { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': `attachment; filename="${filename}"` }
}
