/** The outbox handler of kind draft: sends what its author wanted to leave later. */
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { type Actor, afterCommit, inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { noticeByTime } from '../../delivery/events/notices'
import type { OutboxJob, Outcome } from '../../delivery/outbox/job'
import { keepMember } from '../timers/commands'
import { lockDraft } from './lock-draft'
import { SEND_FAULTS, type SendError } from './queries'
import { keepDrafts } from './send-later'
import { toMessage } from './to-message'

const DONE: Outcome = { type: 'done' }

/** Sends a draft whose moment has come, as by its author, or keeps it and says why it cannot go. */
export async function sendDueDraft({ organization_id, id }: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope = { ...connection, organization_id, actor: SYSTEM }
  try {
    return await inTransaction(scope, (inner) => sendIfDue(inner, id))
  } catch (error) {
    // Tries again when the service cannot do it at the moment.
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    if (error.code === 'DRAFT_NOT_FOUND') return DONE
    const send_error = isSendError(error.code) ? error.code : 'EMAIL_SEND_FAILED'
    // Unless somebody has chosen another moment meanwhile.
    await inTransaction(scope, (inner) => keepDrafts(inner, inner.sql`d.id = ${id} and d.send_at <= now()`, send_error))
    return DONE
  }
}

function isSendError(code: string): code is SendError {
  return code in SEND_FAULTS
}

/** @throws DRAFT_NOT_FOUND, and the reasons to keep it */
async function sendIfDue(scope: Scope, id: string): Promise<Outcome> {
  const { sql, organization_id } = scope
  const [waiting] = await sql<{ author_id: string; send_at: string; left_s: number }[]>`
    select author_id, send_at, extract(epoch from send_at - now())::float8 as left_s from drafts
    where organization_id = ${organization_id} and id = ${id} and send_at is not null`
  if (!waiting) return DONE
  const { author_id, send_at, left_s } = waiting
  if (left_s > 0) return { type: 'retry', delay_s: left_s, counts: false }
  const author = await findAuthor(scope, author_id)
  const { conversation, row } = await lockDraft(scope, id, () => true, null)
  // It was changed meanwhile.
  if (row.send_at !== send_at || row.author.id !== author_id) return { type: 'retry', delay_s: 0, counts: false }
  if (!author) throw new ApiError('USER_NOT_FOUND')
  if (conversation.status === 'closed') throw new ApiError('INVALID_STATUS')
  if (row.stale && row.unless_answered) throw new ApiError('DRAFT_STALE')
  await toMessage({ ...scope, actor: author }, conversation, row, true)
  afterCommit(scope, () => noticeByTime(organization_id, { kind: 'draft', ticket_id: conversation.id }))
  return DONE
}

/** Finds an active member, who remains one until the transaction ends. */
async function findAuthor(scope: Scope, id: string): Promise<Actor | undefined> {
  const { sql, organization_id } = scope
  if (!(await keepMember(scope, id).then(() => true, asNobody))) return undefined
  const [author] = await sql<Extract<Actor, { type: 'user' }>[]>`
    select 'user' as type, u.id, u.name, u.email, m.role
    from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.user_id = ${id}`
  return author
}

function asNobody(error: unknown): false {
  if (error instanceof ApiError && error.code === 'FORBIDDEN') return false
  throw error
}
