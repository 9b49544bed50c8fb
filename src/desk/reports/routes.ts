import Elysia from 'elysia'
import type { Scope } from '../../base/scope'
import { list } from '../../base/shapes/answers'
import { csvHeaders } from '../../base/shapes/csv-form'
import { inOrganization } from '../../http/admission/authenticate'
import { data, headOf } from '../../http/request/answer'
import { ReportQuery, ReportRow } from './model'
import { reportTickets } from './queries'
import { reportCsv } from './report-csv'

export const reportRoutes = new Elysia({
  tags: ['Reports'],
  detail: { about: 'What happened to tickets, by day or by group.' },
})
  .use(inOrganization)

  .get('/reports/tickets', ({ scope, query, request }) => answer(scope, query, request.method), {
    query: ReportQuery,
    response: list(ReportRow),
    detail: { summary: 'Report tickets', permission: 'reports:read', file: 'text/csv' },
  })

/** Answers with a list or a file. Elysia sends a Response as it is, but its types know the list alone. */
async function answer(scope: Scope, query: ReportQuery, method: string): Promise<{ data: ReportRow[] }> {
  const { format, from, to, group_by = 'day' } = query
  if (format !== 'csv') return data(reportTickets(scope, query))
  const headers = csvHeaders(`tickets-by-${group_by}_${from}_${to}.csv`)
  if (method === 'HEAD') return headOf(headers) as never
  return new Response(reportCsv(await reportTickets(scope, query), group_by, query), { headers }) as never
}
