/** One ticket of the list. */
import { useMemo, useRef } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { useCell } from '../cell'
import { hrefOf } from '../route'
import { Avatar } from '../ui/avatars'
import { PriorityMark, StatusMark } from '../ui/marks'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { isUnread, looks } from './looked'

type RowProps = View & {
  ticket: Ticket
  is_selected: boolean
  /** @param is_range when all from the one before are meant */
  select: (is_range: boolean) => void
}

export function Row({ route, api, ticket, is_selected, select }: RowProps) {
  useCell(looks)
  const selecting = useRef(select)
  selecting.current = select
  const is_open = route.path[1] === ticket.id
  const is_new = !is_open && isUnread(ticket)
  const href = hrefOf(api.organization_id, ['tickets', ticket.id], route.query)
  // Most rows stay as they are when something else is opened, selected or read.
  return useMemo(
    () => (
      <Drawn {...{ ticket, is_selected, is_open, is_new, href }} select={(is_range) => selecting.current(is_range)} />
    ),
    [ticket, is_selected, is_open, is_new, href],
  )
}

type DrawnProps = Pick<RowProps, 'ticket' | 'is_selected' | 'select'> & {
  is_open: boolean
  is_new: boolean
  href: string
}

function Drawn({ ticket, is_selected, is_open, is_new, href, select }: DrawnProps) {
  const { code, subject, status, priority, contact, assignee, labels, updated_at } = ticket
  const who = contact?.name ?? t('inbox.no_contact')
  return (
    <li class={`row${is_open ? ' is-open' : ''}${is_new ? ' is-new' : ''}${is_selected ? ' is-selected' : ''}`}>
      <label class="pick">
        <span class="unseen">{t('inbox.select', { ticket: code })}</span>
        <input type="checkbox" checked={is_selected} onClick={(event) => select(event.shiftKey)} />
        <Avatar name={who} />
      </label>
      <a href={href} aria-current={is_open ? 'true' : undefined}>
        <span class="line">
          <span class="who cut">
            <bdi>{who}</bdi>
          </span>
          {is_new && <span class="unseen">{t('inbox.unread')}</span>}
          <span class="grow" />
          <Time at={updated_at} />
        </span>
        <span class="subject cut">
          <bdi>{subject}</bdi>
        </span>
        <span class="line">
          <StatusMark status={status} />
          <PriorityMark priority={priority} />
          <span class="code">{code}</span>
          {labels.map((label) => (
            <LabelChip key={label.id} {...label} />
          ))}
          <span class="grow" />
          {assignee && <Avatar name={assignee.name} is_small />}
          {assignee && <span class="unseen">{t('inbox.assigned_to', { name: assignee.name })}</span>}
        </span>
      </a>
    </li>
  )
}

export function LabelChip({ name, color }: { name: string; color: string }) {
  return (
    <span class="label" dir="auto">
      <svg aria-hidden="true" viewBox="0 0 8 8">
        <circle cx="4" cy="4" r="4" fill={color} />
      </svg>
      {name}
    </span>
  )
}
