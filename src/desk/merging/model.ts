import { Type } from '@sinclair/typebox'
import { body, optional, text } from '../../base/shapes/fields'

const id = Type.String({ fault: 'must be an id' })

export const NewMerge = body({
  source_ids: Type.Array(id, {
    minItems: 1,
    maxItems: 20,
    fault: 'must be a list of 1 to 20 ids',
    not_found: 'TICKET_NOT_FOUND',
    description: 'The tickets whose messages and time it gets. A ticket has at most 100, with theirs',
  }),
})
export type NewMerge = typeof NewMerge.static

export const NewSplit = body({
  message_ids: Type.Array(id, {
    minItems: 1,
    maxItems: 100,
    fault: 'must be a list of 1 to 100 ids',
    not_found: 'MESSAGE_NOT_FOUND',
    description: 'The messages that it gets, with their attachments',
  }),
  subject: optional(text({ min: 1, max: 255, description: 'Default: that of the old ticket' })),
})
export type NewSplit = typeof NewSplit.static
