/** What happened to a ticket, in words. */
import { useState } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Activity } from '../../../desk/timeline/model'
import { useLive } from '../live'
import { Button, duration, Time, Waiting } from '../ui'
import type { View } from '../view-types'

export function Timeline({ api, ticket }: View & { ticket: TicketWithMessages }) {
  const [is_open, setOpen] = useState(false)
  return (
    <section>
      <h2>Timeline</h2>
      <Button
        text={is_open ? 'Hide the timeline' : 'Show the timeline'}
        is_open={is_open}
        onClick={() => setOpen(!is_open)}
      />
      {is_open && <Entries api={api} ticket={ticket} />}
    </section>
  )
}

const PER_PAGE = 100

function Entries({ api, ticket }: Pick<View, 'api'> & { ticket: TicketWithMessages }) {
  const list = useLive<Activity[]>(`activity ${ticket.id} ${ticket.updated_at}`, async (_before, signal) => {
    const path = `/tickets/${ticket.id}/activity?per_page=${PER_PAGE}`
    const { data, meta } = await api.get<Activity[], { total: number }>(path, { signal })
    const last = Math.ceil(meta.total / PER_PAGE)
    if (last <= 1) return data
    // The latest entries of a long timeline.
    return (await api.get<Activity[]>(`${path}&page=${last}`, { signal })).data
  })
  if (!list.value) return <Waiting error={list.error} />
  return (
    <ol class="timeline">
      {list.value.map(({ id, actor, type, data, created_at }) => (
        <li key={id}>
          <strong>{actor.name ?? 'Deskwire'}</strong> {wordsOf(type, data)} <Time at={created_at} />
        </li>
      ))}
    </ol>
  )
}

// biome-ignore lint/suspicious/noExplicitAny: the data of an entry depends on its type, and new types may come.
type Data = Record<string, any>

const WORDS: Record<string, (data: Data) => string> = {
  created: () => 'created the ticket',
  changed: ({ field, from, to }) => `changed ${field} from ${shown(from)} to ${shown(to)}`,
  labels_added: ({ labels }) => `added ${namesOf(labels)}`,
  labels_removed: ({ labels }) => `removed ${namesOf(labels)}`,
  message: ({ direction }) => (direction === 'inbound' ? 'wrote' : 'answered'),
  note: () => 'added a note',
  message_deleted: () => 'deleted a message',
  time_logged: ({ duration_minutes }) => `logged ${duration(duration_minutes)}`,
  time_changed: () => 'changed logged time',
  time_deleted: ({ duration_minutes }) => `deleted ${duration(duration_minutes)} of logged time`,
  email_sent: ({ recipients }) => `sent an email to ${recipients.join(', ')}`,
  email_resent: ({ recipients }) => `sends an email again to ${recipients.join(', ')}`,
  email_failed: ({ recipient, error }) => `could not send to ${recipient}: ${error ?? 'no reason given'}`,
  email_bounced: ({ error }) => `got an email back: ${error}`,
  participant_added: ({ email }) => `added ${email}`,
  participant_removed: ({ email }) => `removed ${email}`,
}

function wordsOf(type: string, data: Data): string {
  return WORDS[type]?.(data) ?? type.replaceAll('_', ' ')
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'object' && 'name' in value) return String(value.name)
  return String(value)
}

function namesOf(labels: { name: string }[]): string {
  return labels.map(({ name }) => name).join(', ')
}
