import { newId, ZERO_ID } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { notice } from '../../delivery/events/notices'
import { mayChange, permits, requireAuthor } from '../../http/request/permissions'
import { claimForDraft } from '../attachments/claim-uploads'
import { addWritten, renderWritten, withFirstAttempt } from '../messages/commands'
import { lockConversation } from '../messages/conversation'
import type { Message } from '../messages/model'
import { keepMember } from '../timers/commands'
import { lockDraft } from './lock-draft'
import type { Draft, DraftChanges, DraftSending, NewDraft } from './model'
import { type DraftRow, getDraft } from './queries'
import { removeDrafts } from './remove-drafts'

/** Drafts of one API key in a ticket. A person has one reply and one note. */
const MOST_OF_KEY = 20
/** Messages that a refused draft names at most. */
const MOST_NAMED = 100

/**
 * Creates a draft of the caller.
 * @throws TICKET_NOT_FOUND, EMPTY_BODY, DRAFT_EXISTS, VALIDATION_ERROR (a key has too many), MESSAGE_NOT_FOUND,
 *   ATTACHMENT_NOT_FOUND; FORBIDDEN for a member who was removed meanwhile
 */
export async function createDraft(scope: Scope, ticket_id: string, input: NewDraft): Promise<Draft> {
  const { body, is_internal = false, cc = null, attachment_ids = [] } = input
  const author = requireAuthor(scope)
  const { body_html, text } = await renderWritten(scope, body)
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    if (author.type === 'user') await keepMember(scope, author.id)
    await lockConversation(scope, ticket_id)
    await requirePlace(scope, ticket_id, author, is_internal)
    const based_on = await findBasis(scope, ticket_id, input.based_on)
    const id = newId()
    const said = { body, body_html, text, is_internal, cc, based_on }
    await insertRows(sql, 'drafts', [
      { organization_id, id, ticket_id, author_type: author.type, author_id: author.id, ...said },
    ])
    if (attachment_ids.length > 0) await claimForDraft(scope, id, attachment_ids)
    tell(scope, ticket_id, author)
    return getDraft(scope, id)
  })
}

/**
 * Changes a draft.
 * @throws DRAFT_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, EMPTY_BODY, DRAFT_EXISTS, MESSAGE_NOT_FOUND,
 *   ATTACHMENT_NOT_FOUND
 */
export async function updateDraft(
  scope: Scope,
  id: string,
  changes: DraftChanges,
  if_match: string | null,
): Promise<Draft> {
  const { body = null, attachment_ids } = changes
  const rendered = body === null ? null : await renderWritten(scope, body)
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const { row } = await lockDraft(scope, id, mayChange, if_match)
    const { is_internal = row.is_internal, cc = row.cc } = changes
    if (is_internal !== row.is_internal && row.author.type === 'user') {
      await requirePlace(scope, row.ticket.id, row.author, is_internal)
    }
    const based_on =
      changes.based_on === undefined ? row.based_on : await findBasis(scope, row.ticket.id, changes.based_on)
    if (attachment_ids) await claimForDraft(scope, id, attachment_ids)
    await sql`
      update drafts set body = coalesce(${body}, body), body_html = coalesce(${rendered?.body_html ?? null}, body_html),
        text = coalesce(${rendered?.text ?? null}, text), is_internal = ${is_internal}, cc = ${cc}::text[],
        based_on = ${based_on}, updated_at = now()
      where organization_id = ${organization_id} and id = ${id}`
    tell(scope, row.ticket.id, row.author)
    return getDraft(scope, id)
  })
}

/** Removes a draft and its attachments: its author's, or as an admin. @throws DRAFT_NOT_FOUND, FORBIDDEN */
export async function deleteDraft(scope: Scope, id: string, if_match: string | null): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const may = (scope: Scope, author: Draft['author']) => mayChange(scope, author) || permits(scope, 'admin')
    const { row } = await lockDraft(scope, id, may, if_match)
    tell(scope, row.ticket.id, row.author)
    await removeDrafts(scope, scope.sql`d.id = ${id}`)
  })
}

/**
 * Makes a message of the caller from a draft, which goes with it. When it leaves by email, it waits for the outcome of
 * the first attempt. An error keeps the draft.
 * @throws DRAFT_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, DRAFT_STALE, EMAIL_SEND_FAILED
 */
export async function sendDraft(
  scope: Scope,
  id: string,
  { send_email }: DraftSending,
  if_match: string | null,
): Promise<Message> {
  let ticket_id = ''
  const message = await inTransaction(scope, async (scope) => {
    const { conversation, row } = await lockDraft(scope, id, mayChange, if_match)
    ticket_id = conversation.id
    if (row.stale) throw new ApiError('DRAFT_STALE', { message_ids: await newerMessages(scope, row) })
    const { body, body_html, text, is_internal, cc, attachments, author } = row
    tell(scope, ticket_id, author)
    await claimForDraft(scope, id, [])
    await removeDrafts(scope, scope.sql`d.id = ${id}`)
    const attachment_ids = attachments.map((attachment) => attachment.id)
    const said = { body, is_internal, ...(cc && { cc }), attachment_ids, send_email, drafted_by: author }
    return addWritten(scope, conversation, said, { body_html, text })
  })
  return withFirstAttempt(scope, ticket_id, message)
}

/** Tells that a draft changed: those of people only to their author, whose pages alone go on with them. */
function tell(scope: Scope, ticket_id: string, { type, id }: { type: string; id: string }): void {
  notice(scope, { kind: 'draft', ticket_id, ...(type === 'user' && { only: id }) })
}

/**
 * Refuses a second draft of a person, or too many of a key, in a ticket that the caller has locked. A merge may have
 * left more.
 */
async function requirePlace(
  scope: Scope,
  ticket_id: string,
  { type, id }: { type: string; id: string },
  is_internal: boolean,
): Promise<void> {
  const { sql, organization_id } = scope
  const is_person = type === 'user'
  const drafts = await sql<{ id: string }[]>`
    select id from drafts
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and author_id = ${id}
      ${is_person ? sql`and is_internal = ${is_internal}` : sql``}
    order by id limit ${MOST_OF_KEY}`
  if (is_person && drafts[0]) throw new ApiError('DRAFT_EXISTS', { draft: await getDraft(scope, drafts[0].id) })
  if (drafts.length < MOST_OF_KEY) return
  throw fieldError('VALIDATION_ERROR', '', `is one too many: a key has at most ${MOST_OF_KEY} drafts in a ticket`)
}

/**
 * Finds the newest public message that the author of a draft has seen. @param given its id; undefined: all are seen
 * @returns null when the ticket has none @throws MESSAGE_NOT_FOUND
 */
async function findBasis(scope: Scope, ticket_id: string, given: string | undefined): Promise<string | null> {
  const { sql, organization_id } = scope
  const named = given === undefined ? sql`` : sql`and id = ${asIds([given])[0] ?? ZERO_ID}`
  const [message] = await sql<{ id: string }[]>`
    select id from messages
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and not is_internal ${named}
    order by id desc limit 1`
  if (given !== undefined && !message) throw unknownIds('MESSAGE_NOT_FOUND', '/based_on', [given])
  return message?.id ?? null
}

/** The public messages that the author of a draft has not seen. */
async function newerMessages({ sql, organization_id }: Scope, { ticket, based_on }: DraftRow): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from messages
    where organization_id = ${organization_id} and ticket_id = ${ticket.id} and not is_internal
      and id > ${based_on ?? ZERO_ID}
    order by id limit ${MOST_NAMED}`
  return rows.map(({ id }) => id)
}
