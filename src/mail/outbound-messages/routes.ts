import Elysia from 'elysia'
import { pageOf } from '../../base/shapes/answers'
import { inOrganization } from '../../http/admission/authenticate'
import { OutboundFilter, OutboundMessage } from './model'
import { listOutboundMessages } from './queries'

export const outboundMessageRoutes = new Elysia({
  tags: ['Outbound messages'],
  detail: { about: 'The log of all email that the team sent or tries to send.' },
})
  .use(inOrganization)

  .get('/outbound-messages', ({ scope, query }) => listOutboundMessages(scope, query), {
    query: OutboundFilter,
    response: pageOf(OutboundMessage),
    detail: { summary: 'List outbound messages', permission: 'messages:read' },
  })
