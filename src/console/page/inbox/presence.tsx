/**
 * Shows who else has the ticket open. The service forgets after a minute who does not say so again. With notices one
 * who is alone says it once: who comes later is told of, and gets an answer.
 */
import { useEffect, useState } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Viewer } from '../../../desk/viewing/model'
import { useCell } from '../cell'
import { noticing } from '../events'
import { RARELY_MS, useLive } from '../live'
import { Avatar } from '../ui/avatars'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { writingOf } from './writings'

const EVERY_MS = 25_000
const AMONG_OTHERS_MS = 45_000
/** A person who only passes by says nothing: each person has a limit of requests. */
const STAYS_MS = 1500

export function Presence({ api, me, ticket }: View & { ticket: TicketWithMessages }) {
  const path = `/tickets/${ticket.id}/viewing`
  const [reply, note] = [writingOf(api, ticket.id, false), writingOf(api, ticket.id, true)]
  useCell(reply.cell)
  useCell(note.cell)
  const writing = !reply.isEmpty || !note.isEmpty
  const [stays, setStays] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setStays(true), STAYS_MS)
    return () => clearTimeout(timer)
  }, [])
  const others = useLive<Viewer[]>(
    `${path} ${writing} ${stays}`,
    async (_before, signal) => (stays ? (await api.put<Viewer[]>(path, { writing }, { signal })).data : []),
    (others) => (!noticing.value ? EVERY_MS : others?.length ? AMONG_OTHERS_MS : RARELY_MS),
    ({ type, ticket_id, by }) => type === 'notices' || (type === 'viewing' && ticket_id === ticket.id && by !== me.id),
  )
  useEffect(() => (stays ? () => void api.delete(path).catch(() => {}) : undefined), [path, stays])
  return (
    <span class="presence" role="status">
      {(others.value ?? []).map(({ user, writing }) => (
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
