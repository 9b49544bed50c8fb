/** Reads a ticket with all that is shown beside it, in one request. */
import { useEffect } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { onEvent } from '../events'
import { onRoute } from '../route'
import type { Included, Shown } from './after-event'
import { writingOf } from './writings'

const PARTS = 'contact,participants,drafts,viewing,recipients,other_tickets'

type Begun = { id: string; shown: Promise<Shown>; stop: AbortController; end: () => void }

/** The ticket that the address leads to, before its view is drawn. */
let begun: Begun | undefined

/** Asks for a ticket as soon as the address leads to it: its answer comes a drawing of the page earlier. */
export function useReadAhead(api: Api, shown_id: string | undefined): void {
  useEffect(
    () =>
      onRoute(({ organization_id, path: [section, id] }) => {
        drop()
        const is_other = section === 'tickets' && id && id !== shown_id && organization_id === api.organization_id
        if (!is_other) return
        const stop = new AbortController()
        const shown = askForShown(api, id, stop.signal)
        shown.catch(() => {})
        // Whatever happens before the view follows the events itself may be missing in the answer.
        begun = { id, shown, stop, end: onEvent(drop) }
      }),
    [api, shown_id],
  )
}

function drop(): void {
  begun?.stop.abort()
  taken()
}

function taken(): Begun | undefined {
  const one = begun
  one?.end()
  begun = undefined
  return one
}

export async function readShown(api: Api, id: string, signal: AbortSignal): Promise<Shown> {
  if (begun?.id !== id) return askForShown(api, id, signal)
  const { shown, stop } = taken()!
  signal.addEventListener('abort', () => stop.abort())
  return shown
}

async function askForShown(api: Api, id: string, signal: AbortSignal): Promise<Shown> {
  const turns = [false, true].map((is_internal) => writingOf(api, id, is_internal).turn)
  const { data, included, etag } = await api.get<TicketWithMessages>(`/tickets/${id}?include=${PARTS}`, { signal })
  return { ticket: data, etag, included: included as Included, turns }
}
