/** The handlers of each kind of outbox job, for the service and for the command that drains the outbox. */
import { closeRenderer } from '../../base/html/render'
import { tellAdminsBy } from '../../delivery/told/tell-admins'
import { deliverWebhook } from '../../delivery/webhooks/deliver'
import { sendDueDraft } from '../../desk/drafts/send-due'
import { ruleHandler } from '../../desk/rules/apply-rules'
import { tellPromises } from '../../desk/tickets/tell-promises'
import { wakeTicket } from '../../desk/tickets/wake-ticket'
import { inboundHandler } from '../../mail/inbound/receive'
import { writeAdminLetters } from '../../mail/letters/admin-letters'
import { letterHandler } from '../../mail/letters/send-letter'
import { emailHandler } from '../../mail/outbound/send'
import { closeTransports } from '../../mail/outbound/transport'
import { closeParser } from '../../mail/parse/lanes'

tellAdminsBy(writeAdminLetters)

export const HANDLERS = {
  webhook: deliverWebhook,
  email: emailHandler,
  inbound: inboundHandler,
  letter: letterHandler,
  wake: wakeTicket,
  draft: sendDueDraft,
  rule: ruleHandler,
  promise: tellPromises,
}

/**
 * Closes what the handlers keep open: the processes that parse mail and render bodies, and the SMTP connections. Call
 * it when no job runs.
 */
export async function closeHandlers(): Promise<void> {
  await Promise.all([closeParser(), closeRenderer()])
  closeTransports()
}
