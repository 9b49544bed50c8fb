/** Reads a ticket with all that is shown beside it, in one request. */
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Api } from '../api'
import type { Included, Shown } from './after-event'
import { writingOf } from './writings'

const PARTS = 'contact,participants,drafts,viewing,recipients,other_tickets'

export async function readShown(api: Api, id: string, signal: AbortSignal): Promise<Shown> {
  const turns = [false, true].map((is_internal) => writingOf(api, id, is_internal).turn)
  const { data, included, etag } = await api.get<TicketWithMessages>(`/tickets/${id}?include=${PARTS}`, { signal })
  return { ticket: data, etag, included: included as Included, turns }
}
