/** Time entries as CSV (interface: Time entries; RFC 4180). Pure. */
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

/** Rows of the file, each with its line end. */
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
  // By itself the library quotes no lone CR or LF, because neither ends a record here.
  return stringify(
    rows.map((cells) => cells.map(guard)),
    { record_delimiter: '\r\n', quoted_match: /[\r\n]/ },
  )
}

/** What a spreadsheet would run as a formula is made text. */
function guard(cell: string): string {
  return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
}
