/**
 * Adds messages that came by email to their tickets: as many statements for a hundred as for one. `addMessage` in
 * `commands.ts` adds one that an agent writes, and sends it.
 */
import { claimForEach } from '../attachments/claim-uploads'
import { type Actor, type Scope, together } from '../scope'
import { addEachToSearch } from '../search/ticket-document'
import { type ActivityEntry, insertTimelines } from '../timeline/activity'
import { addAnchors } from './add-anchors'
import type { DraftWithId } from './draft'
import { insertMessages } from './insert-messages'

export type AddedMessage = {
  ticket_id: string
  actor: Actor
  draft: DraftWithId
  /** True for the first message of a ticket, whose time of change and search document are of the same statement. */
  is_first: boolean
}

/**
 * Adds a message to each of several different tickets, which the caller's transaction has locked or created, with its
 * attachments, anchors, entry in the timeline and search words. The caller publishes.
 * @throws ATTACHMENT_NOT_FOUND
 */
export async function addMessages(scope: Scope, messages: AddedMessage[]): Promise<void> {
  if (messages.length === 0) return
  const later = messages.filter(({ is_first }) => !is_first)
  await together([
    writeMessages(scope, messages),
    claimForEach(
      scope,
      messages.map(({ draft }) => ({ message_id: draft.id, given: draft.attachment_ids ?? [] })),
    ),
    addAnchors(scope, messages),
    addEachToSearch(
      scope,
      later.map(({ ticket_id, draft }) => ({ ticket_id, text: draft.text })),
    ),
  ])
}

/** The timeline entry of a new message. */
export function messageEntry({ id, is_internal, direction }: DraftWithId): ActivityEntry {
  return is_internal
    ? { type: 'note', data: { message_id: id } }
    : { type: 'message', data: { message_id: id, direction } }
}

/** Writes the rows, their entries in the timelines, and the time of change of the tickets. */
async function writeMessages(scope: Scope, messages: AddedMessage[]): Promise<void> {
  const { sql, organization_id } = scope
  const entries = messages.map(({ ticket_id, actor, draft }) => ({ ticket_id, actor, entry: messageEntry(draft) }))
  const changed = messages.filter(({ is_first }) => !is_first).map(({ ticket_id }) => ticket_id)
  await sql`
    with message as (
      ${insertMessages(
        sql,
        messages.map(({ ticket_id, draft }) => ({ organization_id, ticket_id, draft })),
      )}
    ), timeline as (${insertTimelines(scope, entries)})
    update tickets set updated_at = clock_timestamp() where organization_id = ${organization_id} and id = any(${changed}::uuid[])`
}
