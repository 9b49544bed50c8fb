/** The report of tickets: plots over time, a table by group, and the file of it. */
import type { ReportRow } from '../../../desk/reports/model'
import { query } from '../api'
import { csvForm } from '../customers/amounts'
import { download } from '../download'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useLive } from '../live'
import { ScrollTable } from '../rows'
import { Action } from '../ui/buttons'
import { day as dayOf, duration, number } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Plot, type Series } from './plot'

const GROUPS = ['day', 'week', 'user', 'team', 'mailbox', 'label', 'company', 'priority'] as const
type Group = (typeof GROUPS)[number]

const EVERY_MS = 60_000
const DAY_MS = 86_400_000
const DAY_S = 86_400
/** Days that are shown at first. */
const DAYS = 30

export function TicketReport(view: View) {
  const { api, route } = view
  const specs: Spec[] = [
    { kind: 'date', name: 'from', label: t('time.from') },
    { kind: 'date', name: 'to', label: t('time.to') },
    {
      kind: 'choice',
      name: 'group_by',
      label: t('reports.by'),
      options: GROUPS.map((one) => ({ value: one === 'day' ? '' : one, text: t(`reports.by_${one}`) })),
    },
  ]
  const given = filterOf(route.query, specs)
  const group = GROUPS.find((one) => one === given.group_by) ?? 'day'
  const days = { from: given.from ?? dayBefore(DAYS - 1), to: given.to ?? dayBefore(0) }
  const filter = { ...days, group_by: group }
  const path = `/reports/tickets${query(filter)}`
  const live = useLive<ReportRow[]>(
    `${api.organization_id}${path}`,
    async (_before, signal) => (await api.get<ReportRow[]>(path, { signal })).data,
    EVERY_MS,
  )
  const csv = () =>
    download(
      api,
      `/reports/tickets${query({ ...filter, format: 'csv', ...csvForm() })}`,
      `tickets-by-${group}-${days.from}-${days.to}.csv`,
    )
  const shown = { ...view, route: { ...route, query: withDays(route.query, days) } }
  return (
    <>
      <p class="line">
        <Action run={csv}>{t('time.csv')}</Action>
      </p>
      <Filters key={`${days.from} ${days.to}`} {...shown} specs={specs} label={t('reports.filter')} />
      {live.error && <Waiting error={live.error} />}
      {!live.value ? (
        !live.error && <Waiting error={undefined} />
      ) : live.value.length === 0 ? (
        <p class="empty">{t('reports.blank')}</p>
      ) : (
        <>
          {(group === 'day' || group === 'week') && <Plots rows={live.value} group={group} />}
          <p class="hint">{t('reports.how_to_read')}</p>
          <Figures rows={live.value} group={group} />
        </>
      )}
    </>
  )
}

/** A day as the fields of the filter have it. */
function dayBefore(days: number): string {
  // Sweden writes days so.
  return new Date(Date.now() - days * DAY_MS).toLocaleDateString('sv-SE')
}

/** Shows in the filter the days that are meant without any. */
function withDays(given: URLSearchParams, days: Record<string, string>): URLSearchParams {
  return new URLSearchParams({ ...Object.fromEntries(given), ...days })
}

function Plots({ rows, group }: { rows: ReportRow[]; group: 'day' | 'week' }) {
  const times = rows.map((row) => Date.parse(`${row[group]}T12:00:00`) / 1000)
  const over = { times, step_seconds: group === 'day' ? DAY_S : 7 * DAY_S }
  const over_time: [title: string, series: Series[], unit?: string][] = [
    [
      t('reports.of_tickets'),
      [
        [t('reports.created'), 'blue', rows.map(({ created }) => created)],
        [t('reports.resolved'), 'green', rows.map(({ resolved }) => resolved)],
        [t('reports.reopened'), 'orange', rows.map(({ reopened }) => reopened)],
      ],
    ],
    [
      t('reports.backlog_and_replies'),
      [
        [t('reports.backlog'), 'purple', rows.map(({ backlog }) => backlog)],
        [t('reports.replies'), 'gray', rows.map(({ replies }) => replies)],
      ],
    ],
    [t('reports.first_reply'), spreadOf(rows.map((row) => row.first_reply_minutes)), 'h'],
    [t('reports.until_resolved'), spreadOf(rows.map((row) => row.resolve_minutes)), 'h'],
  ]
  // One without anything would be a hole.
  const shown = over_time.filter(([, series]) => series.some(([, , values]) => values.some(Boolean)))
  return (
    <div class="plots">
      {shown.map(([title, series, unit]) => (
        <Plot key={title} title={title} unit={unit} over={over} series={series} />
      ))}
    </div>
  )
}

function spreadOf(spreads: ReportRow['resolve_minutes'][]): Series[] {
  const hours = (minutes: number | null) => (minutes === null ? null : Math.round(minutes / 6) / 10)
  return [
    [t('reports.median'), 'blue', spreads.map(({ median }) => hours(median))],
    [t('reports.p90'), 'orange', spreads.map(({ p90 }) => hours(p90))],
  ]
}

function Figures({ rows, group }: { rows: ReportRow[]; group: Group }) {
  const spread = ({ median, p90 }: ReportRow['resolve_minutes']) =>
    median === null || p90 === null ? '–' : `${duration(Math.round(median))} / ${duration(Math.round(p90))}`
  return (
    <ScrollTable caption={t('reports.of_tickets')}>
      <thead>
        <tr>
          {[
            ...[t(`reports.by_${group}`), t('reports.created'), t('reports.resolved'), t('reports.reopened')],
            ...[t('reports.replies'), t('reports.backlog'), t('reports.first_reply'), t('reports.until_resolved')],
            ...[t('reports.sla'), t('reports.ratings')],
          ].map((text) => (
            <th key={text} scope="col">
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row, group)}>
            <td class="wide" dir="auto">
              {groupName(row, group)}
            </td>
            {[row.created, row.resolved, row.reopened, row.replies, row.backlog].map((value, place) => (
              <td key={place} class="number">
                {number(value)}
              </td>
            ))}
            <td class="number">{spread(row.first_reply_minutes)}</td>
            <td class="number">{spread(row.resolve_minutes)}</td>
            <td class="number">{`${number(row.sla.kept)} / ${number(row.sla.breached)}`}</td>
            <td class="number">{`${number(row.ratings.good)} / ${number(row.ratings.bad)}`}</td>
          </tr>
        ))}
      </tbody>
    </ScrollTable>
  )
}

function rowKey(row: ReportRow, group: Group): string {
  const of = row[group]
  return typeof of === 'object' ? String(of?.id) : String(of)
}

function groupName(row: ReportRow, group: Group): string {
  if (group === 'priority') return t(`priority.${row.priority!}`)
  const of = row[group]
  return typeof of === 'string' ? dayOf(of) : (of?.name ?? t('reports.nobody'))
}
