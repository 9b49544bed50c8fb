/**
 * Adds messages that came by email to their tickets: as many statements for a hundred as for one. `addMessage` in
 * `commands.ts` adds one that an agent writes, and sends it.
 */

import { type Scope, together } from '../../base/scope'
import { claimForEach } from '../attachments/claim-uploads'
import { keepAll, readAll } from '../promises/keep'
import { addEachToSearch } from '../search/ticket-document'
import { type ActivityEntry, type EntryActor, recordActivities } from '../timeline/activity'
import { addToTickets } from '../turn/turn'
import { addAnchors } from './add-anchors'
import type { DraftWithId } from './draft'
import { insertMessages } from './insert-messages'
import { insertPictures } from './pictures'

export type AddedMessage = {
  ticket_id: string
  actor: EntryActor
  draft: DraftWithId
  /** Its ticket, which the caller has locked. */
  answered: { code: string; locked_at: string }
}

/**
 * Adds a message to each of several different tickets, which the caller's transaction has locked, with its
 * attachments, anchors, entry in the timeline and search words. The caller publishes.
 * @throws ATTACHMENT_NOT_FOUND
 */
export async function addMessages(scope: Scope, messages: AddedMessage[]): Promise<void> {
  if (messages.length === 0) return
  const { sql, organization_id } = scope
  const added = messages.map(({ ticket_id, draft, answered }) => ({ ticket_id, draft, text: draft.text, ...answered }))
  const [, , , , ...facts] = await together([
    insertWhole(scope, messages, 'there'),
    recordActivities(
      sql,
      messages.map(({ ticket_id, actor, draft }) => ({
        organization_id,
        ticket_id,
        actor,
        entry: messageEntry(draft),
      })),
    ),
    addToTickets(scope, added),
    addEachToSearch(scope, added),
    ...readAll(
      scope,
      messages.map(({ ticket_id }) => ticket_id),
    ),
  ])
  await keepAll(scope, facts, 'later')
}

/** Writes messages with their attachments and anchors. @throws ATTACHMENT_NOT_FOUND */
export async function insertWhole(
  scope: Scope,
  messages: { ticket_id: string; draft: DraftWithId }[],
  tickets: 'new' | 'there',
): Promise<void> {
  const { sql, organization_id } = scope
  await together([
    insertMessages(
      sql,
      messages.map(({ ticket_id, draft }) => ({ organization_id, ticket_id, draft })),
      tickets,
    ),
    claimForEach(
      scope,
      messages.map(({ draft }) => ({ message_id: draft.id, given: draft.attachment_ids ?? [] })),
    ),
    insertPictures(
      scope,
      messages.map(({ draft }) => draft),
    ),
    addAnchors(scope, messages),
  ])
}

/** The timeline entry of a new message. */
export function messageEntry({ id, is_internal, direction }: DraftWithId): ActivityEntry {
  return is_internal
    ? { type: 'note', data: { message_id: id } }
    : { type: 'message', data: { message_id: id, direction } }
}
