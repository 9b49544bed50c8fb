/** The inbox: the list of tickets, and beside it the ticket that is open. On a phone one of them is shown. */
import type { Label } from '../../../desk/labels/model'
import type { Macro } from '../../../desk/macros/model'
import type { User } from '../../../people/users/model'
import { readRows } from '../lists'
import { useLive } from '../live'
import { readMe } from '../sign-in'
import type { Names, View } from '../view-types'
import { FirstSteps } from './first-steps'
import { useShortcuts } from './shortcuts'
import { TicketList } from './ticket-list'
import { TicketView } from './ticket-view'

const NAMES_EVERY_MS = 60_000
/** More would not fit a choice. */
const MOST_CHOICES = 1000

export function Inbox(view: View) {
  const { api, route } = view
  const ticket_id = route.path[1]
  const names = useLive<Names>(
    `names ${api.organization_id}`,
    async (_before, signal) => {
      const [users, labels, macros] = await Promise.all([
        readRows<User>(api, '/users', {}, MOST_CHOICES, signal),
        api.get<Label[]>('/labels', { signal }),
        readRows<Macro>(api, '/macros', {}, MOST_CHOICES, signal),
        readMe(),
      ])
      return { users: users.rows, labels: labels.data, macros: macros.rows }
    },
    NAMES_EVERY_MS,
    ({ type }) => type.startsWith('label.'),
  )
  useShortcuts(view)
  const known = names.value ?? { users: [], labels: [], macros: [] }
  return (
    <div class={ticket_id ? 'inbox has-ticket' : 'inbox'}>
      <TicketList {...view} names={known} />
      {ticket_id ? (
        <TicketView key={ticket_id} {...view} ticket_id={ticket_id} names={known} />
      ) : (
        <FirstSteps {...view} />
      )}
    </div>
  )
}
