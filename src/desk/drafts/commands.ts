import { unsignedUrl } from '../../base/attachment-url'
import { newId, ZERO_ID } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { ApiError, below, fieldError, unknownIds } from '../../base/errors'
import type { Format } from '../../base/html/formats'
import { mayHoldPictures } from '../../base/html/image-addresses'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { notice } from '../../delivery/events/notices'
import { mayChange, permits, personId, requireAuthor, requireRight } from '../../http/request/permissions'
import { claimForDraft } from '../attachments/claim-uploads'
import { withFirstAttempt } from '../messages/commands'
import { lockConversation } from '../messages/conversation'
import { type Message, NO_MENTIONS } from '../messages/model'
import { placePictures } from '../messages/pictures'
import { findMentioned } from '../messages/queries'
import { renderWritten, type WrittenText, withHeld } from '../messages/written-text'
import { updateTicket } from '../tickets/commands'
import { withMoment } from '../tickets/snooze'
import { keepMember } from '../timers/commands'
import { lockDraft } from './lock-draft'
import type { Draft, DraftChanges, DraftSending, NewDraft } from './model'
import { type DraftRow, getDraft, getDraftRow } from './queries'
import { removeDrafts } from './remove-drafts'
import { readMoment, type Standing, setSending, standingAfter, wrongMoment } from './send-later'
import { toMessage } from './to-message'

/** Drafts of one API key in a ticket, and those that are sent later. Else a person has one reply and one note. */
const MOST = 20
/** Messages that a refused draft names at most. */
const MOST_NAMED = 100

/**
 * Creates a draft of the caller.
 * @throws TICKET_NOT_FOUND, EMPTY_BODY, DRAFT_EXISTS, VALIDATION_ERROR (too many, or a wrong `send_at`),
 *   MESSAGE_NOT_FOUND, ATTACHMENT_NOT_FOUND, USER_NOT_FOUND (named); FORBIDDEN for a member who was removed meanwhile
 */
export async function createDraft(scope: Scope, ticket_id: string, input: NewDraft): Promise<Draft> {
  const { is_internal = false, cc = null, quote = null, attachment_ids = [], unless_answered = true } = input
  const { mention_user_ids = [] } = input
  const author = requireAuthor(scope)
  const send_at = input.send_at == null ? null : readMoment(scope, input.send_at, is_internal)
  const text = await renderWritten(scope, input)
  const write = async (scope: Scope) => {
    const { sql, organization_id } = scope
    if (author.type === 'user') await keepMember(scope, author.id)
    await lockConversation(scope, ticket_id)
    await requirePlace(scope, ticket_id, { author, is_internal, send_at })
    const based_on = await findBasis(scope, ticket_id, input.based_on)
    const id = newId()
    const { uploads, ...placed } = await placeText(scope, { id, ticket_id }, text)
    const mentions = JSON.stringify(await findMentioned(scope, mention_user_ids))
    const said = { ...placed, is_internal, cc, quote, based_on, mentions, send_at, unless_answered }
    await insertRows(sql, 'drafts', [
      { organization_id, id, ticket_id, author_type: author.type, author_id: author.id, ...said },
    ])
    const files = [...attachment_ids, ...uploads]
    if (files.length > 0) await claimForDraft(scope, id, files)
    if (send_at !== null) await setSending(scope, id, send_at)
    notice(scope, { kind: 'draft', ticket_id })
    return getDraft(scope, id)
  }
  return withHeld(scope, text.held, () => inTransaction(scope, write))
}

/** Places the images of a draft's text. @returns its columns, and the uploads that it shows, its own too */
async function placeText(scope: Scope, { id, ticket_id }: { id: string; ticket_id: string }, text: WrittenText) {
  const placed = await placePictures(scope, { ...text, ticket_id, source: 'team' }, id)
  const { body, body_html, uploads } = placed
  return { body, format: text.format, body_html, text: text.text, uploads }
}

