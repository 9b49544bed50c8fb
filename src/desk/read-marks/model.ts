import { body, IdInput, optional } from '../../base/shapes/fields'

const lastRead = (description: string) => optional(IdInput({ not_found: 'MESSAGE_NOT_FOUND', description }))

export const NewReadMark = body({
  message_id: lastRead('The last message or note that you have read; default: the newest. A mark never goes back'),
})
export type NewReadMark = typeof NewReadMark.static

/** The mark beside other things that a request says. */
export const read_to = lastRead('Marks the ticket as read up to this message or note, as `PUT …/read` does')
