import { Type } from '@sinclair/typebox'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { TICKET_SORTS } from '../tickets/order'

const name = text({ min: 1, max: 255 })
const sort = oneOf(TICKET_SORTS, { description: 'As of `GET /tickets`' })
const filter = Type.Record(Type.String(), Type.String({ fault: 'must be text' }), {
  maxProperties: 50,
  fault: 'must be an object of at most 50 texts',
  description: 'Query parameters of `GET /tickets` by their names, without `sort` and paging',
})
const shared = flag({ description: 'Everybody of the organization sees it' })

export const View = Type.Object({
  id: Uuid,
  name: Type.String(),
  filter: Type.Record(Type.String(), Type.String(), { description: 'Query parameters of `GET /tickets`, as texts' }),
  sort: orNull(oneOf(TICKET_SORTS), { description: "Null: the list's default" }),
  shared: Type.Boolean({ description: 'False: only its owner sees it' }),
  owner: orNull(Type.Object({ id: Uuid, name: Type.String() }), {
    description: 'Null: it was made by an API key, or its owner was removed',
  }),
  created_at: Instant,
  updated_at: Instant,
})
export type View = typeof View.static

export const NewView = body({
  name,
  filter: optional(filter),
  sort: optional(sort),
  shared: optional(flag({ description: 'Default false, of an API key true' })),
})
export type NewView = typeof NewView.static

export const ViewChanges = body({
  name: optional(name),
  filter: optional(filter),
  sort: optional(nullable(sort)),
  shared: optional(shared),
})
export type ViewChanges = typeof ViewChanges.static
