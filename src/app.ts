/**
 * The HTTP app: every request passes these steps in this order, then reaches a section, of which each has one line
 * below. A step may answer for the request, and then the later ones do not run.
 *
 *   url          a URL that can be parsed
 *   id           X-Request-Id, for the answer and the log
 *   caller       the user of the token, or the API key; a bad one is refused later, by routes that need one
 *   limit        429
 *   body         read and parsed; its faults wait
 *   membership   401; 403 for a key from another network; then the organization: 422 for its header, 403
 *   permission   403, by what the route declares
 *   path         404 for an id that names nothing
 *   If-Match     412
 *   key          422 for a malformed Idempotency-Key
 *   body, query  422
 *   handler      the route's own function, in `<section>/routes.ts`
 *   etag         ETag, and 304
 *   log          one line, and the metrics
 *
 * The code of the steps is in `http/pipeline/pipeline.ts`, in the same order.
 */
import Elysia, { type AnyElysia } from 'elysia'
import { config } from './base/config'
import { pageRoutes } from './console/pages/routes'
import { consoleRoutes } from './console/routes'
import { endStreams } from './delivery/events/follow'
import { eventRoutes } from './delivery/events/routes'
import { webhookRoutes } from './delivery/webhooks/routes'
import { attachmentRoutes } from './desk/attachments/routes'
import { companyRoutes } from './desk/companies/routes'
import { contactRoutes } from './desk/contacts/routes'
import { draftRoutes } from './desk/drafts/routes'
import { labelRoutes } from './desk/labels/routes'
import { macroRoutes } from './desk/macros/routes'
import { mergingRoutes } from './desk/merging/routes'
import { messageRoutes } from './desk/messages/routes'
import { openingRoutes } from './desk/opening/routes'
import { participantRoutes } from './desk/participants/routes'
import { contactTokenRoutes, portalRoutes } from './desk/portal/routes'
import { ratingPageRoutes, ratingRequestRoutes } from './desk/rating-requests/routes'
import { readMarkRoutes } from './desk/read-marks/routes'
import { reportRoutes } from './desk/reports/routes'
import { retentionRoutes } from './desk/retention/routes'
import { ruleRoutes } from './desk/rules/routes'
import { scheduleRoutes } from './desk/schedules/routes'
import { slaPolicyRoutes } from './desk/sla-policies/routes'
import { statsRoutes } from './desk/stats/routes'
import { teamRoutes } from './desk/teams/routes'
import { ticketRoutes } from './desk/tickets/routes'
import { timeEntryRoutes } from './desk/time-entries/routes'
import { timerRoutes } from './desk/timers/routes'
import { transcriptRoutes } from './desk/transcript/routes'
import { viewingRoutes } from './desk/viewing/routes'
import { viewRoutes } from './desk/views/routes'
import { EVENT_MODELS } from './event-models'
import { guideRoutes } from './http/guide-pages/routes'
import { mcpRoutes } from './http/mcp/routes'
import { documentationRoutes } from './http/openapi/documentation-page'
import { healthRoutes } from './http/pipeline/health'
import { pipeline } from './http/pipeline/pipeline'
import { type Declarations, readDeclarations } from './http/request/declarations'
import { handlersOf } from './http/rerun/route-handlers'
import { domainRoutes } from './mail/domains/routes'
import { inboundMessageRoutes } from './mail/inbound-messages/routes'
import { inboundRoutes, inletRoutes } from './mail/inlets/routes'
import { mailboxRoutes } from './mail/mailboxes/routes'
import { outboundMessageRoutes } from './mail/outbound-messages/routes'
import { senderRuleRoutes } from './mail/sender-rules/routes'
import * as models from './models'
import { apiKeyRoutes } from './people/api-keys/routes'
import { auditLogRoutes } from './people/audit-log/routes'
import { authRoutes } from './people/auth/routes'
import { identityProviderRoutes, providerSignInRoutes } from './people/identity/routes'
import { invitationRoutes } from './people/invitations/routes'
import { organizationRoutes, ownOrganizationRoutes } from './people/organizations/routes'
import { secondFactorRoutes } from './people/second-factor/routes'
import { userRoutes } from './people/users/routes'

/**
 * Makes the app.
 * @param isReady tells `/readyz` that the service can do its work; may reject
 * @param stopping aborted when the service begins to stop: `/readyz` answers 503, and each connection closes after its
 *   answer
 * @throws Error with one line for the first route that declares too little (`http/request/declarations.ts`)
 */
export function createApp(isReady: () => Promise<boolean>, stopping?: AbortSignal): AnyElysia {
  const api = createApi()
  const declarations: Declarations = new Map()
  const documented = { models, events: EVENT_MODELS }
  const app = new Elysia({ normalize: false })
    .use(pipeline(handlersOf(api), declarations, stopping))
    .use(healthRoutes(async () => !stopping?.aborted && (await isReady())))
    .use(config.SWAGGER === 'on' ? documentationRoutes(documented) : (app: Elysia) => app)
    .use(config.MCP === 'on' ? mcpRoutes(documented, declarations) : (app: Elysia) => app)
    .use(guideRoutes)
    .use(pageRoutes)
    .use(ratingPageRoutes)
    .use(consoleRoutes)
    .use(api)
  readDeclarations(app, declarations)
  stopping?.addEventListener('abort', endStreams)
  return app
}

/** Puts the sections of the interface together. */
function createApi(): AnyElysia {
  // The types of so many routes together are too deep for the compiler, and nobody asks for them.
  return (new Elysia({ prefix: '/api/v1', normalize: false }) as AnyElysia)
    .use(authRoutes)
    .use(secondFactorRoutes)
    .use(providerSignInRoutes)
    .use(identityProviderRoutes)
    .use(ticketRoutes)
    .use(openingRoutes)
    .use(messageRoutes)
    .use(transcriptRoutes)
    .use(draftRoutes)
    .use(macroRoutes)
    .use(ruleRoutes)
    .use(attachmentRoutes)
    .use(participantRoutes)
    .use(contactRoutes)
    .use(companyRoutes)
    .use(labelRoutes)
    .use(teamRoutes)
    .use(scheduleRoutes)
    .use(slaPolicyRoutes)
    .use(timeEntryRoutes)
    .use(timerRoutes)
    .use(mergingRoutes)
    .use(viewingRoutes)
    .use(readMarkRoutes)
    .use(ratingRequestRoutes)
    .use(viewRoutes)
    .use(retentionRoutes)
    .use(webhookRoutes)
    .use(eventRoutes)
    .use(organizationRoutes)
    .use(ownOrganizationRoutes)
    .use(userRoutes)
    .use(invitationRoutes)
    .use(mailboxRoutes)
    .use(domainRoutes)
    .use(inboundMessageRoutes)
    .use(outboundMessageRoutes)
    .use(senderRuleRoutes)
    .use(inletRoutes)
    .use(inboundRoutes)
    .use(apiKeyRoutes)
    .use(auditLogRoutes)
    .use(reportRoutes)
    .use(statsRoutes)
    .use(contactTokenRoutes)
    .use(portalRoutes)
}
