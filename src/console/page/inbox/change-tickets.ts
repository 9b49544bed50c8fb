/** Changes tickets together, and takes that back. */
import type { BulkResult, Ticket, TicketChanges } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { learn } from '../events'
import { refusalText } from '../words/catalogue'

export type BulkChanges = Pick<TicketChanges, 'status' | 'priority' | 'assignee_id' | 'team_id' | 'custom'> & {
  add_label_ids?: string[]
  label_ids?: string[]
}

/**
 * Changes the tickets. @returns what takes it back: each ticket gets what it had
 * @throws the words for the person when some could not be changed, and Refusal
 */
export async function changeTickets(api: Api, tickets: Ticket[], changes: BulkChanges): Promise<() => Promise<void>> {
  await inBulk(api, tickets, changes)
  return async () => {
    for (const [before, group] of Map.groupBy(tickets, (ticket) => JSON.stringify(formerOf(ticket, changes)))) {
      const former = JSON.parse(before) as BulkChanges
      // From resolved and closed the way back to pending or resolved is over open.
      if (former.status) await inBulk(api, group, { status: 'open' })
      await inBulk(api, group, former)
    }
  }
}

function formerOf(ticket: Ticket, changes: BulkChanges) {
  return {
    ...(changes.status && { status: ticket.status }),
    ...(changes.priority && { priority: ticket.priority }),
    // A team may have given them.
    ...(changes.team_id !== undefined && {
      team_id: ticket.team?.id ?? null,
      assignee_id: ticket.assignee?.id ?? null,
    }),
    ...(changes.assignee_id !== undefined && { assignee_id: ticket.assignee?.id ?? null }),
    ...(changes.custom && { custom: formerCustom(ticket.custom, changes.custom) }),
    ...(changes.add_label_ids && { label_ids: ticket.labels.map(({ id }) => id) }),
  }
}

function formerCustom(before: Ticket['custom'], changes: object): Ticket['custom'] {
  return Object.fromEntries(Object.keys(changes).map((name) => [name, before[name] ?? null])) as Ticket['custom']
}

async function inBulk(api: Api, tickets: Ticket[], changes: BulkChanges): Promise<void> {
  const { data } = await api.post<BulkResult['data']>('/tickets/bulk', { ids: tickets.map(({ id }) => id), changes })
  const done = new Set(data.flatMap(({ id, result }) => (result === 'changed' ? [id] : [])))
  const { status, priority } = changes
  for (const ticket of tickets) {
    const now = { ...ticket, ...(status && { status }), ...(priority && { priority }) }
    if (done.has(ticket.id)) learn('ticket.updated', now)
  }
  const failed = data.filter(({ error }) => error)
  if (failed.length > 0)
    throw failed.map(({ id, code, error }) => `${code ?? id}: ${refusalText(error!.code, error!.message)}`).join('; ')
}
