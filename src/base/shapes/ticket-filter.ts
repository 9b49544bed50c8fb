/** Fields by which webhooks and policies choose tickets: one value of each list that is given must fit. */
import { Type } from '@sinclair/typebox'
import { TICKET_PRIORITIES } from '../db/schema'
import type { ErrorCode } from '../errors'
import { IdInput, oneOf, optional } from './fields'

export const FEW = { minItems: 1, maxItems: 50 }

export const filterIds = (not_found: ErrorCode, description: string) =>
  optional(Type.Array(IdInput({ not_found }), { ...FEW, fault: 'must be a list of 1 to 50 ids', description }))

export const TICKET_FILTER = {
  priority: optional(
    Type.Array(oneOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' }), { ...FEW, description: 'Of the ticket' }),
  ),
  company_ids: filterIds('COMPANY_NOT_FOUND', 'Of the ticket'),
  label_ids: filterIds('LABEL_NOT_FOUND', 'The ticket has at least one of them'),
  mailbox_ids: filterIds('MAILBOX_NOT_FOUND', 'Of the ticket'),
  team_ids: filterIds('TEAM_NOT_FOUND', 'Of the ticket'),
}
