import { Type } from '@sinclair/typebox'
import { toDomain } from '../../base/address/domains'
import { isEmailAddress } from '../../base/address/email'
import { SENDER_POLICIES, SPAM_POLICIES } from '../../base/db/schema'
import { orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, minutesInput, nameInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { currencyInput, rateInput, ticketPrefixInput } from '../../base/shapes/money'
import { isTimeZone } from '../../base/shapes/time'

const form_sender = text({
  max: 254,
  rule: (value) => isEmailAddress(value) || toDomain(value) !== undefined,
  fault: 'must be an email address or a domain such as example.com',
})
const form_senders = Type.Array(form_sender, {
  maxItems: 50,
  fault: 'must be a list of at most 50 addresses and domains',
  description: 'Replaces the list. A domain stands for those below it, too',
})

const origin = text({ max: 2048, rule: isOrigin, fault: 'must be an origin such as https://help.example.com' })
const portal_origins = Type.Array(origin, {
  maxItems: 20,
  fault: 'must be a list of at most 20 origins',
  description: 'Replaces the list',
})

const time_zone = text({
  max: 255,
  trim: false,
  rule: isTimeZone,
  fault: 'must be a name of the tz database, such as Europe/Berlin',
  description: 'Null: UTC',
})

export const Organization = Type.Object({
  id: Uuid,
  name: Type.String(),
  ticket_prefix: Type.String({ description: 'Of the codes of tickets whose company has none of its own' }),
  hourly_rate: orNull(Type.Number({ description: 'Of time when neither company nor user has a rate' })),
  currency: Type.String({ description: 'ISO 4217 code, of the hourly rate' }),
  time_zone: Type.String({ description: 'A name of the tz database. Days that nobody gives are its days' }),
  ask_rating_after_minutes: orNull(Type.Integer(), {
    description: 'Minutes after a ticket was resolved in which its contact is asked for a rating. Null: never',
  }),
  reopen_on_reply: Type.Boolean({ description: "Whether a customer's reply by email reopens a ticket" }),
  sender_policy: oneOf(SENDER_POLICIES, {
    description:
      '`flag`: `sender_verified` only shows how well the sender of an email is known; `restrict`: an email whose sender is not proven joins no ticket by a code in its subject, and subscribes nobody',
  }),
  spam_policy: oneOf(SPAM_POLICIES, {
    description:
      '`hold`: spam waits in the ledger for its release; `mark`: it is filed, and the ledger says what it is',
  }),
  form_senders: Type.Array(Type.String(), {
    description: 'Addresses and domains of forms: the sender of their mail is the address in `Reply-To`',
  }),
  portal_origins: Type.Array(Type.String(), {
    description: "Origins of pages whose scripts may use customers' tokens",
  }),
  require_second_factor: Type.Boolean({
    description: 'Whether members who signed in with a password alone get 403 `SECOND_FACTOR_MISSING`',
  }),
})
export type Organization = typeof Organization.static

/** True for scheme, host and port of a page, exactly as browsers write them in `Origin`: never with `*`. */
function isOrigin(value: string): boolean {
  const { origin, protocol } = URL.parse(value) ?? {}
  return origin === value && (protocol === 'https:' || protocol === 'http:') && !value.includes('*')
}

export const OrganizationChanges = body({
  name: optional(nameInput()),
  ticket_prefix: optional(nullable(ticketPrefixInput({ description: 'Null: TKT' }))),
  hourly_rate: optional(nullable(rateInput())),
  currency: optional(nullable(currencyInput({ description: 'Null: USD' }))),
  time_zone: optional(nullable(time_zone)),
  ask_rating_after_minutes: optional(
    nullable(minutesInput({ description: 'Unless the ticket is open again. 0: at once; null: never' }, 0)),
  ),
  reopen_on_reply: optional(flag()),
  sender_policy: optional(oneOf(SENDER_POLICIES)),
  spam_policy: optional(oneOf(SPAM_POLICIES)),
  form_senders: optional(form_senders),
  require_second_factor: optional(flag({ description: 'For signed-in admins; true: for one who has a second factor' })),
  portal_origins: optional(portal_origins),
})
export type OrganizationChanges = typeof OrganizationChanges.static
