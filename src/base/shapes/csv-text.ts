/** Writes CSV (RFC 4180). Pure. */
import { type CastingContext, stringify } from 'csv-stringify/sync'

/** The form of a file: programs want the defaults, Excel its own. */
export type CsvForm = { bom?: boolean; delimiter?: 'comma' | 'semicolon' | 'tab'; decimal?: 'point' | 'comma' }

/** A column: `written` when its cells have what people wrote. */
export type CsvColumn = { name: string; written?: true }

const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t' }

/** The first line of the file, with its end. */
export function csvHeader(columns: CsvColumn[], { bom, delimiter = 'comma' }: CsvForm): string {
  return `${bom ? '\uFEFF' : ''}${columns.map(({ name }) => name).join(DELIMITERS[delimiter])}\r\n`
}

/** The rows as text of the file, each with its line end. */
export function csvRows(columns: CsvColumn[], rows: string[][], { delimiter = 'comma' }: CsvForm): string {
  // Cells with what people wrote are always quoted, so that no program takes a sign in them for the end of the cell or
  // row. Without text a cell stays empty.
  const cellOf = (text: string, { index }: CastingContext) => {
    return { value: guard(text), quoted: text !== '' && columns[index]!.written === true }
  }
  return stringify(rows, { delimiter: DELIMITERS[delimiter], record_delimiter: '\r\n', cast: { string: cellOf } })
}

/** A decimal number as a cell. @param text with a point, null for an empty cell */
export function decimalCell(text: string | null, { decimal = 'point' }: CsvForm): string {
  return (decimal === 'comma' ? text?.replace('.', ',') : text) ?? ''
}

/**
 * Makes text of a cell that a spreadsheet would run as a formula: = + - @, also in full width, and tab, CR and LF
 * before them (OWASP, CSV injection).
 */
function guard(cell: string): string {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(cell) ? `'${cell}` : cell
}
