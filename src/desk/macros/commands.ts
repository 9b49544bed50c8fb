import { and, eq, sql } from 'drizzle-orm'
import { codePoints } from '../../base/address/characters'
import { newId } from '../../base/db/columns'
import { preparedText } from '../../base/db/prepared-text'
import { macros } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import type { EventType } from '../../delivery/webhooks/publish'
import { requireRuleRights } from '../../delivery/webhooks/rule-rights'
import { addWritten, withFirstAttempt } from '../messages/commands'
import { type Conversation, lockConversation } from '../messages/conversation'
import { MOST_CHARACTERS } from '../messages/model'
import { renderWritten, type WrittenText, withHeld } from '../messages/written-text'
import { emptyNames } from '../naming/empty-names'
import { findValues } from '../templates/ticket-values'
import { expand } from '../templates/variables'
import { updateTicket } from '../tickets/commands'
import { requireNamed } from '../tickets/references'
import { withMoment } from '../tickets/snooze'
import type { AppliedMacro, Macro, MacroChanges, MacroPreview, MacroUse, NewMacro } from './model'
import { getMacro } from './queries'

/** Creates a macro. @throws MACRO_NAME_EXISTS, USER_NOT_FOUND, LABEL_NOT_FOUND */
export async function createMacro(scope: Scope, macro: NewMacro): Promise<Macro> {
  const { db, organization_id } = scope
  const columns = await columnsOf(scope, { ...macro, body: macro.body ?? null })
  const created = await db
    .insert(macros)
    .values({ ...columns, name: macro.name, organization_id, id: newId() })
    .onConflictDoNothing()
    .returning({ id: macros.id })
  if (!created[0]) throw fieldError('MACRO_NAME_EXISTS', '/name')
  return getMacro(scope, created[0].id)
}

/**
 * Changes a macro; `changes` are replaced as a whole.
 * @throws MACRO_NOT_FOUND, FORBIDDEN for who may not write the rules that use it, and as `createMacro`
 */
export async function updateMacro(scope: Scope, id: string, changes: MacroChanges): Promise<Macro> {
  await getMacro(scope, id)
  const columns = await columnsOf(scope, changes)
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    await lockMacro(scope, id)
    const updated = await db
      .update(macros)
      .set({ ...columns, updated_at: sql`now()` })
      .where(and(eq(macros.organization_id, organization_id), eq(macros.id, id)))
      .returning({ id: macros.id })
      .catch(nameExists)
    if (!updated[0]) throw new ApiError('MACRO_NOT_FOUND')
    return getMacro(scope, id)
  })
}

/**
 * Deletes a macro. Rules that use it are switched off.
 * @throws MACRO_NOT_FOUND, FORBIDDEN for who may not write the rules that use it
 */
export function deleteMacro(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    await lockMacro(scope, id)
    await emptyNames(scope, 'macro', id)
    const deleted = await db
      .delete(macros)
      .where(and(eq(macros.organization_id, organization_id), eq(macros.id, id)))
      .returning({ id: macros.id })
    if (!deleted[0]) throw new ApiError('MACRO_NOT_FOUND')
  })
}

/** Locks a macro that the caller changes, so that no rule begins to use it meanwhile. @throws FORBIDDEN */
async function lockMacro(scope: Scope, id: string): Promise<void> {
  const { sql, organization_id } = scope
  await sql`select from macros where organization_id = ${organization_id} and id = ${id} for no key update`
  const rules = await sql<{ on: EventType }[]>`
    select "on" from rules where organization_id = ${organization_id} and macro_id = ${id}`
  if (rules.length > 0)
    requireRuleRights(
      scope,
      rules.map(({ on }) => on),
    )
}

/** Shows what a macro would do to a ticket. @throws MACRO_NOT_FOUND, TICKET_NOT_FOUND (422) */
export async function previewMacro(scope: Scope, id: string, { ticket_id }: MacroUse): Promise<MacroPreview> {
  const macro = await getMacro(scope, id)
  const { format, is_internal, changes } = macro
  return { body: await expandFor(scope, macro, ticket_id), format, is_internal, changes }
}

