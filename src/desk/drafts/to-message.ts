import { formOfRow } from '../../base/html/formats'
import type { Scope } from '../../base/scope'
import { claimForDraft } from '../attachments/claim-uploads'
import { addWritten } from '../messages/commands'
import type { Conversation } from '../messages/conversation'
import type { Message } from '../messages/model'
import type { DraftRow } from './queries'
import { removeDrafts } from './remove-drafts'

/**
 * Makes a message of the caller from a draft, which the caller's transaction has locked with its ticket. The draft is
 * gone then.
 * @param send_email as in `NewMessage`
 * @throws EMAIL_SEND_FAILED, ATTACHMENT_INFECTED
 */
export async function toMessage(
  scope: Scope,
  conversation: Conversation,
  row: DraftRow,
  send_email: boolean | undefined,
): Promise<Message> {
  const { id, body, body_html, text, is_internal, cc, quote, attachments, author, written_by, mentions } = row
  await claimForDraft(scope, id, [])
  await removeDrafts(scope, scope.sql`d.id = ${id}`)
  const attachment_ids = attachments.map((attachment) => attachment.id)
  const addressed = { ...(cc && { cc }), ...(quote && { quote }) }
  const drafted_by = written_by ?? author
  const said = { is_internal, ...addressed, attachment_ids, send_email, drafted_by, mentions }
  return addWritten(scope, conversation, said, { body, format: formOfRow(row), body_html, text })
}