/**
 * Changes a draft. A person who sends later what an API key wrote, or changes what a member left, becomes its author.
 * @throws DRAFT_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, EMPTY_BODY, DRAFT_EXISTS, VALIDATION_ERROR (as for a new
 *   one; a reply names somebody), MESSAGE_NOT_FOUND, ATTACHMENT_NOT_FOUND, USER_NOT_FOUND (named)
 */
export async function updateDraft(
  scope: Scope,
  id: string,
  changes: DraftChanges,
  if_match: string | null,
): Promise<Draft> {
  const { format, attachment_ids } = changes
  // A form alone reads the body anew that is kept.
  const kept = changes.body === undefined && format ? (await getDraftRow(scope, id)).body : undefined
  const body = changes.body ?? kept
  const text = body === undefined ? undefined : await renderAnew(scope, id, { body, format, attachment_ids })
  const write = async (scope: Scope) => {
    const { sql, organization_id } = scope
    const person_id = personId(scope)
    // A member who is removed meanwhile leaves a draft that others find.
    if (changes.send_at && person_id !== null) await keepMember(scope, person_id)
    const { row } = await lockDraft(scope, id, mayChange, if_match)
    if (kept !== undefined && kept !== row.body) return undefined
    const { cc = row.cc, quote = row.quote } = changes
    const standing = standingAfter(scope, row, changes)
    if (takesPlace(row, standing)) await requirePlace(scope, row.ticket.id, standing)
    const based_on =
      changes.based_on === undefined ? row.based_on : await findBasis(scope, row.ticket.id, changes.based_on)
    const mentions = await mentionsOf(scope, row, { ...changes, is_internal: standing.is_internal })
    const at = { id, ticket_id: row.ticket.id }
    const { uploads: shown, ...said } = text ? await placeText(scope, at, text) : { uploads: shownOf(row) }
    const files = attachment_ids ?? row.attachments.map((attachment) => attachment.id)
    if (attachment_ids || text) await claimForDraft(scope, id, [...files, ...shown])
    const { author, written_by, ...others } = standing
    const columns = { ...said, ...others, author_type: author.type, author_id: author.id, quote, based_on }
    await sql`
      update drafts set ${sql(columns)}, cc = ${cc}::text[],
        written_by = ${written_by && JSON.stringify(written_by)}::text::jsonb,
        mentions = ${JSON.stringify(mentions)}::text::jsonb, updated_at = now()
      where organization_id = ${organization_id} and id = ${id}`
    if (standing.send_at !== row.send_at) await setSending(scope, id, standing.send_at)
    notice(scope, { kind: 'draft', ticket_id: row.ticket.id })
    return getDraft(scope, id)
  }
  const draft = await withHeld(scope, text?.held ?? [], () => inTransaction(scope, write))
  // Somebody has changed the body meanwhile.
  return draft ?? updateDraft(scope, id, changes, if_match)
}

/** The members that a changed draft names: a reply none. @throws USER_NOT_FOUND; VALIDATION_ERROR of a reply */
async function mentionsOf(
  scope: Scope,
  row: DraftRow,
  { is_internal, mention_user_ids }: Pick<DraftChanges, 'is_internal' | 'mention_user_ids'>,
): Promise<Draft['mentions']> {
  if (!is_internal && mention_user_ids?.length) throw fieldError('VALIDATION_ERROR', '/mention_user_ids', NO_MENTIONS)
  if (!is_internal) return []
  return mention_user_ids ? findMentioned(scope, mention_user_ids) : row.mentions
}

/** Renders another text of a draft. A picture that is one of the draft's files already is not stored again. */
async function renderAnew(
  scope: Scope,
  draft_id: string,
  given: { body: string; format: Format | undefined; attachment_ids: string[] | undefined },
): Promise<WrittenText> {
  if (!mayHoldPictures(given.body)) return renderWritten(scope, given)
  const { sql, organization_id } = scope
  const files = await sql<{ id: string; digest: string }[]>`
    select id, digest from attachments where organization_id = ${organization_id} and draft_id = ${draft_id}`
  return renderWritten(scope, { ...given, kept: new Map(files.map(({ id, digest }) => [digest, id])) })
}

