/** Locks a draft for those who change, send or delete it, and knows what each may do. */
import { ApiError } from '../../base/errors'
import { type Scope, together } from '../../base/scope'
import { requireTag } from '../../http/request/tags'
import { type Conversation, lockConversation } from '../messages/conversation'
import { type DraftRow, getDraftRow, presentDrafts } from './queries'

type LockedDraft = { conversation: Conversation; row: DraftRow }

/** Times that a draft is looked for: it may move to another ticket before that is locked. */
const LOOKS = 3

/**
 * Locks the ticket of a draft, then the draft, until the transaction ends. So no message comes to the ticket meanwhile,
 * not even by email.
 * @param may tells if the caller may do it: `mayChange`, or more
 * @param if_match the header
 * @throws DRAFT_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED
 */
export async function lockDraft(
  scope: Scope,
  id: string,
  may: (scope: Scope, row: DraftRow) => boolean,
  if_match: string | null,
): Promise<LockedDraft> {
  const locked = await lockWithTicket(scope, id)
  if (!may(scope, locked.row)) throw new ApiError('FORBIDDEN')
  const [shown] = await presentDrafts(scope, [locked.row])
  requireTag(if_match, { data: shown! })
  return locked
}

async function lockWithTicket(scope: Scope, id: string): Promise<LockedDraft> {
  const { sql, organization_id } = scope
  for (let look = 1; look <= LOOKS; look++) {
    const [draft] = await sql<{ ticket_id: string }[]>`
      select d.ticket_id from drafts d
      join tickets t on t.organization_id = ${organization_id} and t.id = d.ticket_id and t.deleted_at is null
      where d.organization_id = ${organization_id} and d.id = ${id}`
    if (!draft) break
    const conversation = await lockConversation(scope, draft.ticket_id).catch(asGone)
    if (!conversation) continue
    const [is_there, row] = await together([lockRow(scope, id, draft.ticket_id), getDraftRow(scope, id)])
    if (is_there) return { conversation, row }
  }
  throw new ApiError('DRAFT_NOT_FOUND')
}

async function lockRow({ sql, organization_id }: Scope, id: string, ticket_id: string): Promise<boolean> {
  const found = await sql`
    select 1 from drafts
    where organization_id = ${organization_id} and id = ${id} and ticket_id = ${ticket_id} for update`
  return found.length > 0
}

/** The draft goes with its ticket, to another one when that is merged. @returns undefined then */
function asGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'TICKET_MERGED') return
  throw error instanceof ApiError && error.code === 'TICKET_NOT_FOUND' ? new ApiError('DRAFT_NOT_FOUND') : error
}
