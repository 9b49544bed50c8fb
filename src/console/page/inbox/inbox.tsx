/** The inbox: the list of tickets, and beside it the ticket that is open. On a phone one of them is shown. */
import { useEffect } from 'preact/hooks'
import type { Label } from '../../../desk/labels/model'
import type { Macro } from '../../../desk/macros/model'
import type { View as SavedView } from '../../../desk/views/model'
import type { User } from '../../../people/users/model'
import { readRows } from '../lists'
import { useLive } from '../live'
import { readMe } from '../sign-in'
import type { Names, View } from '../view-types'
import { t } from '../words/catalogue'
import { FirstSteps } from './first-steps'
import { TicketList } from './ticket-list'
import { TicketView } from './ticket-view'
import { ViewColumn } from './views'
import { warmUpEditor, warmUpTicket } from './warm-up'

const NAMES_EVERY_MS = 60_000
/** More would not fit a choice. */
const MOST_CHOICES = 1000

export function Inbox(view: View) {
  const { api, route } = view
  const ticket_id = route.path[1]
  const read = useLive<Omit<Names, 'reload'>>(
    `names ${api.organization_id}`,
    async (_before, signal) => {
      const [users, labels, macros, views] = await Promise.all([
        readRows<User>(api, '/users', {}, MOST_CHOICES, signal),
        api.get<Label[]>('/labels', { signal }),
        readRows<Macro>(api, '/macros', {}, MOST_CHOICES, signal),
        readRows<SavedView>(api, '/views', {}, MOST_CHOICES, signal),
        readMe(),
      ])
      return { users: users.rows, labels: labels.data, macros: macros.rows, views: views.rows }
    },
    NAMES_EVERY_MS,
    ({ type }) => type.startsWith('label.'),
  )
  const is_read = read.value !== undefined
  useEffect(() => {
    if (is_read) warmUpTicket()
  }, [is_read])
  useEffect(() => {
    if (ticket_id) return warmUpEditor()
  }, [!ticket_id])
  const none = { users: [], labels: [], macros: [], views: [] }
  const names: Names = { ...(read.value ?? none), reload: read.reload }
  return (
    <div class={ticket_id ? 'inbox has-ticket' : 'inbox'}>
      {!ticket_id && <h1 class="unseen">{t('frame.inbox')}</h1>}
      <ViewColumn {...view} names={names} />
      <TicketList {...view} names={names} />
      {ticket_id ? (
        <TicketView key={ticket_id} {...view} ticket_id={ticket_id} names={names} />
      ) : (
        <FirstSteps {...view} />
      )}
    </div>
  )
}
