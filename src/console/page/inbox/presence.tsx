/** Shows who else has the ticket open. The service forgets after a minute who does not say so again. */
import { useEffect, useState } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Viewer } from '../../../desk/viewing/model'
import { useCell } from '../cell'
import { noticing } from '../events'
import { useLive } from '../live'
import { Avatar } from '../ui/avatars'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import type { Included } from './after-event'
import { takeMark } from './read-mark'
import { writingOf } from './writings'

const OFTEN_MS = 50_000
const EVERY_MS = 25_000
/** A person who only passes by says nothing: each person has a limit of requests. */
const STAYS_MS = 3000

export function Presence({ api, me, ticket, included }: View & { ticket: TicketWithMessages; included: Included }) {
  const path = `/tickets/${ticket.id}/viewing`
  const [reply, note] = [writingOf(api, ticket.id, false), writingOf(api, ticket.id, true)]
  useCell(reply.cell)
  useCell(note.cell)
  const writing = !reply.isEmpty || !note.isEmpty
  const [is_long_here, setLongHere] = useState(false)
  // Somebody who writes does not only pass by: the others hear of it before they begin, too.
  const stays = is_long_here || writing
  useEffect(() => {
    const timer = setTimeout(() => setLongHere(true), STAYS_MS)
    return () => clearTimeout(timer)
  }, [])
  const told = useLive<Viewer[] | undefined>(
    `${path} ${writing} ${stays}`,
    async (_before, signal) => {
      if (!stays) return undefined
      const said = { writing, ...takeMark(ticket.id) }
      return (await api.put<Viewer[]>(path, said, { signal })).data
    },
    () => (noticing.value ? OFTEN_MS : EVERY_MS),
    (event, before) => {
      if (event.type === 'notices') return stays
      const users = event.type === 'viewing' && event.ticket_id === ticket.id ? event.users : undefined
      return users?.filter(({ user }) => user.id !== me.id) ?? before
    },
  )
  useEffect(() => (stays ? () => void api.delete(path).catch(() => {}) : undefined), [path, stays])
  const others = told.value ?? included.viewing
  return (
    <span class="presence" role="status">
      {others.map(({ user, writing }) => (
        <span key={user.id} class={writing ? 'viewer is-writing' : 'viewer'}>
          <Avatar name={user.name} is_small />
          <span class={writing ? '' : 'unseen'}>
            {t(writing ? 'ticket.is_writing' : 'ticket.is_here', { name: user.name })}
          </span>
        </span>
      ))}
    </span>
  )
}
