/** The handlers of each kind of outbox job, for the service and for the command that drains the outbox. */
import { closeRenderer } from '../html/render'
import { letterHandler } from '../letters/send-letter'
import { inboundHandler } from '../mail/inbound/receive'
import { emailHandler } from '../mail/outbound/send'
import { closeTransports } from '../mail/outbound/transport'
import { closeParser } from '../mail/parse/lanes'
import { deliverWebhook } from '../webhooks/deliver'

export const HANDLERS = { webhook: deliverWebhook, email: emailHandler, inbound: inboundHandler, letter: letterHandler }

/** Closes what the handlers keep open: the processes that parse mail and render bodies, and the SMTP connections. Call it when no job runs. */
export async function closeHandlers(): Promise<void> {
  await Promise.all([closeParser(), closeRenderer()])
  closeTransports()
}
