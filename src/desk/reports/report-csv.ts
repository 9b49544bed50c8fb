/** Reports as CSV. Pure. */
import { type CsvColumn, type CsvForm, csvHeader, csvRows, decimalCell } from '../../base/shapes/csv-text'
import type { Group, ReportRow } from './model'

const FIGURES = [
  ...['Created', 'Resolved', 'Reopened', 'Replies', 'Backlog', 'First Reply Minutes Median', 'First Reply Minutes P90'],
  ...['Resolve Minutes Median', 'Resolve Minutes P90', 'SLA Kept', 'SLA Breached', 'Ratings Good', 'Ratings Bad'],
]

/** The file of a report. The first column has the group by its name; an empty cell is no group, or no figure. */
export function reportCsv(rows: ReportRow[], group_by: Group, form: CsvForm): string {
  const name = `${group_by[0]!.toUpperCase()}${group_by.slice(1)}`
  const columns: CsvColumn[] = [{ name, written: true }, ...FIGURES.map((name) => ({ name }))]
  const cells = rows.map((row) => {
    const group = row[group_by]
    const { created, resolved, reopened, replies, backlog, first_reply_minutes, resolve_minutes, sla, ratings } = row
    const decimals = [first_reply_minutes, resolve_minutes].flatMap(({ median, p90 }) => [median, p90])
    return [
      (typeof group === 'object' ? group?.name : group) ?? '',
      ...[created, resolved, reopened, replies, backlog].map(String),
      ...decimals.map((value) => decimalCell(value === null ? null : String(value), form)),
      ...[sla.kept, sla.breached, ratings.good, ratings.bad].map(String),
    ]
  })
  return csvHeader(columns, form) + csvRows(columns, cells, form)
}
