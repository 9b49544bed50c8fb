/** Says in words how a field of a ticket has changed. */
import type { FieldName } from '../../../desk/tickets/ticket-fields'
import { type PlainKey, t } from '../words/catalogue'

type Told = Exclude<FieldName, 'labels' | 'rating' | 'snoozed_until'>

/** The fields that entries of the type `changed` name. Those that are left out have entries of their own. */
const FIELDS: Record<Told, PlainKey> = {
  subject: 'ticket.subject',
  status: 'ticket.status',
  priority: 'ticket.priority',
  assignee: 'ticket.assignee',
  contact: 'timeline.contact',
  company: 'timeline.company',
  team: 'field.team',
  mailbox: 'timeline.mailbox',
  parent: 'ticket.parent',
  external_id: 'field.external_id',
  custom: 'field.custom',
}

/** The words of an entry of the type `changed`. A field that a later release tells of has its own name. */
export function wordsOfChange(field: string, from: unknown, to: unknown): string {
  const name = Object.hasOwn(FIELDS, field) ? t(FIELDS[field as Told]) : field
  return t('timeline.changed', { field: name, from: shown(from), to: shown(to) })
}

/** Names things, a mailbox without a name by its address, a ticket by its code; lists an organization's own fields. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return t('timeline.nothing')
  if (typeof value !== 'object') return String(value)
  const { id, name, address, code } = value as Record<string, unknown>
  if (id) return String(name ?? address ?? code)
  return Object.entries(value)
    .map(([key, one]) => `${key}: ${shown(one)}`)
    .join(', ')
}
