/** Who does the work of the outbox: for the service, and for the command that works it off. */
import { closeParser } from './mail/parser'
import { inboundHandler } from './mail/receive'
import { emailHandler } from './mail/send'
import { closeTransports } from './mail/transport'
import { deliverWebhook } from './webhooks/deliver'

export const HANDLERS = { webhook: deliverWebhook, email: emailHandler, inbound: inboundHandler }

/** Ends what they keep open, once nothing is in work any more. */
export async function closeHandlers(): Promise<void> {
  await closeParser()
  closeTransports()
}
