import { Type } from '@sinclair/typebox'
import { RETENTION_ACTIONS, RETENTION_STATUSES } from '../../base/db/schema'
import { Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, oneOf, optional } from '../../base/shapes/fields'
import { Ticket } from '../tickets/model'

/** Rules, and ids of each kind in a rule. */
const MOST = 20

const ids = (options: { not_found: 'LABEL_NOT_FOUND' | 'COMPANY_NOT_FOUND' }) =>
  Type.Array(IdInput(), { maxItems: MOST, fault: `must be a list of at most ${MOST} ids`, ...options })

const DAYS = 'Since the last change of the ticket'
const LABELS = 'One of them is on the ticket; none: any ticket'
const COMPANIES = 'The company of the ticket is one of them; none: any ticket'

const ACTIVE = 'Default true. One that is not active is as if it were not there'

const RetentionRule = Type.Object({
  status: oneOf(RETENTION_STATUSES, { description: 'Of the ticket' }),
  label_ids: Type.Array(Uuid, { description: LABELS }),
  company_ids: Type.Array(Uuid, { description: COMPANIES }),
  days: Type.Integer({ description: DAYS }),
  action: oneOf(RETENTION_ACTIONS, {
    description: '`erase`: what the ticket says goes, the ticket stays; `delete`: as `DELETE` of the ticket',
  }),
  active: Type.Boolean({ description: ACTIVE }),
})
export type RetentionRule = typeof RetentionRule.static

export const Retention = Type.Object({
  rules: Type.Array(RetentionRule, {
    description: 'The first active one whose status, labels and company fit a ticket decides about it',
  }),
  hold_label_ids: Type.Array(Uuid, {
    description: 'A ticket with one of these labels is on hold: it, its messages and its contact stay',
  }),
})
export type Retention = typeof Retention.static

const RuleInput = Type.Object(
  {
    status: oneOf(RETENTION_STATUSES),
    label_ids: optional(ids({ not_found: 'LABEL_NOT_FOUND' })),
    company_ids: optional(ids({ not_found: 'COMPANY_NOT_FOUND' })),
    days: Type.Integer({ minimum: 1, maximum: 36_500, fault: 'must be a whole number from 1 to 36500' }),
    action: oneOf(RETENTION_ACTIONS),
    active: optional(flag({ description: ACTIVE })),
  },
  { additionalProperties: true, fault: 'must be an object with status, days and action' },
)

export const RetentionChanges = body({
  rules: optional(Type.Array(RuleInput, { maxItems: MOST, fault: `must be a list of at most ${MOST} rules` })),
  hold_label_ids: optional(ids({ not_found: 'LABEL_NOT_FOUND' })),
})
export type RetentionChanges = typeof RetentionChanges.static

export const RetentionPreview = Type.Object({
  rules: Type.Array(
    Type.Object({
      tickets: Type.Integer({ description: 'How many tickets it would erase or delete now' }),
      oldest: Type.Array(Ticket, { description: 'The 10 that were changed longest ago' }),
    }),
    { description: 'In the order of the rules' },
  ),
  held: Type.Integer({ description: 'Tickets that a rule would erase or delete, were they not on hold' }),
})
export type RetentionPreview = typeof RetentionPreview.static
