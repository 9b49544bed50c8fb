/** The timeline of a ticket, in words. */
import { useState } from 'preact/hooks'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import type { Activity } from '../../../desk/timeline/model'
import { useLive } from '../live'
import { duration, moment, Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { wordsOfChange } from './change-words'

export function Timeline({ api, ticket }: View & { ticket: TicketWithMessages }) {
  const [is_open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary>
        <h2>{t('side.timeline')}</h2>
      </summary>
      {is_open && <Entries api={api} ticket={ticket} />}
    </details>
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
  if (!list.value) return <Waiting error={list.error} lines={3} />
  return (
    <ol class="timeline">
      {list.value.map(({ id, actor, type, data, created_at }) => (
        <li key={id}>
          <strong dir="auto">
            {actor.rule ? t('timeline.rule', { name: actor.rule.name }) : (actor.name ?? 'Deskwire')}
          </strong>{' '}
          {wordsOf(type, data)} · <Time at={created_at} />
        </li>
      ))}
    </ol>
  )
}

// biome-ignore lint/suspicious/noExplicitAny: the data of an entry depends on its type, and new types may come.
type Data = Record<string, any>

const WORDS: Record<string, (data: Data) => string> = {
  created: () => t('timeline.created'),
  changed: ({ field, from, to }) => wordsOfChange(field, from, to),
  labels_added: ({ labels }) => t('timeline.labels_added', { labels: namesOf(labels) }),
  labels_removed: ({ labels }) => t('timeline.labels_removed', { labels: namesOf(labels) }),
  message: ({ direction }) => t(direction === 'inbound' ? 'timeline.wrote' : 'timeline.answered'),
  note: () => t('timeline.note'),
  message_deleted: () => t('timeline.message_deleted'),
  time_logged: ({ duration_minutes }) => t('timeline.time_logged', { time: duration(duration_minutes) }),
  time_changed: () => t('timeline.time_changed'),
  time_deleted: ({ duration_minutes }) => t('timeline.time_deleted', { time: duration(duration_minutes) }),
  email_sent: ({ recipients }) => t('timeline.email_sent', { emails: recipients.join(', ') }),
  email_resent: ({ recipients }) => t('timeline.email_resent', { emails: recipients.join(', ') }),
  email_failed: ({ recipient, error }) =>
    t('timeline.email_failed', { email: recipient, fault: error ?? t('timeline.no_reason') }),
  email_bounced: ({ error }) => t('timeline.email_bounced', { fault: error }),
  participant_added: ({ email }) => t('timeline.participant_added', { email }),
  participant_unconfirmed: ({ email }) => t('timeline.participant_unconfirmed', { email }),
  snoozed: ({ until }) => t('timeline.snoozed', { until: moment(until) }),
  woken: () => t('timeline.woken'),
  rating_requested: () => t('timeline.rating_requested'),
  rated: ({ score }) => t('timeline.rated', { score: t(score === 'bad' ? 'rating.bad' : 'rating.good') }),
  participant_removed: ({ email }) => t('timeline.participant_removed', { email }),
  merged: ({ sources, into }) =>
    into ? t('timeline.merged_into', { ticket: into.code }) : t('timeline.merged', { tickets: codesOf(sources) }),
  unmerged: ({ sources, from }) =>
    from ? t('timeline.unmerged_from', { ticket: from.code }) : t('timeline.unmerged', { tickets: codesOf(sources) }),
  split: ({ into, from }) =>
    into ? t('timeline.split_into', { ticket: into.code }) : t('timeline.split_from', { ticket: from.code }),
  imported: () => t('timeline.imported'),
}

function wordsOf(type: string, data: Data): string {
  return WORDS[type]?.(data) ?? type.replaceAll('_', ' ')
}

function codesOf(tickets: { code: string }[]): string {
  return tickets.map(({ code }) => code).join(', ')
}

function namesOf(labels: { name: string }[]): string {
  return labels.map(({ name }) => name).join(', ')
}
