/** The list of tickets with its filters. */
import { useState } from 'preact/hooks'
import type { Ticket, TicketListMeta } from '../../../desk/tickets/model'
import type { Told } from '../events'
import { useRows } from '../lists'
import { changed, go, hrefOf } from '../route'
import { Action, Choice, Dot, Time, Waiting } from '../ui'
import type { Names, View } from '../view-types'

const FILTERS = ['status', 'search', 'assignee_id', 'label_ids', 'priority', 'sort'] as const
const STATUSES = [
  ['open', 'Open'],
  ['pending', 'Pending'],
  ['resolved', 'Resolved'],
  ['closed', 'Closed'],
  ['', 'All'],
] as const

export function TicketList(view: View & { names: Names }) {
  const { api, route } = view
  const filter = Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? '']))
  const list = useRows<Ticket, TicketListMeta & { next_cursor: string | null }>(api, '/tickets', filter, isAbout)
  return (
    <section class="list" aria-label="Tickets">
      <Filters {...view} />
      {(!list.rows || list.error) && <Waiting error={list.error} />}
      {list.rows && (
        <>
          <p class="count" role="status">
            {counted(list.meta!)}
          </p>
          <ul>
            {list.rows.map((ticket) => (
              <Row key={ticket.id} {...view} ticket={ticket} />
            ))}
          </ul>
          {list.has_more && <Action run={list.loadMore}>Show more</Action>}
        </>
      )}
    </section>
  )
}

/** The list shows nothing of time, nor how an email fares. */
function isAbout({ type }: Told): boolean {
  return !type.startsWith('time_entry.') && !type.startsWith('message.email_')
}

function counted({ total = 0, total_is_exact }: TicketListMeta): string {
  const words = `${total.toLocaleString('en')} ${total === 1 ? 'ticket' : 'tickets'}`
  return total_is_exact === false ? `More than ${words}` : words
}

function Row({ route, api, ticket }: View & { ticket: Ticket }) {
  const { id, code, subject, status, priority, contact, assignee, labels, updated_at } = ticket
  const is_open = route.path[1] === id
  return (
    <li class={is_open ? 'row is-open' : 'row'}>
      <a href={hrefOf(api.organization_id, ['tickets', id], route.query)} aria-current={is_open ? 'true' : undefined}>
        <span class="line">
          <Dot kind={status}>{status}</Dot>
          <span class="who">{contact?.name ?? 'No contact'}</span>
          <span class="grow" />
          <Time at={updated_at} />
        </span>
        <span class="subject">{subject}</span>
        <span class="line">
          <span class="code">{code}</span>
          {(priority === 'urgent' || priority === 'high') && <span class={`priority ${priority}`}>{priority}</span>}
          {labels.map((label) => (
            <LabelChip key={label.id} {...label} />
          ))}
          <span class="grow" />
          {assignee && <span class="assignee">{assignee.name}</span>}
        </span>
      </a>
    </li>
  )
}

export function LabelChip({ name, color }: { name: string; color: string }) {
  return (
    <span class="label">
      <svg aria-hidden="true" viewBox="0 0 8 8">
        <circle cx="4" cy="4" r="4" fill={color} />
      </svg>
      {name}
    </span>
  )
}

function Filters({ api, route, me, names }: View & { names: Names }) {
  const set = (values: Record<string, string | undefined>) =>
    go(hrefOf(api.organization_id, route.path, changed(route.query, values)))
  const chosen = (name: string) => route.query.get(name) ?? ''
  const people = names.users.filter(({ id, active }) => active && id !== me.id)
  return (
    <div class="filters">
      <Search key={chosen('search')} value={chosen('search')} onSearch={(search) => set({ search })} />
      <fieldset class="tabs">
        <legend class="unseen">Status</legend>
        {STATUSES.map(([value, text]) => (
          <button
            key={value}
            type="button"
            aria-pressed={chosen('status') === value}
            onClick={() => set({ status: value })}
          >
            {text}
          </button>
        ))}
      </fieldset>
      <div class="choices">
        <Choice
          label="Assignee"
          is_quiet
          value={chosen('assignee_id')}
          onChoose={(assignee_id) => set({ assignee_id })}
          options={[
            { value: '', text: 'Anybody' },
            { value: me.id, text: 'Assigned to me' },
            ...people.map(({ id, name }) => ({ value: id, text: name })),
          ]}
        />
        <Choice
          label="Label"
          is_quiet
          value={chosen('label_ids')}
          onChoose={(label_ids) => set({ label_ids })}
          options={[
            { value: '', text: 'Any label' },
            ...names.labels.map(({ id, name }) => ({ value: id, text: name })),
          ]}
        />
        <Choice
          label="Order"
          is_quiet
          value={chosen('sort')}
          onChoose={(sort) => set({ sort })}
          options={[
            { value: '', text: 'Newest first' },
            { value: '-updated_at', text: 'Latest change first' },
            { value: '-priority', text: 'Most urgent first' },
            { value: 'created_at', text: 'Oldest first' },
          ]}
        />
      </div>
    </div>
  )
}

function Search({ value, onSearch }: { value: string; onSearch: (words: string) => void }) {
  const [words, setWords] = useState(value)
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSearch(words.trim())
        }}
      >
        <label>
          <span class="unseen">Search tickets</span>
          <input
            id="search"
            type="search"
            placeholder="Search words, code or email"
            value={words}
            onInput={(event) => {
              const { value } = event.target as HTMLInputElement
              setWords(value)
              // The cross of the field empties it without sending the form.
              if (value === '') onSearch('')
            }}
          />
        </label>
      </form>
    </search>
  )
}
