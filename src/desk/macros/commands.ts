import { and, eq, sql } from 'drizzle-orm'
import { codePoints } from '../../base/address/characters'
import { newId } from '../../base/db/columns'
import { preparedText } from '../../base/db/prepared-text'
import { macros } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { addWritten, withFirstAttempt } from '../messages/commands'
import { lockConversation } from '../messages/conversation'
import { MOST_CHARACTERS } from '../messages/model'
import { renderWritten, withHeld } from '../messages/written-text'
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

/** Changes a macro; `changes` are replaced as a whole. @throws MACRO_NOT_FOUND, and as `createMacro` */
export async function updateMacro(scope: Scope, id: string, changes: MacroChanges): Promise<Macro> {
  const { db, organization_id } = scope
  await getMacro(scope, id)
  const updated = await db
    .update(macros)
    .set({ ...(await columnsOf(scope, changes)), updated_at: sql`now()` })
    .where(and(eq(macros.organization_id, organization_id), eq(macros.id, id)))
    .returning({ id: macros.id })
    .catch(nameExists)
  if (!updated[0]) throw new ApiError('MACRO_NOT_FOUND')
  return getMacro(scope, id)
}

/** Deletes a macro. @throws MACRO_NOT_FOUND */
export async function deleteMacro({ db, organization_id }: Scope, id: string): Promise<void> {
  const deleted = await db
    .delete(macros)
    .where(and(eq(macros.organization_id, organization_id), eq(macros.id, id)))
    .returning({ id: macros.id })
  if (!deleted[0]) throw new ApiError('MACRO_NOT_FOUND')
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
  const body = await expandFor(scope, macro, given)
  const ticket_id = given.toLowerCase()
  const format = macro.format ?? undefined
  const text = body === null ? null : await renderWritten(scope, { body, format })
  const apply = async (scope: Scope): Promise<AppliedMacro> => {
    const conversation = await lockConversation(scope, ticket_id)
    const { is_internal } = macro
    const message = text && (await addWritten(scope, conversation, { is_internal }, text))
    return { ticket: await updateTicket(scope, ticket_id, withMoment(macro.changes)), message }
  }
  const { ticket, message } = await withHeld(scope, text?.held ?? [], () => inTransaction(scope, apply)).catch(
    (error: unknown) => {
      throw error instanceof ApiError && error.code === 'TICKET_NOT_FOUND' ? unknownTicket(given) : error
    },
  )
  return { ticket, message: message && (await withFirstAttempt(scope, ticket_id, message)) }
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
