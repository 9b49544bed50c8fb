import Elysia from 'elysia'
import { inOrganization } from '../../http/admission/authenticate'
import { inSteps } from '../../http/request/answer'
import { openStream } from './follow'
import { FeedFilter, FeedPage, StreamFilter } from './model'
import { listEvents } from './queries'

const READS = [
  'messages:read',
  'contacts:read',
  'companies:read',
  'labels:read',
  'time_entries:read',
  'inbound_messages:read',
] as const

export const eventRoutes = new Elysia({
  tags: ['Events'],
  detail: { about: 'All that happens in an organization, in one order: pages and a stream.' },
})
  .use(inOrganization)

  .get('/events', async ({ scope, query }) => inSteps<FeedPage>(await listEvents(scope, query)), {
    query: FeedFilter,
    response: FeedPage,
    detail: {
      summary: 'List events',
      description: 'Oldest first. API keys see the events whose resource they may read',
      permission: 'tickets:read',
      or_permission: READS,
      codes: ['CURSOR_EXPIRED'],
    },
  })

  .get('/events/stream', ({ scope, query, request }) => openStream(request, scope, query), {
    query: StreamFilter,
    detail: {
      summary: 'Stream events',
      description:
        'Server-sent events: those of `GET /events`, from now on when no cursor is given. The header Last-Event-ID goes before `cursor`',
      permission: 'tickets:read',
      or_permission: READS,
      codes: ['CURSOR_EXPIRED', 'RATE_LIMITED'],
      responses: { 200: { description: 'Events', content: { 'text/event-stream': {} } } },
    },
  })
