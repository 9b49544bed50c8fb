import { attachmentUrl } from '../../base/attachment-url'
import { ZERO_ID } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import type { SEND_ERRORS } from '../../base/db/schema'
import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { type Format, formOfRow } from '../../base/html/formats'
import { viewHtml } from '../../base/html/view'
import type { Scope } from '../../base/scope'
import type { PageMeta } from '../../base/shapes/answers'
import { firstRows, page } from '../../base/shapes/page'
import { tellBy } from '../../delivery/events/notices'
import type { InSteps, Steps } from '../../http/request/steps'
import { withUrl } from '../attachments/queries'
import { STEP_SIZE } from '../messages/list-messages'
import { picturesOfDrafts } from '../messages/pictures'
import type { Draft, DraftFilter } from './model'

tellBy('draft', countDrafts)

export type SendError = (typeof SEND_ERRORS)[number]

/** The reasons for which a draft is kept, in words. */
export const SEND_FAULTS: Record<SendError, string> = {
  DRAFT_STALE: 'Public messages have come since it was written',
  USER_NOT_FOUND: 'Its author is not an active member',
  TICKET_MERGED: 'Its ticket was merged into another one',
  INVALID_STATUS: 'Its ticket is closed',
  EMAIL_SEND_FAILED: 'The ticket has no contact with an address, or no active mailbox can send',
  ATTACHMENT_INFECTED: 'A scan for viruses found one in a file',
}

export type DraftPage = { data: Draft[]; meta: PageMeta }

/**
 * Lists the drafts of the organization, newest first, without those of deleted tickets. In steps when they are too
 * large to be held at once.
 */
export async function listDrafts(scope: Scope, filter: DraftFilter): Promise<InSteps<DraftPage>> {
  const { data: rows, meta } = await page(scope, filter, {
    name: 'drafts',
    ...newestFirst(scope, filter),
    count: () => scope.sql<{ total: number }[]>`select count(*) as total ${matching(scope, filter)}`,
  })
  return { data: await readSizes(scope, rows), meta }
}

/** The newest drafts of a ticket, as many as a page has. In steps as `listDrafts`. */
export async function firstDrafts(scope: Scope, ticket_id: string): Promise<Draft[] | Steps<Draft>> {
  return readSizes(scope, await firstRows(scope, newestFirst(scope, { ticket_id })))
}

function newestFirst(scope: Scope, filter: DraftFilter) {
  const { sql } = scope
  return {
    sort: { keys: [{ sql: sql`d.id`, field: 'id' as const }], direction: 'desc' as const },
    rows: ({ slice }: { slice: Fragment }) => sql<SizeOfDraft[]>`
      select d.id, octet_length(d.body) + octet_length(d.body_html) as size ${matching(scope, filter)} ${slice}`,
  }
}

function matching(scope: Scope, { ticket_id, author_id, stale }: DraftFilter): Fragment {
  const { sql, organization_id } = scope
  return sql`
    from drafts d
    join tickets t on t.organization_id = ${organization_id} and t.id = d.ticket_id and t.deleted_at is null
    where d.organization_id = ${organization_id}
      ${ticket_id === undefined ? sql`` : sql`and d.ticket_id = ${ticket_id}`}
      ${author_id === undefined ? sql`` : sql`and d.author_id = ${author_id}`}
      ${stale === undefined ? sql`` : sql`and ${isStale(scope)} = ${stale}`}`
}

type SizeOfDraft = { id: string; size: number }

/** Reads drafts whose sizes are known, in steps when there are several. */
async function readSizes(scope: Scope, rows: SizeOfDraft[]): Promise<Draft[] | Steps<Draft>> {
  const steps = stepsOf(rows)
  return steps.length > 1 ? readEach(scope, steps) : getDrafts(scope, steps[0] ?? [])
}

/** Divides drafts into steps. The draft that reaches the size of a step is the last one in it. */
function stepsOf(rows: SizeOfDraft[]): string[][] {
  const steps: string[][] = []
  let left = 0
  for (const { id, size } of rows) {
    if (left <= 0) {
      steps.push([])
      left = STEP_SIZE
    }
    steps.at(-1)!.push(id)
    left -= size
  }
  return steps
}

async function* readEach(scope: Scope, steps: string[][]): Steps<Draft> {
  for (const ids of steps) yield await getDrafts(scope, ids)
}

/** Reads drafts by their ids, in that order; those that are gone are left out. */
export async function getDrafts(scope: Scope, ids: string[]): Promise<Draft[]> {
  if (ids.length === 0) return []
  const { sql, organization_id } = scope
  const given = ids.map((id, place) => ({ place, id }))
  const rows = await sql<DraftRow[]>`
    select ${draftFields(scope)}
    from json_to_recordset(${JSON.stringify(given)}::text::json) as g (place integer, id uuid)
    join drafts d on d.organization_id = ${organization_id} and d.id = g.id ${withNames(scope)}
    where ${hasFewRows(sql)} order by g.place`
  return presentDrafts(scope, rows)
}

