/** Reads a ticket together with what is shown beside it. */
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { inSteps } from '../../http/request/answer'
import { lacking, type Permission, permits, type Standing } from '../../http/request/permissions'
import { hasSteps, type InSteps } from '../../http/request/steps'
import { getCompany } from '../companies/queries'
import { getContact } from '../contacts/queries'
import { firstDrafts } from '../drafts/queries'
import { getRecipients } from '../messages/addressees'
import { firstParticipants } from '../participants/queries'
import type { Ticket } from '../tickets/model'
import { getTicket, otherTickets } from '../tickets/queries'
import { latestActivity } from '../timeline/queries'
import { findOtherViewers } from '../viewing/queries'
import type { Included, OpenedTicket, PartName } from './model'

const OTHERS_MOST = 10
const ACTIVITY_MOST = 50

type Part<Value> = {
  /** As of the endpoint that gives it alone. */
  permission: Permission | Standing
  /** Reads it beside the ticket. */
  read(scope: Scope, id: string, ticket: Promise<Ticket>): Promise<InSteps<{ value: Value }>['value']>
}

const PARTS: { [Name in PartName]: Part<Included[Name]> } = {
  contact: {
    permission: 'contacts:read',
    async read(scope, _, ticket) {
      const { contact } = await ticket
      return contact && unlessGone(getContact(scope, contact.id))
    },
  },
  company: {
    permission: 'companies:read',
    async read(scope, _, ticket) {
      const { company } = await ticket
      return company && unlessGone(getCompany(scope, company.id))
    },
  },
  participants: { permission: 'tickets:read', read: firstParticipants },
  drafts: { permission: 'drafts:read', read: firstDrafts },
  viewing: { permission: 'member', read: findOtherViewers },
  recipients: { permission: 'messages:read', read: getRecipients },
  other_tickets: {
    permission: 'tickets:read',
    async read(scope, id, ticket) {
      const { contact } = await ticket
      return contact ? otherTickets(scope, contact.id, { id, most: OTHERS_MOST }) : []
    },
  },
  activity: { permission: 'tickets:read', read: (scope, id) => latestActivity(scope, id, ACTIVITY_MOST) },
}

/**
 * Reads a ticket, and what it is to be shown with at the same time.
 * @throws FORBIDDEN, TICKET_NOT_FOUND
 */
export async function openTicket(scope: Scope, id: string, include: PartName[]): Promise<OpenedTicket> {
  const missing = include.find((name) => !permits(scope, PARTS[name].permission))
  if (missing) throw lacking(scope, PARTS[missing].permission)
  const reading = getTicket(scope, id)
  const own = reading.then(({ ticket: { messages, time_entries, ...own } }) => own)
  const [{ ticket, version }, plain, parts] = await Promise.all([
    reading,
    own,
    Promise.all(include.map(async (name) => [name, await PARTS[name].read(scope, id, own)])),
  ])
  const included = include.length > 0 ? { included: Object.fromEntries(parts) } : {}
  // Parts in steps have no version.
  const shown = hasSteps(included) ? undefined : { data: plain, version, ...included }
  return inSteps<OpenedTicket>({ data: ticket, ...included }, shown)
}

/** Gives null for what was deleted since its ticket was read. */
async function unlessGone<Value>(found: Promise<Value>): Promise<Value | null> {
  return found.catch((error) => {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  })
}
