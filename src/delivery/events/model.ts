import { type Static, Type } from '@sinclair/typebox'
import { EVENTS } from '../../base/db/schema'
import { fieldError } from '../../base/errors'
import { Instant, orNull, pageWith, Uuid } from '../../base/shapes/answers'
import { asIds, isUuid } from '../../base/shapes/ids'
import { Paging, query, queryFlag, queryValue, queryWords } from '../../base/shapes/query'
import { timeOf } from '../../base/shapes/time'
import type { EventType } from '../webhooks/publish'

/** Types of events that the feed has. */
export const FED = EVENTS.filter((type) => type !== 'test.ping')

/** Where to begin: the words, or a time in milliseconds since 1970. */
type Start = 'oldest' | 'now' | number

const RESOURCES_MOST = 50

const Following = {
  cursor: queryValue({ type: 'string' }, (text) => text, {
    description: 'The place after which to go on: a `next_cursor`, or the `id` of a stream. Filters as before',
  }),
  start: queryValue<Start>({ type: 'string' }, (text) => (text === 'oldest' || text === 'now' ? text : timeOf(text)), {
    fault: 'must be oldest, now, or a time with offset, such as 2026-01-31T09:00:00Z',
    description: 'Where to begin without a cursor: `oldest`, `now`, or a time',
  }),
  types: queryWords<EventType>(FED, {
    code: 'INVALID_EVENTS',
    fault: 'must be types of events, separated by commas',
    description: 'Only events of these types, separated by commas',
  }),
  resource_ids: queryValue<string[]>(
    { type: 'string' },
    (text) => {
      const ids = text.split(',').map((part) => part.trim())
      return ids.length <= RESOURCES_MOST && ids.every(isUuid) ? asIds(ids).toSorted() : undefined
    },
    {
      fault: `must be 1 to ${RESOURCES_MOST} UUIDs separated by commas`,
      description: 'Only events about these: `data.id` or `data.ticket.id`, separated by commas',
    },
  ),
}

export const StreamFilter = query({
  ...Following,
  notices: queryFlag({
    description:
      'Also tells people, without an `id` and past all filters, who has a ticket open (`viewing`), of changes of drafts ' +
      '(`draft`) and of their own read marks (`read`). The event `notices` says that they come from now on: read again ' +
      'what you show',
  }),
})
export type StreamFilter = {
  notices?: boolean
  cursor?: string
  start?: Start
  types?: EventType[]
  resource_ids?: string[]
}

/** @throws VALIDATION_ERROR for two places to begin at */
export function requireOneStart({ cursor, start }: StreamFilter): void {
  if (cursor !== undefined && start !== undefined) {
    throw fieldError('VALIDATION_ERROR', '/query/start', 'must stand without cursor')
  }
}

export const FeedFilter = query({ ...Following, per_page: Paging.per_page })
export type FeedFilter = StreamFilter & { per_page?: number }

/** An event: the body that webhooks get, with its id in front. */
export const FeedEvent = Type.Object({
  id: Uuid,
  event: Type.String({ description: 'Its type' }),
  timestamp: Instant,
  organization_id: Uuid,
  data: Type.Any({ description: 'The resource as the API returns it, and what the type adds' }),
})
export type FeedEvent = Static<typeof FeedEvent>

const FeedMeta = Type.Object({
  per_page: Type.Integer({ description: 'At most 100' }),
  next_cursor: Type.String({ description: 'Goes on behind this page, also when nothing is there yet' }),
  has_more: Type.Boolean({ description: 'Whether more is there already. A page may be empty although more is' }),
  complete_until: orNull(Instant, { description: 'All changes before this time are in this page or in earlier ones' }),
})

export const FeedPage = pageWith(FeedEvent, FeedMeta)
export type FeedPage = { data: FeedEvent[]; meta: Static<typeof FeedMeta> }