/** @throws DRAFT_NOT_FOUND, also when its ticket is deleted */
export async function getDraft(scope: Scope, id: string): Promise<Draft> {
  const [draft] = await presentDrafts(scope, [await getDraftRow(scope, id)])
  return draft!
}

/** Reads a draft as it is stored. @throws DRAFT_NOT_FOUND */
export async function getDraftRow(scope: Scope, id: string): Promise<DraftRow> {
  const { sql, organization_id } = scope
  const [row] = await sql<DraftRow[]>`
    select ${draftFields(scope)} from drafts d ${withNames(scope)}
    where d.organization_id = ${organization_id} and d.id = ${id}`
  if (!row) throw new ApiError('DRAFT_NOT_FOUND')
  return row
}

export type DraftRow = Omit<Draft, 'attachments' | 'format' | 'send_error'> & {
  /** Null in a row of a release without formats. */
  format: Format | null
  attachments: Omit<Draft['attachments'][number], 'url'>[]
  text: string
  /** As in the table. */
  is_taken: boolean
  send_error: SendError | null
  /** Its author is a member no more. */
  is_left: boolean
}

/** The columns of a draft; needs `drafts d` and `withNames`. */
function draftFields(scope: Scope) {
  const { sql, organization_id } = scope
  return sql`
    d.id, json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket,
    json_build_object('type', d.author_type, 'id', d.author_id, 'name', coalesce(u.name, k.name, '')) as author,
    d.body, d.format, d.body_html, d.text, d.is_internal, d.mentions, d.cc, d.quote,
    (
      select coalesce(json_agg(json_build_object(
        'id', a.id, 'filename', a.filename, 'content_type', a.content_type, 'size', a.size, 'scan', a.scan
      ) order by a.id), '[]')
      from attachments a where a.organization_id = ${organization_id} and a.draft_id = d.id
    ) as attachments,
    d.based_on, ${isStale(scope)} as stale, d.written_by, d.is_taken, d.send_at, d.unless_answered, d.send_error,
    d.author_type = 'user' and not exists (
      select 1 from memberships m
      where m.organization_id = ${organization_id} and m.user_id = d.author_id and m.removed_at is null
    ) as is_left, d.created_at, d.updated_at`
}

/** Joins to `drafts d` its ticket, unless that is deleted, and its author. */
function withNames({ sql, organization_id }: Scope): Fragment {
  return sql`
    join tickets t on t.organization_id = ${organization_id} and t.id = d.ticket_id and t.deleted_at is null
    left join users u on d.author_type = 'user' and u.id = d.author_id
    left join api_keys k on k.organization_id = ${organization_id} and k.id = d.author_id and d.author_type = 'api_key'`
}

/** SQL: a public message has come to the ticket of `drafts d`, a reply, that its author has not seen. */
function isStale({ sql, organization_id }: Scope): Fragment {
  return sql`(not d.is_internal and exists (
    select 1 from messages m
    where m.organization_id = ${organization_id} and m.ticket_id = d.ticket_id and not m.is_internal
      and m.id > coalesce(d.based_on, ${ZERO_ID})
  ))`
}

/** Makes the responses of rows. */
export async function presentDrafts(scope: Scope, rows: DraftRow[]): Promise<Draft[]> {
  const { organization_id } = scope
  const pictures = await picturesOfDrafts(scope, rows)
  return rows.map(({ text: _text, is_taken: _taken, is_left: _left, send_error: code, ...row }) => {
    const attachments = row.attachments.map((attachment) => withUrl(organization_id, attachment))
    const own = new Set(attachments.map(({ id }) => id))
    const mayShow = (id: string) => own.has(id) || pictures.get(row.id)?.has(id)
    const urlOf = (id: string) => (mayShow(id) ? attachmentUrl(organization_id, id) : undefined)
    const body_html = viewHtml(row.body_html, urlOf, 'as written')
    const send_error = code && { code, message: SEND_FAULTS[code] }
    return { ...row, format: formOfRow(row), body_html, attachments, send_error }
  })
}

/** Counts the drafts of a ticket, as `draft_count` of the ticket does. */
async function countDrafts({ sql, organization_id }: Scope, ticket_id: string): Promise<object> {
  const [row] = await sql<{ draft_count: number }[]>`
    select count(*)::integer as draft_count from drafts
    where organization_id = ${organization_id} and ticket_id = ${ticket_id}`
  return row!
}
