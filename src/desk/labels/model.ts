import { Type } from '@sinclair/typebox'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, nullable, optional, text } from '../../base/shapes/fields'

const name = text({ min: 1, max: 64, description: 'Unique without regard to case' })
const color = Type.String({
  pattern: '^#[0-9A-Fa-f]{6}$',
  code: 'INVALID_COLOR',
  description: 'Hex colour code #RRGGBB',
})
const description = text({ max: 500 })

export const Label = Type.Object({
  id: Uuid,
  name: Type.String(),
  color: Type.String({ description: 'Hex colour code #RRGGBB' }),
  description: orNull(Type.String({ description: 'What the label is for' })),
  ticket_count: Type.Integer({ description: 'Tickets that carry it, without deleted ones' }),
  created_at: Instant,
})
export type Label = typeof Label.static

const inStatus = Type.Integer({ description: 'Tickets in this status, without deleted ones' })

export const LabelWithUsage = Type.Composite([
  Label,
  Type.Object({
    usage: Type.Object(
      { open: inStatus, pending: inStatus, resolved: inStatus, closed: inStatus },
      { description: 'Tickets that carry it, by status' },
    ),
  }),
])
export type LabelWithUsage = typeof LabelWithUsage.static

export const NewLabel = body({ name, color, description: optional(description) })
export type NewLabel = typeof NewLabel.static

export const LabelChanges = body({
  name: optional(name),
  color: optional(color),
  description: optional(nullable(description)),
})
export type LabelChanges = typeof LabelChanges.static
