/** The lines of a file that is imported: what a create takes, by the keys of the system that they come from. */
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isEmailAddress } from '../../base/address/email'
import { MESSAGE_CHANNELS, MESSAGE_DIRECTIONS, RATING_SCORES, ROLES, TEXT_FORMATS } from '../../base/db/schema'
import type { Fault } from '../../base/errors'
import { body, flag, instantInput, nameInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { currencyInput, rateInput } from '../../base/shapes/money'
import { NewRating } from '../../desk/ratings/model'
import { TEAM } from '../../desk/teams/model'
import { CHANGES, INPUTS } from '../../desk/tickets/ticket-fields'
import { duration_minutes, WorkFields } from '../../desk/time-entries/model'
import { judgeBody } from '../../http/request/validation-errors'

/** A key of another system, or the name of something by its key. */
const key = (fault = 'must be a key of 1 to 1000 characters') => text({ min: 1, max: 1000, trim: false, fault })

/** Mail may have a longer text than a message of the API. The line is bounded. */
const anyText = () => text({ max: 8_388_608, trim: false })

export const ImportedUser = body({
  email: text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL' }),
  name: nameInput(),
  role: optional(oneOf(ROLES)),
  hourly_rate: optional(rateInput()),
  currency: optional(currencyInput()),
})
export type ImportedUser = typeof ImportedUser.static

export const ImportedTeam = body({
  ...TEAM,
  member_emails: optional(Type.Array(text({ max: 254 }), { maxItems: 1000, fault: 'must be a list of addresses' })),
})
export type ImportedTeam = typeof ImportedTeam.static

const {
  subject,
  status,
  priority,
  contact_id: _,
  assignee_id: __,
  team_id: ___,
  mailbox_id: ____,
  label_ids: _____,
  ...others
} = { ...CHANGES, ...INPUTS }

const ImportedRating = Type.Object({
  score: oneOf(RATING_SCORES),
  comment: NewRating.properties.comment,
  rated_at: optional(nullable(instantInput({ description: 'Default: the last change of the ticket' }))),
})

/** All that a create or a change takes, by keys. The order stays: an import knows a line again by the hash of it. */
export const ImportedTicket = body({
  subject,
  description: optional(text({ max: 1_000_000, trim: false })),
  contact_id: nullable(key()),
  status,
  priority,
  code: optional(text({ max: 64 })),
  company_id: optional(nullable(key())),
  assignee_id: optional(key()),
  label_ids: optional(Type.Array(key(), { maxItems: 1000, fault: 'must be a list of keys' })),
  ...others,
  description_format: optional(oneOf(TEXT_FORMATS)),
  mailbox: optional(text({ max: 254 })),
  team: optional(key()),
  rating: optional(nullable(ImportedRating)),
})
export type ImportedTicket = typeof ImportedTicket.static

export const ImportedParticipant = body({
  ticket_id: key(),
  email: text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL' }),
  name: optional(text({ max: 255 })),
  confirmed: optional(flag()),
  left_out: optional(flag()),
})
export type ImportedParticipant = typeof ImportedParticipant.static

const ImportedFile = Type.Object({
  url: text({ min: 1, max: 4096, trim: false, fault: 'must be a path in the folder' }),
  filename: Type.String({ fault: 'must be text' }),
  content_type: optional(Type.String({ fault: 'must be text' })),
  content_id: optional(nullable(Type.String({ fault: 'must be text' }))),
})
export type ImportedFile = typeof ImportedFile.static

/** Message-IDs of others that lead to a ticket by one message: those nearest to it. */
const MOST_REFERENCES = 50

/** A message that another one quotes below its text, or whose files it has copies of (`piece` 0). */
const ImportedQuote = Type.Object({
  piece: Type.Integer({ minimum: 0, maximum: 20, fault: 'must be a number from 0 to 20' }),
  message_id: key(),
  ticket_id: key(),
  contact_id: optional(nullable(key())),
  email: optional(nullable(Type.String({ fault: 'must be an address' }))),
  /** UTF-16 units of the quotation in the body. */
  length: optional(nullable(Type.Integer({ minimum: 1, fault: 'must be a number of characters' }))),
  attachment_ids: optional(Type.Array(key(), { maxItems: 1000, fault: 'must be a list of keys' })),
})

export const ImportedMessage = body({
  ticket_id: key(),
  body: optional(anyText()),
  body_html: optional(anyText()),
  is_internal: optional(flag()),
  direction: optional(oneOf(MESSAGE_DIRECTIONS)),
  channel: optional(oneOf(MESSAGE_CHANNELS)),
  sender: optional(
    Type.Object({
      name: optional(nullable(text({ max: 255 }))),
      email: optional(nullable(Type.String({ maxLength: 1000 }))),
    }),
  ),
  reply_text: optional(anyText()),
  auto_reply: optional(flag()),
  cc: optional(Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 1000, fault: 'must be a list of addresses' })),
  email_message_id: optional(Type.String({ fault: 'must be text' })),
  references: optional(
    Type.Array(Type.String(), { maxItems: MOST_REFERENCES, fault: 'must be a list of Message-IDs' }),
  ),
  attachments: optional(Type.Array(ImportedFile, { maxItems: 1000, fault: 'must be a list of files' })),
  format: optional(oneOf(TEXT_FORMATS)),
  quotes: optional(Type.Array(ImportedQuote, { maxItems: 1000, fault: 'must be a list of quoted messages' })),
  mentions: optional(
    Type.Array(Type.Object({ id: key(), name: text({ max: 255 }) }), {
      maxItems: 20,
      fault: 'must be a list of at most 20 members',
    }),
  ),
  sender_verified: optional(nullable(flag())),
  from_list: optional(flag()),
})
export type ImportedMessage = typeof ImportedMessage.static

export const ImportedTime = body({
  ticket_id: key(),
  user_id: key(),
  /** The name of a user who is gone. */
  user_name: optional(text({ max: 255 })),
  duration_minutes,
  description: WorkFields.description,
  billable: WorkFields.billable,
  date: WorkFields.date,
  rate: optional(nullable(rateInput())),
  currency: optional(currencyInput()),
})
export type ImportedTime = typeof ImportedTime.static

/** The types of its result would be made of the model, which is any. */
const decode: (model: TSchema, given: unknown) => unknown = Value.Decode

/** Reads a row as its model says. @returns its faults when it is wrong */
export function read<T>(model: TSchema, given: object): { input: T } | { faults: Fault[] } {
  const faults = faultsIn(model, given)
  return faults.length > 0 ? { faults } : { input: decode(model, given) as T }
}

export function faultsIn(model: TSchema, given: object): Fault[] {
  return (judgeBody(model, given)?.details.errors as Fault[] | undefined) ?? []
}
