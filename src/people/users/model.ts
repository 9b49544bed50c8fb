import { Type } from '@sinclair/typebox'
import { isEmailAddress } from '../../base/address/email'
import { ROLES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, nameInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { currencyInput, rateInput } from '../../base/shapes/money'
import { Password } from '../auth/model'

const email = text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL' })
const name = nameInput()
const role = oneOf(ROLES)

export const USER_STATUSES = ['active', 'inactive', 'invited'] as const

export const User = Type.Object({
  id: Uuid,
  email: Type.String(),
  name: Type.String(),
  role: oneOf(ROLES, { description: 'In this organization; `admin` may also manage users, mailboxes and settings' }),
  hourly_rate: orNull(
    Type.Number({ description: "Of time on tickets whose company has none; null: the organization's" }),
  ),
  currency: Type.String({ description: "ISO 4217 code; the organization's unless set" }),
  active: Type.Boolean({ description: 'Whether the user may sign in: true for the status `active` alone' }),
  available: Type.Boolean({ description: 'Whether teams may give the user tickets' }),
  status: oneOf(USER_STATUSES, {
    description: '`invited` until the invitation was accepted; `id` is its id until then',
  }),
  created_at: Instant,
})
export type User = typeof User.static

export const NewUser = body({
  email,
  name,
  password: optional({ ...Password, description: '8 to 200 characters. Without one the person is invited by email' }),
  role: optional(role),
  hourly_rate: optional(rateInput()),
  currency: optional(currencyInput()),
  active: optional(flag()),
})
export type NewUser = typeof NewUser.static

export const UserChanges = body({
  email: optional(email),
  name: optional(name),
  password: optional(Password),
  role: optional(role),
  hourly_rate: optional(nullable(rateInput())),
  currency: optional(nullable(currencyInput())),
  active: optional(flag()),
  available: optional(flag()),
})
export type UserChanges = typeof UserChanges.static
