/** Writes time entries as CSV (RFC 4180). Pure. */
import { type CastingContext, stringify } from 'csv-stringify/sync'
import type { CsvForm } from './model'

const COLUMNS = [
  'Date',
  'Ticket Code',
  'Ticket Subject',
  'Company',
  'User',
  'Duration',
  'Description',
  'Billable',
  'Rate',
  'Amount',
  'Currency',
]

/** `rate` and `amount` as decimal text with the places of the currency, a rate with 2 at least. */
export type CsvRow = {
  date: string
  code: string
  subject: string
  company: string | null
  user: string
  duration_minutes: number
  description: string | null
  billable: boolean
  rate: string | null
  amount: string | null
  currency: string
}

/** The columns with what people wrote. */
const WRITTEN = new Set(['Ticket Subject', 'Company', 'User', 'Description'])

const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t' }

/** The first line of the file, with its end. */
export function csvHeader({ bom, delimiter = 'comma' }: CsvForm): string {
  return `${bom ? '\uFEFF' : ''}${COLUMNS.join(DELIMITERS[delimiter])}\r\n`
}

/** The rows as text of the file, each with its line end. */
export function csvRows(rows: CsvRow[], { delimiter = 'comma', decimal = 'point' }: CsvForm): string {
  const money = (amount: string | null) => (decimal === 'comma' ? amount?.replace('.', ',') : amount) ?? ''
  const cells = rows.map((row) => [
    row.date,
    row.code,
    row.subject,
    row.company ?? '',
    row.user,
    String(row.duration_minutes),
    row.description ?? '',
    String(row.billable),
    money(row.rate),
    money(row.amount),
    row.currency,
  ])
  return stringify(cells, { delimiter: DELIMITERS[delimiter], record_delimiter: '\r\n', cast: { string: cellOf } })
}

/**
 * Cells with what people wrote are always quoted, so that no program takes a sign in them for the end of the cell or
 * row. Without text a cell stays empty.
 */
function cellOf(text: string, { index }: CastingContext) {
  return { value: guard(text), quoted: text !== '' && WRITTEN.has(COLUMNS[index]!) }
}

/**
 * Makes text of a cell that a spreadsheet would run as a formula: = + - @, also in full width, and tab, CR and LF
 * before them (OWASP, CSV injection).
 */
function guard(cell: string): string {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(cell) ? `'${cell}` : cell
}
