import Elysia from 'elysia'
import type { Scope } from '../../base/scope'
import { list, NoContent, one } from '../../base/shapes/answers'
import { csvHeaders } from '../../base/shapes/csv-form'
import type { CsvForm } from '../../base/shapes/csv-text'
import { path } from '../../base/shapes/fields'
import { inOrganization } from '../../http/admission/authenticate'
import { created, data, done, headOf } from '../../http/request/answer'
import { deleteTimeEntry, logTime, requireMayChange, updateTimeEntry } from './commands'
import { exportName, exportTimeEntries } from './export'
import {
  ExportQuery,
  NewTimeEntry,
  type Period,
  SummaryItem,
  SummaryQuery,
  TimeEntry,
  TimeEntryChanges,
  TimeEntryFilter,
  TimeEntryPage,
} from './model'
import { getTimeEntry, listTimeEntries } from './queries'
import { summarizeTime } from './summary'

export const timeEntryRoutes = new Elysia({
  tags: ['Time entries'],
  detail: { about: 'Work logged on tickets: list, summary, export.' },
})
  .use(inOrganization)

  .get('/time-entries', ({ scope, query }) => listTimeEntries(scope, query), {
    query: TimeEntryFilter,
    response: TimeEntryPage,
    detail: { summary: 'List time entries', permission: 'time_entries:read' },
  })

  .post(
    '/tickets/:ticket_id/time-entries',
    ({ scope, params, body }) => created(logTime(scope, params.ticket_id, body)),
    {
      params: path('ticket_id'),
      body: NewTimeEntry,
      response: { 201: one(TimeEntry) },
      detail: {
        summary: 'Create time entry',
        permission: 'time_entries:write',
        codes: ['UNAUTHORIZED'],
        idempotency: 'with the change',
      },
    },
  )

  .get('/time-entries/:time_entry_id', ({ scope, params }) => data(getTimeEntry(scope, params.time_entry_id)), {
    params: path('time_entry_id'),
    response: one(TimeEntry),
    detail: { summary: 'Get time entry', permission: 'time_entries:read' },
  })

  .patch(
    '/time-entries/:time_entry_id',
    ({ scope, params, body }) => data(updateTimeEntry(scope, params.time_entry_id, body)),
    {
      params: path('time_entry_id'),
      // A 403 for the entry of somebody else comes before a 422 for the body.
      transform: ({ scope, params }) => requireMayChange(scope, params.time_entry_id),
      body: TimeEntryChanges,
      response: one(TimeEntry),
      detail: { summary: 'Update time entry', permission: 'time_entries:write', codes: ['UNAUTHORIZED'] },
    },
  )

  .delete('/time-entries/:time_entry_id', ({ scope, params }) => done(deleteTimeEntry(scope, params.time_entry_id)), {
    params: path('time_entry_id'),
    response: { 204: NoContent },
    detail: { summary: 'Delete time entry', permission: 'time_entries:write', codes: ['UNAUTHORIZED'] },
  })

  .get('/time-entries/summary', ({ scope, query }) => data(summarizeTime(scope, query)), {
    query: SummaryQuery,
    response: list(SummaryItem),
    detail: { summary: 'Summarize time entries', permission: 'time_entries:read' },
  })

  .get('/time-entries/export', ({ scope, query, request }) => exportResponse(scope, query, request.method), {
    query: ExportQuery,
    detail: {
      summary: 'Export time entries',
      permission: 'time_entries:read',
      responses: { 200: { description: 'CSV, UTF-8', content: { 'text/csv': {} } } },
    },
  })

async function exportResponse(scope: Scope, query: Period & CsvForm, method: string): Promise<Response> {
  const headers = csvHeaders(exportName(query))
  return method === 'HEAD' ? headOf(headers) : new Response(await exportTimeEntries(scope, query), { headers })
}
