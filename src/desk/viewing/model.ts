import { Type } from '@sinclair/typebox'
import { Instant, Uuid } from '../../base/shapes/answers'
import { body, flag, optional } from '../../base/shapes/fields'
import { read_to } from '../read-marks/model'

export const NewViewing = body({
  writing: optional(flag({ description: 'Whether the caller writes an answer. Default false' })),
  read_to,
})
export type NewViewing = typeof NewViewing.static

export const Viewer = Type.Object({
  user: Type.Object({ id: Uuid, name: Type.String() }),
  writing: Type.Boolean({ description: 'Whether the user writes an answer' }),
  seen_at: Instant,
})
export type Viewer = typeof Viewer.static

export const Viewers = Type.Array(Viewer, { description: 'By name, without the caller' })
