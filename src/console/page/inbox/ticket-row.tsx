/** One ticket of the list. */
import { Hourglass, Paperclip, PencilLine, Reply, Users } from 'lucide'
import { Component } from 'preact'
import { useCallback, useRef } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { hrefOf } from '../route'
import { Avatar } from '../ui/avatars'
import { Mark, PriorityMark, StatusMark } from '../ui/marks'
import { lasting, Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { DueMark } from './promised'
import { RatingMark } from './rated'

type RowProps = View & {
  ticket: Ticket
  is_selected: boolean
  /** @param is_range when all from the one before are meant */
  select: (is_range: boolean) => void
}

export function Row({ route, api, ticket, is_selected, select }: RowProps) {
  const selecting = useRef(select)
  selecting.current = select
  const is_open = route.path[1] === ticket.id
  const is_new = !is_open && ticket.unread === true
  const href = hrefOf(api.organization_id, ['tickets', ticket.id], route.query)
  const selectThis = useCallback((is_range: boolean) => selecting.current(is_range), [])
  return <Drawn {...{ ticket, is_selected, is_open, is_new, href }} select={selectThis} />
}

type DrawnProps = Pick<RowProps, 'ticket' | 'is_selected' | 'select'> & {
  is_open: boolean
  is_new: boolean
  href: string
}

/** Most rows stay as they are when something else is opened, selected or read. */
class Drawn extends Component<DrawnProps> {
  override shouldComponentUpdate(next: DrawnProps) {
    return (Object.keys(next) as (keyof DrawnProps)[]).some((name) => next[name] !== this.props[name])
  }

  override render() {
    return <Face {...this.props} />
  }
}

function Face({ ticket, is_selected, is_open, is_new, href, select }: DrawnProps) {
  const { code, subject, status, priority, contact, assignee, team, labels, updated_at } = ticket
  const { last_message, waiting_since, rating } = ticket
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
          <Time at={last_message?.created_at ?? updated_at} />
        </span>
        <span class="subject cut">
          <bdi>{subject}</bdi>
        </span>
        <Last {...ticket} />
        <span class="line">
          <StatusMark status={status} />
          <PriorityMark priority={priority} />
          <span class="code">{code}</span>
          {waiting_since && (
            <Mark kind="waits" icon={Hourglass} size={12} title={t('inbox.waits')}>
              <Time at={waiting_since} say={lasting} />
            </Mark>
          )}
          <DueMark ticket={ticket} />
          {rating && <RatingMark score={rating.score} />}
          {labels.map((label) => (
            <LabelChip key={label.id} {...label} />
          ))}
          <span class="grow" />
          {team && (
            <Mark kind="team" icon={Users} size={12} title={t('field.team')}>
              <bdi>{team.name}</bdi>
            </Mark>
          )}
          {assignee && <Avatar name={assignee.name} is_small />}
          {assignee && <span class="unseen">{t('inbox.assigned_to', { name: assignee.name })}</span>}
        </span>
      </a>
    </li>
  )
}

/** The newest message: an arrow when the team wrote it, who wrote it, its beginning; and what the ticket holds. */
function Last({ last_message, contact, attachment_count, draft_count }: Ticket) {
  const is_ours = last_message?.direction === 'outbound'
  const sender = last_message?.sender.name
  return (
    <span class="last">
      {is_ours && <Mark kind="ours" icon={Reply} size={14} title={t('inbox.we_wrote_last')} />}
      {sender && (is_ours || sender !== contact?.name) && (
        <span class="sender cut">
          <bdi>{sender}</bdi>:
        </span>
      )}
      <span class="excerpt cut" dir="auto">
        {last_message?.excerpt}
      </span>
      {attachment_count > 0 && <Mark kind="files" icon={Paperclip} size={14} title={t('message.attachments')} />}
      {!!draft_count && <Mark kind="draft" icon={PencilLine} size={14} title={t('inbox.has_draft')} />}
    </span>
  )
}

export function LabelChip({ name, color }: { name: string; color: string }) {
  return (
    <span class="label" dir="auto" title={name}>
      <svg aria-hidden="true" viewBox="0 0 8 8">
        <circle cx="4" cy="4" r="4" fill={color} />
      </svg>
      {name}
    </span>
  )
}
