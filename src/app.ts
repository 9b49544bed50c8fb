/** Table of contents: what every request passes, then one line for each section of the interface. */
import Elysia from 'elysia'
import { attachmentRoutes } from './attachments/routes'
import { authRoutes } from './auth/routes'
import { companyRoutes } from './companies/routes'
import { contactRoutes } from './contacts/routes'
import { type Declarations, readDeclarations } from './http/declarations'
import { healthRoutes } from './http/health'
import { documentationRoutes } from './http/openapi/documentation-page'
import { pipeline } from './http/pipeline'
import { handlersOf } from './http/rerun/route-handlers'
import { inboundMessageRoutes } from './inbound-messages/routes'
import { labelRoutes } from './labels/routes'
import { mailboxRoutes } from './mailboxes/routes'
import { messageRoutes } from './messages/routes'
import { organizationRoutes } from './organizations/routes'
import { participantRoutes } from './participants/routes'
import { ticketRoutes } from './tickets/routes'
import { timeEntryRoutes } from './time-entries/routes'
import { userRoutes } from './users/routes'
import { webhookRoutes } from './webhooks/routes'

/** @param isReady whether the service can do its work, for `/readyz` */
export function createApp(isReady: () => Promise<boolean>) {
  const api = new Elysia({ prefix: '/api/v1', normalize: false })
    .use(authRoutes)
    .use(ticketRoutes)
    .use(messageRoutes)
    .use(attachmentRoutes)
    .use(participantRoutes)
    .use(contactRoutes)
    .use(companyRoutes)
    .use(labelRoutes)
    .use(timeEntryRoutes)
    .use(webhookRoutes)
    .use(organizationRoutes)
    .use(userRoutes)
    .use(mailboxRoutes)
    .use(inboundMessageRoutes)
  const declarations: Declarations = new Map()
  const app = new Elysia({ normalize: false })
    .use(pipeline(handlersOf(api), declarations))
    .use(healthRoutes(isReady))
    .use(documentationRoutes)
    .use(api)
  readDeclarations(app, declarations)
  return app
}
