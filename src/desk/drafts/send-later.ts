/** Lets drafts wait for their moment, at which a row of the outbox sends them, and keeps those that cannot go. */
import type { Fragment } from '../../base/db/transact'
import { fieldError } from '../../base/errors'
import { afterCommit, type Scope } from '../../base/scope'
import { timeOf } from '../../base/shapes/time'
import { noticeByTime } from '../../delivery/events/notices'
import { momentFault, scheduleWork, wholeSecond, withdrawWork } from '../../delivery/outbox/schedule'
import { tellAuthors } from '../../delivery/told/tell-members'
import { personId } from '../../http/request/permissions'
import type { DraftChanges } from './model'
import type { DraftRow, SendError } from './queries'

/**
 * Reads the moment that somebody chose for a draft.
 * @returns a whole second, never an earlier one
 * @throws VALIDATION_ERROR for one that is past or far, for a note, and for an API key
 */
export function readMoment(scope: Scope, send_at: string, is_internal: boolean): string {
  if (personId(scope) === null) throw wrongMoment('must be null: only people send later')
  if (is_internal) throw wrongMoment('must be null in a note')
  const fault = momentFault(send_at)
  if (fault !== undefined) throw wrongMoment(fault)
  return wholeSecond(timeOf(send_at)!)
}

/** The 422 about the moment of a draft. @param fault a sentence */
export function wrongMoment(fault: string) {
  return fieldError('VALIDATION_ERROR', '/send_at', fault)
}

/** The fields that say whose a draft is, of which kind, and when it is sent. */
export type Standing = Pick<
  DraftRow,
  'author' | 'written_by' | 'is_taken' | 'is_internal' | 'send_at' | 'unless_answered' | 'send_error'
>

/**
 * Says how a draft stands once the caller has changed it. Who sends later what an API key wrote, or changes what a
 * member left, becomes its author.
 * @throws VALIDATION_ERROR as `readMoment`
 */
export function standingAfter(scope: Scope, before: Standing & Pick<DraftRow, 'is_left'>, changes: DraftChanges) {
  const { is_internal = before.is_internal } = changes
  const given = changes.send_at && readMoment(scope, changes.send_at, is_internal)
  const send_at = given === undefined ? before.send_at : given
  if (send_at !== null && is_internal) throw wrongMoment('must be null in a note')
  const person_id = personId(scope)
  const is_of_key = before.author.type === 'api_key'
  const becomes_own = person_id !== null && (before.is_left || (is_of_key && send_at !== null))
  // A program does not decide it for the person.
  const { unless_answered = becomes_own || before.unless_answered } = changes
  return {
    ...{ is_internal, unless_answered, send_at },
    author: becomes_own ? { type: 'user' as const, id: person_id, name: scope.actor.name } : before.author,
    written_by: becomes_own ? (before.written_by ?? before.author) : before.written_by,
    is_taken: before.is_taken || (is_of_key && person_id !== null),
    send_error: becomes_own || given !== undefined ? null : before.send_error,
  } satisfies Standing
}

/** Has a draft that the caller has locked sent at its moment, or not at all. */
export function setSending(scope: Scope, draft_id: string, send_at: string | null): Promise<void> {
  if (send_at === null) return withdrawWork(scope, 'draft', [draft_id])
  return scheduleWork(scope, 'draft', draft_id, scope.organization_id, send_at)
}

/**
 * Keeps drafts that were to be sent later as drafts, in the caller's transaction, and says why.
 * @param condition on `drafts d`, of which those without a moment are left out
 */
export async function keepDrafts(scope: Scope, condition: Fragment, send_error: SendError): Promise<void> {
  const { sql, organization_id } = scope
  const kept = await sql<KeptDraft[]>`
    update drafts d set send_at = null, send_error = ${send_error}, updated_at = now()
    where d.organization_id = ${organization_id} and d.send_at is not null and ${condition}
    returning d.id, d.ticket_id, d.author_id`
  const ids = kept.map(({ id }) => id)
  await withdrawWork(scope, 'draft', ids)
  await tellKept(scope, kept)
}

type KeptDraft = { id: string; ticket_id: string; author_id: string }

/**
 * Tells of drafts that were kept, in the transaction that keeps them: the pages that show their tickets, and authors
 * by mail.
 */
async function tellKept(scope: Scope, kept: KeptDraft[]): Promise<void> {
  const { organization_id } = scope
  for (const ticket_id of new Set(kept.map((draft) => draft.ticket_id))) {
    afterCommit(scope, () => noticeByTime(organization_id, { kind: 'draft', ticket_id }))
  }
  await tellAuthors(scope, kept)
}
