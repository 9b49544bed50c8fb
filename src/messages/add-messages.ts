/**
 * Adds messages that came by email to their tickets: as many statements for a hundred as for one. `addMessage` in
 * `commands.ts` adds one that an agent writes, and sends it.
 */
import { claimForEach } from '../attachments/claim-uploads'
import { type Actor, type Scope, together } from '../scope'
import { addEachToSearch } from '../search/ticket-document'
import { type ActivityEntry, recordActivities } from '../timeline/activity'
import { addAnchors } from './add-anchors'
import type { DraftWithId } from './draft'
import { insertMessages } from './insert-messages'

export type AddedMessage = {
  ticket_id: string
  actor: Actor
  draft: DraftWithId
  /** The time at which its ticket was locked; null for the first message of a ticket, which has its time and words already. */
  locked_at: string | null
}

/**
 * Adds a message to each of several different tickets, which the caller's transaction has locked or created, with its
 * attachments, anchors, entry in the timeline and search words. The caller publishes.
 * @throws ATTACHMENT_NOT_FOUND
 */
export async function addMessages(scope: Scope, messages: AddedMessage[]): Promise<void> {
  if (messages.length === 0) return
  const later = messages.filter(({ locked_at }) => locked_at !== null)
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
  const changed = messages.flatMap(({ ticket_id, locked_at }) => (locked_at ? { ticket_id, locked_at } : []))
  const times = Map.groupBy(changed, ({ locked_at }) => locked_at)
  await together([
    insertMessages(scope, messages),
    recordActivities(
      scope,
      messages.map(({ ticket_id, actor, draft }) => ({ ticket_id, actor, entry: messageEntry(draft) })),
    ),
    ...times.entries().map(([time, some]) =>
      touchTickets(
        scope,
        some.map(({ ticket_id }) => ticket_id),
        time,
      ),
    ),
  ])
}

/** Sets the time of change of tickets that were locked at that time. */
export async function touchTickets({ sql, organization_id }: Scope, ids: string[], time: string): Promise<void> {
  await sql`
    update tickets set updated_at = ${time} where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
}