/** The files of a draft that its text shows. */
function shownOf({ attachments, body_html }: DraftRow): string[] {
  return attachments.map(({ id }) => id).filter((id) => body_html.includes(unsignedUrl(id)))
}

/** Removes a draft and its attachments: its author's, or as an admin. @throws DRAFT_NOT_FOUND, FORBIDDEN */
export async function deleteDraft(scope: Scope, id: string, if_match: string | null): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const may = (scope: Scope, row: DraftRow) => mayChange(scope, row) || permits(scope, 'admin')
    const { row } = await lockDraft(scope, id, may, if_match)
    notice(scope, { kind: 'draft', ticket_id: row.ticket.id })
    await removeDrafts(scope, scope.sql`d.id = ${id}`)
  })
}

/**
 * Makes a message of the caller from a draft, which goes with it, and changes the ticket. When it leaves by email, it
 * waits for the outcome of the first attempt. An error keeps the draft and the ticket.
 * @throws DRAFT_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED, DRAFT_STALE, EMAIL_SEND_FAILED, and as `updateTicket`
 */
export async function sendDraft(
  scope: Scope,
  id: string,
  { send_email, changes }: DraftSending,
  if_match: string | null,
): Promise<Message> {
  if (changes) requireRight(scope, 'tickets:write')
  let ticket_id = ''
  const message = await inTransaction(scope, async (scope) => {
    const { conversation, row } = await lockDraft(scope, id, mayChange, if_match)
    ticket_id = conversation.id
    if (row.stale) throw new ApiError('DRAFT_STALE', { message_ids: await newerMessages(scope, row) })
    notice(scope, { kind: 'draft', ticket_id })
    const message = await toMessage(scope, conversation, row, send_email)
    if (changes) await below('/changes', updateTicket(scope, ticket_id, withMoment(changes, '/changes')))
    return message
  })
  return withFirstAttempt(scope, ticket_id, message)
}

type Place = Pick<Standing, 'author' | 'is_internal' | 'send_at'>

/** Tells if a change makes a draft one more of a person's kind, or one more that is sent later. */
function takesPlace(before: Place, { author, is_internal, send_at }: Place): boolean {
  if (author.type !== 'user') return false
  const is_other = before.is_internal !== is_internal || (before.send_at === null) !== (send_at === null)
  return is_other || before.author.id !== author.id
}

/**
 * Refuses a second draft of a person, or too many of a key or that are sent later, in a ticket that the caller has
 * locked. A merge, and drafts that could not be sent, may have left more.
 */
async function requirePlace(
  scope: Scope,
  ticket_id: string,
  { author: { type, id }, is_internal, send_at }: Place,
): Promise<void> {
  const { sql, organization_id } = scope
  const is_single = type === 'user' && send_at === null
  const own = sql`author_id = ${id} and send_at is null ${is_single ? sql`and is_internal = ${is_internal}` : sql``}`
  const drafts = await sql<{ id: string }[]>`
    select id from drafts
    where organization_id = ${organization_id} and ticket_id = ${ticket_id}
      and ${send_at === null ? own : sql`send_at is not null`}
    order by id limit ${MOST}`
  if (is_single && drafts[0]) throw new ApiError('DRAFT_EXISTS', { draft: await getDraft(scope, drafts[0].id) })
  if (drafts.length < MOST) return
  if (send_at !== null) throw wrongMoment(`must be one of at most ${MOST} in a ticket`)
  throw fieldError('VALIDATION_ERROR', '', `is one too many: a key has at most ${MOST} drafts in a ticket`)
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
