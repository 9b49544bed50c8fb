/**
 * Marks the ticket that is seen as read, for every page and device of the person. The mark goes with the first word
 * that the person is here (`presence.tsx`), or alone when the ticket is left before that.
 */
import { useEffect } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { learn } from '../events'
import { attempt } from '../ui/toasts'
import type { View } from '../view-types'

/** Tickets that were left unread on purpose, until they are opened again. */
const kept = new Set<string>()
/** The newest messages that were seen, by ticket: the service does not know yet. */
const seen = new Map<string, string>()
/** The ticket that the person has said to be at. */
let here: string | undefined

/** The mark that goes with the word that the person is at a ticket. */
export function takeMark(ticket_id: string): { read_to?: string } {
  here = ticket_id
  const read_to = seen.get(ticket_id)
  seen.delete(ticket_id)
  return read_to === undefined ? {} : { read_to }
}

async function send(api: Api, ticket_id: string): Promise<void> {
  if (!seen.delete(ticket_id)) return
  await attempt(() => api.put(`/tickets/${ticket_id}/read`, {}))
}

export function useReadMark({ api }: Pick<View, 'api'>, ticket: TicketWithMessages | undefined): void {
  const id = ticket?.id
  const newest = ticket?.messages.at(-1)?.id
  const is_new = ticket?.unread === true
  useEffect(() => {
    if (!id) return
    return () => {
      kept.delete(id)
      if (here === id) here = undefined
      void send(api, id)
    }
  }, [api, id])
  useEffect(() => {
    if (!id || !newest || !is_new) return
    const mark = () => {
      if (document.hidden || kept.has(id)) return
      document.removeEventListener('visibilitychange', mark)
      seen.set(id, newest)
      learn('ticket.read', { id, unread: false })
      if (here === id) void send(api, id)
    }
    document.addEventListener('visibilitychange', mark)
    mark()
    return () => document.removeEventListener('visibilitychange', mark)
  }, [api, id, newest, is_new])
}

/** Makes a ticket unread again, from the newest message of somebody else on. */
export async function keepUnread(api: Api, { id }: TicketWithMessages): Promise<void> {
  kept.add(id)
  seen.delete(id)
  learn('ticket.read', { id, unread: true })
  await api.delete(`/tickets/${id}/read`)
}
