/** Lists of messages: of a ticket and of all tickets. In steps when they are too large to be held at once. */
import { ZERO_ID } from '../../base/db/columns'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError, unknownIds } from '../../base/errors'
import { turns } from '../../base/flow/turns'
import type { Scope } from '../../base/scope'
import type { PageMeta } from '../../base/shapes/answers'
import { asIds } from '../../base/shapes/ids'
import { isPageAsked, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { Sorting } from '../../base/shapes/sorting'
import type { InSteps, Steps } from '../../http/request/steps'
import { requireTicket } from '../timeline/require-ticket'
import type { Message, MessageFilter, MessageOfTicket } from './model'
import { detailFields, type MessageRow, messageFields, presentMessage } from './queries'

/** Bytes of texts that are read and answered at once. The message that reaches it is the last one of a step. */
export const STEP_SIZE = 1_000_000
const STEP_MESSAGES = 100
/** Messages that a refused one is shown at most. */
const LATER_SHOWN = 20
/** Two steps at a time are read in this process, without counting first steps. */
const inTurn = turns(2)

export type MessagePage = { data: Message[]; meta?: PageMeta }
export type PageOfAll = { data: MessageOfTicket[]; meta: PageMeta }

/**
 * Lists the messages of a ticket, oldest first; a page, with `meta`, when the query asks for one. In steps when they
 * are too large to be held at once.
 * @throws TICKET_NOT_FOUND
 */
export async function listMessages(
  scope: Scope,
  ticket_id: string,
  filter: MessageFilter,
): Promise<InSteps<MessagePage>> {
  const { sql } = scope
  const shown = () =>
    sql`and m.ticket_id = ${ticket_id} ${filter.include_internal === false ? sql`and not m.is_internal` : sql``}`
  if (isPageAsked(filter)) return pageOfMessages(scope, ticket_id, filter, shown)
  const [data] = await Promise.all([
    messagesOf(scope, { shown, most: Number.POSITIVE_INFINITY, present: presentMessage }),
    requireTicket(scope, ticket_id),
  ])
  return { data }
}

async function pageOfMessages(
  scope: Scope,
  ticket_id: string,
  filter: MessageFilter,
  shown: () => Fragment,
): Promise<InSteps<MessagePage>> {
  const { sql, organization_id } = scope
  const matching = () => sql`from messages m where m.organization_id = ${organization_id} ${shown()}`
  const { data: ids, meta } = await page(scope, filter, {
    name: `messages of ${ticket_id}`,
    sort: oldestFirst(sql),
    rows: ({ slice }) => sql<{ id: string }[]>`select m.id ${matching()} ${slice}`,
    count: () => sql<{ total: number }[]>`select count(*) as total ${matching()}`,
    parent: () => requireTicket(scope, ticket_id),
  })
  return { data: await messagesOn(scope, ids, { shown, present: presentMessage }), meta }
}

/**
 * Lists the messages of all tickets, oldest first, as their events have them. In steps, as `listMessages`. Each one is
 * asked for its ticket: a join may read all tickets for the first page.
 */
export async function listAllMessages(scope: Scope, query: Paging): Promise<InSteps<PageOfAll>> {
  const { sql, organization_id } = scope
  const { data: ids, meta } = await page(scope, query, {
    name: 'messages',
    sort: oldestFirst(sql),
    rows: ({ slice }) => sql<{ id: string }[]>`
      select m.id from messages m where m.organization_id = ${organization_id} and (
        select true from tickets t
        where t.organization_id = ${organization_id} and t.id = m.ticket_id and t.deleted_at is null
      ) ${slice}`,
    count: () => sql<{ total: number }[]>`
      select (select count(*) from messages m where m.organization_id = ${organization_id}) - (
        select count(*) from tickets t
        join messages m on m.organization_id = ${organization_id} and m.ticket_id = t.id
        where t.organization_id = ${organization_id} and t.deleted_at is not null
      ) as total`,
  })
  const present = (organization_id: string, row: ListedRow) => {
    return { ...presentMessage(organization_id, row), ticket: row.ticket }
  }
  return { data: await messagesOn(scope, ids, { shown: () => sql``, present }), meta }
}

export function oldestFirst(sql: Sql): Sorting<{ id: string }> {
  return { keys: [{ sql: sql`m.id`, field: 'id' }], direction: 'asc' }
}

/**
 * Reads the messages of a page, whose ids were read first: the texts may be too large to read one message more than the
 * page shows.
 */
export async function messagesOn<T extends { id: string }>(
  scope: Scope,
  ids: { id: string }[],
  { shown, present }: Omit<List<T>, 'most'>,
): Promise<T[] | Steps<T>> {
  const [first, last] = [ids[0], ids.at(-1)]
  if (!first || !last) return []
  const onPage = () => scope.sql`${shown()} and m.id between ${first.id} and ${last.id}`
  return messagesOf(scope, { shown: onPage, most: ids.length, present })
}

/**
 * Refuses a message of somebody who has not seen all that came before it. It is written already, behind the lock of the
 * ticket, so nobody writes another one meanwhile.
 * @param after the last message that its author has seen; null: none
 * @param id of the message
 * @throws MESSAGE_NOT_FOUND (`after` is no message of the ticket), PRECONDITION_FAILED
 */
export async function requireNothingBetween(
  scope: Scope,
  ticket_id: string,
  after: string | null,
  id: string,
): Promise<void> {
  const { sql, organization_id } = scope
  const seen = after === null ? ZERO_ID : asIds([after])[0]
  const shown = () => sql`and m.ticket_id = ${ticket_id} and m.id > ${seen ?? ZERO_ID} and m.id < ${id}`
  const [row] = await sql<{ total: number; is_known: boolean }[]>`
    select count(*) as total, exists (
      select 1 from messages s where s.organization_id = ${organization_id} and s.id = ${seen ?? ZERO_ID}
        and s.ticket_id = ${ticket_id}
    ) as is_known
    from messages m where m.organization_id = ${organization_id} ${shown()}`
  const { total, is_known } = row!
  if (after !== null && !is_known) throw unknownIds('MESSAGE_NOT_FOUND', '/after', [after])
  if (total === 0) return
  const { messages } = await readStep(scope, { shown, most: LATER_SHOWN, present: presentMessage })
  throw new ApiError('PRECONDITION_FAILED', { messages, total })
}

/** Some messages in their order. */
type List<T> = {
  /** A condition on `messages m`. */
  shown: () => Fragment
  most: number
  present: (organization_id: string, row: ListedRow) => T
}

export type ListedRow = MessageRow & Pick<MessageOfTicket, 'ticket'>

/** The first messages of a list; `is_last` when there are no more. */
type Step<T> = { messages: T[]; is_last: boolean }

/** Reads a list; gives the list itself when one step reads it, else its steps. */
async function messagesOf<T extends { id: string }>(scope: Scope, list: List<T>): Promise<T[] | Steps<T>> {
  const first = await readStep(scope, list)
  return first.is_last ? first.messages : stepsFrom(scope, list, first)
}

/** Reads each step with one statement: between them a reader holds no connection, and removed messages are left out. */
async function* stepsFrom<T extends { id: string }>(scope: Scope, list: List<T>, first?: Step<T>): AsyncGenerator<T[]> {
  const { sql } = scope
  let step = first ?? (await inTurn(() => readStep(scope, list)))
  for (let { most } = list; ; ) {
    yield step.messages
    if (step.is_last) return
    const after = step.messages.at(-1)!.id
    most -= step.messages.length
    const shown = () => sql`${list.shown()} and m.id > ${after}`
    step = await inTurn(() => readStep(scope, { ...list, shown, most }))
  }
}

/**
 * Reads the first messages of a list, until they have enough bytes. The database knows lengths without reading the
 * texts.
 */
async function readStep<T>(scope: Scope, { shown, most, present }: List<T>): Promise<Step<T>> {
  const { sql, organization_id } = scope
  const rows = await sql<(ListedRow & { next_id: string | null })[]>`
    select * from (
      select f.*, lead(f.id) over before as next_id, sum(
        octet_length(f.body) + octet_length(f.body_html) + coalesce(octet_length(f.reply_text), 0) +
        octet_length(f.attachments::text) + octet_length(f.email_recipients::text) + octet_length(f.cc::text)
      ) over before as before
      from (
        select ${messageFields(scope)}, json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket
        from messages m
        join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id and t.deleted_at is null
        where m.organization_id = ${organization_id} ${shown()}
        order by m.id limit ${Math.min(most, STEP_MESSAGES)}
      ) f
      window before as (order by f.id rows between unbounded preceding and 1 preceding)
    ) m
    where m.before is null or m.before < ${STEP_SIZE}
    order by m.id`
  const is_cut = (rows.at(-1)?.next_id ?? null) !== null
  const is_full = rows.length === STEP_MESSAGES && most > rows.length
  return { messages: rows.map((row) => present(organization_id, row)), is_last: !is_cut && !is_full }
}

/**
 * Makes the expression that estimates the bytes of all messages of `tickets t`; null without any. The ticket's own
 * statement uses it, where counting attachments would cost too much: each message counts as a hundredth of a step more.
 */
export function sizeOfMessages({ sql, organization_id }: Scope) {
  return sql`(
    select sum(
      ${sql.unsafe(String(STEP_SIZE / STEP_MESSAGES))} + octet_length(m.body) + octet_length(m.body_html) +
      coalesce(octet_length(m.reply_text), 0)
    )
    from messages m where m.organization_id = ${organization_id} and m.ticket_id = t.id
  )`
}

/**
 * All messages of a ticket in steps, and a version that changes when one of them changes. Texts never change, so the
 * version does not read them. Messages that arrive later are not shown, because the version does not cover them.
 */
export async function versionedMessages(scope: Scope, ticket_id: string) {
  const { sql, organization_id } = scope
  const [row] = await sql<{ version: string | null; last_id: string | null }[]>`
    select encode(sha256(string_agg(sha256(convert_to(f::text, 'UTF8')), '' order by f.id)), 'hex') as version,
      max(f.id::text) as last_id
    from (
      select ${detailFields(scope)}, octet_length(m.body), octet_length(m.body_html), octet_length(m.reply_text)
      from messages m where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id}
    ) f`
  const { version, last_id } = row!
  const shown = () => sql`and m.ticket_id = ${ticket_id} and m.id <= ${last_id}`
  const list = { shown, most: Number.POSITIVE_INFINITY, present: presentMessage }
  return { version, messages: stepsFrom<Message>(scope, list) }
}
