/** The inbox: the list of tickets, and beside it the ticket that is open. On a phone one of them is shown. */
import { useEffect } from 'preact/hooks'
import { useCell } from '../cell'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { FirstSteps } from './first-steps'
import { useReadAhead } from './read-shown'
import { TicketList } from './ticket-list'
import { TicketView } from './ticket-view'
import { shownTotal } from './use-tickets'
import { ViewColumn } from './views'
import { warmUpEditor, warmUpTicket } from './warm-up'

export function Inbox(view: View) {
  const { route } = view
  const ticket_id = route.path[1]
  useReadAhead(view.api, ticket_id)
  const is_read = useCell(shownTotal) !== undefined
  useEffect(() => {
    if (is_read) warmUpTicket()
  }, [is_read])
  useEffect(() => {
    if (ticket_id) return warmUpEditor()
  }, [!ticket_id])
  return (
    <div class={ticket_id ? 'inbox has-ticket' : 'inbox'}>
      {!ticket_id && <h1 class="unseen">{t('frame.inbox')}</h1>}
      <ViewColumn {...view} />
      <TicketList {...view} />
      {ticket_id ? <TicketView key={ticket_id} {...view} ticket_id={ticket_id} /> : <FirstSteps {...view} />}
    </div>
  )
}
