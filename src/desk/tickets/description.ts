/** The description of a new ticket, as the first message keeps it. */
import { newId } from '../../base/db/columns'
import { type RenderedBody, showsNothing } from '../../base/html/body'
import type { Scope } from '../../base/scope'
import type { DraftWithId } from '../messages/draft'
import { readWritten, type WrittenText } from '../messages/written-text'
import type { NewTicket } from './model'
import type { NewTicketReferences } from './references'

/** A text that is rendered, with the files that it shows. */
export type Body = RenderedBody & { body: string; attachment_ids?: string[] }

/** Renders a description, outside a transaction. @returns undefined for one without text */
export async function renderDescription(
  scope: Scope,
  { description, description_format }: Pick<NewTicket, 'description' | 'description_format'>,
): Promise<WrittenText | undefined> {
  if (!description) return undefined
  const given = { body: description, format: description_format, field: '/description' }
  const text = await readWritten(scope, given)
  return showsNothing(text) ? undefined : text
}

/** The description as a message of the contact, for which no email is sent. */
export function draftOf(
  { body, format, body_html, text, attachment_ids }: Body,
  contact: NewTicketReferences['contact'],
): DraftWithId {
  return {
    id: newId(),
    ...{ body, format, body_html, text, attachment_ids },
    is_internal: false,
    direction: 'inbound',
    sender_name: contact.name,
    sender_email: contact.email,
  }
}
