import { Type } from '@sinclair/typebox'
import { isEmailAddress } from '../contacts/email'
import { SMTP_SECURITIES } from '../db/schema'
import { body, flag, Instant, nullable, oneOf, optional, orNull, text, Uuid } from '../model'

const address = text({
  max: 254,
  rule: (value) => isEmailAddress(value.trim()) && !value.includes('+'),
  code: 'INVALID_EMAIL',
  fault: 'must be an email address without a +tag',
})
const name = text({ max: 255 })

const smtpFields = {
  host: text({ min: 1, max: 255, rule: (value) => /^[\w.:[\]-]+$/.test(value.trim()), fault: 'must be a host name' }),
  port: Type.Integer({ minimum: 1, maximum: 65535, fault: 'must be a port from 1 to 65535' }),
  security: oneOf(SMTP_SECURITIES),
  username: optional(nullable(text({ max: 255, trim: false }))),
  password: optional(nullable(text({ max: 255, trim: false, description: 'Write only' }))),
}

export const Mailbox = Type.Object({
  id: Uuid,
  address: Type.String(),
  name: orNull(Type.String()),
  active: Type.Boolean(),
  is_default: Type.Boolean(),
  plus_addressing: Type.Boolean({ description: 'Whether replies are asked for at a signed +tag of the address' }),
  smtp: orNull(
    Type.Object({
      host: Type.String(),
      port: Type.Integer(),
      security: oneOf(SMTP_SECURITIES),
      username: orNull(Type.String()),
    }),
  ),
  created_at: Instant,
  updated_at: Instant,
})
export type Mailbox = typeof Mailbox.static

export const NewMailbox = body({
  address,
  name: optional(name),
  active: optional(flag()),
  is_default: optional(flag()),
  plus_addressing: optional(flag()),
  smtp: optional(Type.Object(smtpFields, { additionalProperties: true, fault: 'must be an object' })),
})
export type NewMailbox = typeof NewMailbox.static

export const MailboxChanges = body({
  address: optional(address),
  name: optional(nullable(name)),
  active: optional(flag()),
  is_default: optional(flag()),
  plus_addressing: optional(flag()),
  smtp: optional(
    nullable(Type.Object(smtpFields, { additionalProperties: true }), {
      fault: 'must be an object with host, port and security',
      description: 'Replaces all SMTP settings, but keeps the password when none is given; null: only receive',
    }),
  ),
})
export type MailboxChanges = typeof MailboxChanges.static

export const MailboxTest = Type.Object({
  ok: Type.Boolean(),
  error: orNull(Type.String()),
  response_time_ms: Type.Integer(),
})
export type MailboxTest = typeof MailboxTest.static
