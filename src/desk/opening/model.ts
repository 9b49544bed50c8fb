import { type Static, Type } from '@sinclair/typebox'
import { isEmailAddress } from '../../base/address/email'
import { orNull, unchecked } from '../../base/shapes/answers'
import { body, nameInput, optional, text } from '../../base/shapes/fields'
import { query, queryWords } from '../../base/shapes/query'
import { CompanyWithDetails } from '../companies/model'
import { ContactWithTickets } from '../contacts/model'
import { Draft } from '../drafts/model'
import { Recipients, said, send_email, showsWords } from '../messages/model'
import { Participant } from '../participants/model'
import { NEW_TICKET, Ticket, TicketWithMessages } from '../tickets/model'
import { Activity } from '../timeline/model'
import { Viewers } from '../viewing/model'

/** The parts that a ticket is shown with, each as its own endpoint gives it. */
const PARTS = {
  contact: orNull(ContactWithTickets, { description: 'Who submitted it' }),
  company: orNull(CompanyWithDetails, { description: "The ticket's" }),
  participants: Type.Array(Participant, { description: 'The first 20' }),
  drafts: Type.Array(Draft, { description: 'The newest 20' }),
  viewing: Viewers,
  recipients: Type.Composite([Recipients], { description: 'Where a public message without `cc` would go now' }),
  other_tickets: Type.Array(Ticket, { description: "The contact's newest 10 others" }),
  activity: Type.Array(Activity, { description: 'The newest 50, newest first' }),
}
export type PartName = keyof typeof PARTS
export type Included = { [Name in PartName]: Static<(typeof PARTS)[Name]> }

const PART_NAMES = Object.keys(PARTS) as PartName[]

export const TicketInclude = query({
  include: queryWords(PART_NAMES, {
    description: `Shows beside the ticket, separated by commas: ${PART_NAMES.join(', ')}`,
  }),
})

export const OpenedTicket = unchecked(
  Type.Object({
    data: TicketWithMessages,
    included: Type.Optional(Type.Partial(Type.Object(PARTS), { description: 'What `include` names' })),
  }),
)
export type OpenedTicket = Static<typeof OpenedTicket>

const { subject, description, description_format, contact_id, ...others } = NEW_TICKET

const NewContact = body(
  {
    email: text({
      max: 254,
      rule: isEmailAddress,
      code: 'INVALID_EMAIL',
      description: 'Finds the contact that has it, else makes one; not that of a mailbox of yours',
    }),
    name: optional(nameInput({ description: 'Of a contact that is made; default: the local part of the address' })),
  },
  { description: 'Instead of `contact_id`. A key needs `contacts:write`', 'x-needs': 'contacts:write' },
)

const { is_internal: _, mention_user_ids: __, ...written } = said

const quote_message_ids = optional(
  Type.Array(Type.String({ fault: 'must be an id' }), {
    minItems: 1,
    maxItems: 20,
    fault: 'must be a list of 1 to 20 ids',
    not_found: 'MESSAGE_NOT_FOUND',
    description:
      'Public messages of one ticket: their text stands below `body` as a quotation, oldest first, and their files are ' +
      'copied, all that are not infected',
  }),
)
const FirstMessage = body(
  { ...written, send_email, quote_message_ids },
  {
    description:
      'Instead of `description`: the first message is yours, and goes to the contact by email. A key needs `messages:write`',
    'x-needs': 'messages:write',
  },
)

const isThere = (value: unknown) => value !== undefined
const fault = (path: string, message: string) => ({ path, code: 'VALIDATION_ERROR' as const, message })

/** Refuses a ticket of nobody or of two, and one with two first messages or an empty one. */
function judge({ contact_id, contact, description, message }: Record<string, unknown>) {
  const faults =
    [contact_id, contact].filter(isThere).length === 1 ? [] : [fault('/contact_id', 'or contact is required')]
  if (isThere(description) && isThere(message)) faults.push(fault('/message', 'must stand without description'))
  const empty = typeof message === 'object' && message !== null ? showsWords()(message as Record<string, unknown>) : []
  return [...faults, ...empty.map((one) => ({ ...one, path: `/message${one.path}` }))]
}

export const TicketToBegin = body(
  {
    ...{ subject, description, description_format, contact_id: optional(contact_id) },
    contact: optional(NewContact),
    message: optional(FirstMessage),
    ...others,
  },
  { whole: judge },
)
export type TicketToBegin = typeof TicketToBegin.static
