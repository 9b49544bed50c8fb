/** The cells of time entries as CSV. Pure. */
import { type CsvColumn, type CsvForm, csvRows, decimalCell } from '../../base/shapes/csv-text'

/** The columns, and which have what people wrote. */
export const COLUMNS: CsvColumn[] = [
  { name: 'Date' },
  { name: 'Ticket Code' },
  { name: 'Ticket Subject', written: true },
  { name: 'Company', written: true },
  { name: 'User', written: true },
  { name: 'Duration' },
  { name: 'Description', written: true },
  { name: 'Billable' },
  { name: 'Rate' },
  { name: 'Amount' },
  { name: 'Currency' },
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

/** The rows as text of the file, each with its line end. */
export function rowsOfEntries(rows: CsvRow[], form: CsvForm): string {
  const cells = rows.map((row) => [
    row.date,
    row.code,
    row.subject,
    row.company ?? '',
    row.user,
    String(row.duration_minutes),
    row.description ?? '',
    String(row.billable),
    decimalCell(row.rate, form),
    decimalCell(row.amount, form),
    row.currency,
  ])
  return csvRows(COLUMNS, cells, form)
}