/**
 * Applies a macro to a ticket: writes its message, then makes its changes; all of it or nothing. When the message
 * leaves by email, it waits for the outcome of the first attempt.
 * @throws MACRO_NOT_FOUND, TICKET_NOT_FOUND (422), EMPTY_BODY (the values are absent), INVALID_STATUS, USER_NOT_FOUND,
 *   LABEL_NOT_FOUND, INVALID_CUSTOM
 */
export async function applyMacro(scope: Scope, id: string, { ticket_id: given }: MacroUse): Promise<AppliedMacro> {
  const macro = await getMacro(scope, id)
  const text = await writeMacro(scope, macro, given)
  const ticket_id = given.toLowerCase()
  const apply = (scope: Scope) => makeMacro(scope, macro, ticket_id, text)
  const { ticket, message } = await withHeld(scope, text?.held ?? [], () => inTransaction(scope, apply)).catch(
    (error: unknown) => {
      throw error instanceof ApiError && error.code === 'TICKET_NOT_FOUND' ? unknownTicket(given) : error
    },
  )
  return { ticket, message: message && (await withFirstAttempt(scope, ticket_id, message)) }
}

/**
 * Writes the text of a macro for a ticket; null without one. To be called outside a transaction.
 * @throws TICKET_NOT_FOUND (422), EMPTY_BODY (the values are absent), VALIDATION_ERROR for too long a text
 */
export async function writeMacro(scope: Scope, macro: Macro, ticket_id: string): Promise<WrittenText | null> {
  const body = await expandFor(scope, macro, ticket_id)
  return body === null ? null : renderWritten(scope, { body, format: macro.format ?? undefined })
}

/**
 * Adds the message of a macro and makes its changes, in the caller's transaction.
 * @param maySend tells, once the ticket is locked, if the message is written; the changes are made in any case
 * @throws TICKET_NOT_FOUND, TICKET_MERGED, INVALID_STATUS, USER_NOT_FOUND, LABEL_NOT_FOUND, INVALID_CUSTOM
 */
export async function makeMacro(
  scope: Scope,
  { is_internal, changes }: Macro,
  ticket_id: string,
  text: WrittenText | null,
  maySend: (conversation: Conversation) => Promise<boolean> = async () => true,
): Promise<AppliedMacro> {
  const conversation = await lockConversation(scope, ticket_id)
  const is_written = text !== null && (is_internal || (await maySend(conversation)))
  const message = is_written ? await addWritten(scope, conversation, { is_internal }, text) : null
  return { ticket: await updateTicket(scope, ticket_id, withMoment(changes)), message }
}

/** Puts the values of a ticket into a text. @throws TICKET_NOT_FOUND (422), VALIDATION_ERROR for too long a text */
async function expandFor(scope: Scope, { body, format }: Macro, ticket_id: string): Promise<string | null> {
  const [id] = asIds([ticket_id])
  const values = id && (await findValues(scope, id))
  if (!values) throw unknownTicket(ticket_id)
  if (body === null || format === null) return null
  const expanded = expand(body, values, format)
  if (codePoints(expanded) <= MOST_CHARACTERS) return expanded
  throw fieldError('VALIDATION_ERROR', '', `makes a message of more than ${MOST_CHARACTERS} characters`)
}

function unknownTicket(id: string): ApiError {
  return unknownIds('TICKET_NOT_FOUND', '/ticket_id', [id])
}

/** The columns that an input sets, with the ids as the database writes them. @throws USER_NOT_FOUND, LABEL_NOT_FOUND */
async function columnsOf(scope: Scope, { body, format, changes, ...plain }: MacroChanges) {
  if (changes) await requireNamed(scope, withMoment(changes, '/changes'), '/changes')
  const { assignee_id, team_id, add_label_ids, ...others } = changes ?? {}
  const named = {
    ...others,
    ...(assignee_id !== undefined && { assignee_id: assignee_id?.toLowerCase() ?? null }),
    ...(team_id !== undefined && { team_id: team_id?.toLowerCase() ?? null }),
    ...(add_label_ids && { add_label_ids: asIds(add_label_ids) }),
  }
  const { text, format: form } = preparedText(body, format, macros.body)
  return { ...plain, body: text, format: form, ...(changes && { changes: named }) }
}

function nameExists(error: unknown): never {
  throw violates(error, 'macros_name') ? fieldError('MACRO_NAME_EXISTS', '/name') : error
}
