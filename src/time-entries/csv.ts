/** Writes time entries as CSV (RFC 4180). Pure. */
import { stringify } from 'csv-stringify/sync'

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

/** `rate` and `amount` as decimal text with 2 places. */
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

export const CSV_HEADER = toCsv([COLUMNS])

/** The rows as text of the file, each with its line end. */
export function csvRows(rows: CsvRow[]): string {
  return toCsv(
    rows.map((row) => [
      row.date,
      row.code,
      row.subject,
      row.company ?? '',
      row.user,
      String(row.duration_minutes),
      row.description ?? '',
      String(row.billable),
      row.rate ?? '',
      row.amount ?? '',
      row.currency,
    ]),
  )
}

function toCsv(rows: string[][]): string {
  // Without `quoted_match` the library leaves a lone CR or LF unquoted, because neither ends a record here.
  return stringify(
    rows.map((cells) => cells.map(guard)),
    { record_delimiter: '\r\n', quoted_match: /[\r\n]/ },
  )
}

/** Makes text of a cell that a spreadsheet would run as a formula. */
function guard(cell: string): string {
  return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
}
