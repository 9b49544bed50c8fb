/** The refusals of what a request says of a ticket: each check gives a field that cannot be taken, or nothing. */
import { ApiError, ERRORS, type ErrorCode, type Fault } from '../../base/errors'
import type { Ticket, TicketUpdate } from './model'
import { snoozeFault } from './snooze'
import { TRANSITIONS } from './status'

/** Ids of a body that name one row each, with the error of one that names none. */
const NAMED = {
  contact_id: 'CONTACT_NOT_FOUND',
  assignee_id: 'USER_NOT_FOUND',
  team_id: 'TEAM_NOT_FOUND',
  mailbox_id: 'MAILBOX_NOT_FOUND',
  parent_id: 'TICKET_NOT_FOUND',
} as const satisfies Record<string, ErrorCode>

export const HAS_CONTACT: RefusedField = {
  code: 'VALIDATION_ERROR',
  fault: { path: '/contact_id', message: 'must be absent: the ticket has a contact' },
  more: {},
}

export const IS_BELOW: RefusedField = {
  code: 'VALIDATION_ERROR',
  fault: { path: '/parent_id', message: 'must be neither the ticket itself nor one below it' },
  more: {},
}

/** A field that cannot be taken; `more` goes into the details of the error. */
type RefusedField = { code: ErrorCode; fault: Fault; more: Record<string, unknown> }

/** The error of a request of which a check failed: the code and details of the first refused field, with all faults. */
export function refusalOf(checks: (RefusedField | false)[]): ApiError | undefined {
  const refused = checks.filter((check) => check !== false)
  if (!refused[0]) return undefined
  const { code, more } = refused[0]
  return new ApiError(code, { ...more, errors: refused.map(({ fault }) => fault) }, 422)
}

function unknown(code: ErrorCode, path: string, ids: string[]): RefusedField {
  return { code, fault: { path, message: ERRORS[code][1] }, more: { ids } }
}

/**
 * Refuses an id that names nothing.
 * @param given the ids of the body
 * @param found the rows that they name
 * @param path of the body with the ids
 */
export function unknownOf(
  field: keyof typeof NAMED,
  { [field]: id }: { [Field in keyof typeof NAMED]?: string | null },
  found: unknown,
  path = '',
): RefusedField | false {
  return typeof id === 'string' && !found && unknown(NAMED[field], `${path}/${field}`, [id])
}

export function unknownLabels(
  named: string[] = [],
  labels: Ticket['labels'],
  path = '/label_ids',
): RefusedField | false {
  const ids = [...new Set(named)].filter((id) => !labels.some((label) => label.id === id.toLowerCase()))
  return ids.length > 0 && unknown('LABEL_NOT_FOUND', path, ids)
}

export function unfitSnooze(update: TicketUpdate, path = ''): RefusedField | false {
  const message = snoozeFault(update)
  const fault = { path: `${path}/snoozed_until`, message: message ?? '' }
  return message !== undefined && { code: 'VALIDATION_ERROR', fault, more: {} }
}

export function forbidden(from: Ticket['status'], to: Ticket['status'], path = '/status'): RefusedField {
  const allowed = TRANSITIONS[from]
  const message = `A ${from} ticket can become ${allowed.join(' or ')} only`
  return { code: 'INVALID_STATUS', fault: { path, message }, more: { from, to, allowed } }
}
