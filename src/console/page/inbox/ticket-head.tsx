/** The head of a ticket: its subject, what it is about, and its properties. Each has a key. */
import { Check, ChevronDown, ChevronUp, Tag, UserRound, Users } from 'lucide'
import type { Ticket, TicketWithMessages } from '../../../desk/tickets/model'
import { useActs } from '../acts'
import { useNames } from '../names'
import { go, hrefOf } from '../route'
import { Avatar } from '../ui/avatars'
import { Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { PRIORITY_ICONS, STATUS_ICONS } from '../ui/marks'
import { Time } from '../ui/measures'
import { Menu, Picker } from '../ui/menus'
import { tell } from '../ui/toasts'
import type { Change, View } from '../view-types'
import { t } from '../words/catalogue'
import type { Included } from './after-event'
import { NEXT, PRIORITIES, usePeople, useTeams } from './choices'
import { Labels } from './labels'
import { nextAfter } from './neighbours'
import { Presence } from './presence'
import { DueMark } from './promised'
import { Snooze } from './sleep'
import { Deeds } from './ticket-deeds'

type Props = View & { ticket: TicketWithMessages; included: Included; change: Change }

export function TicketHead(props: Props) {
  const { ticket } = props
  const { code, subject, created_at, contact, company } = ticket
  return (
    <header class="head">
      <div class="line top">
        <h1 dir="auto">{subject}</h1>
        <Presence {...props} />
        <Steps {...props} />
        <Deeds {...props} />
      </div>
      <div class="line about">
        <span class="code">{code}</span>
        <span class="who cut" dir="auto">
          {contact ? <bdi>{contact.name}</bdi> : t('inbox.no_contact')}
        </span>
        {contact && <span class="who address cut">&lt;{contact.email}&gt;</span>}
        {company && (
          <span class="who cut" dir="auto">
            · {company.name}
          </span>
        )}
        <span>
          · <Time at={created_at} />
        </span>
        <DueMark ticket={ticket} size={14} />
      </div>
      <Properties {...props} />
    </header>
  )
}

/** The way to the ticket before and to the one after. */
function Steps({ api, route, ticket }: Props) {
  const open = (step: 1 | -1) => {
    const next = nextAfter(ticket.id, step)
    if (next) go(hrefOf(api.organization_id, ['tickets', next.id], route.query))
  }
  useActs(
    [
      { text: t('ticket.next'), icon: ChevronDown, keys: ']', run: () => open(1) },
      { text: t('ticket.previous'), icon: ChevronUp, keys: '[', run: () => open(-1) },
    ],
    t('ticket.ticket'),
  )
  return (
    <span class="steps-beside">
      <Button kind="bare" icon={ChevronUp} label={t('ticket.previous')} onClick={() => open(-1)} />
      <Button kind="bare" icon={ChevronDown} label={t('ticket.next')} onClick={() => open(1)} />
    </span>
  )
}

/** Sets the status, and takes it back: over `open`, where there is no other way. */
function useStatus({ ticket, change }: Props) {
  const { status: before } = ticket
  const set = async (status: Ticket['status']) => {
    if (status === before || !(await change({ status }))) return
    tell(t('ticket.is_now', { status: t(`status.${status}`) }), async () => {
      if (!NEXT[status].includes(before)) await change({ status: 'open' })
      await change({ status: before })
    })
  }
  return set
}

/** The keys that resolve a ticket or open it again, and that take it. */
function useMainActs(
  { ticket: { status } }: Props,
  set: ReturnType<typeof useStatus>,
  take: () => Promise<void>,
): void {
  const done = status === 'open' || status === 'pending' ? 'resolved' : 'open'
  useActs(
    [
      { text: t(`ticket.make_${done}`), icon: Check, keys: 'e', run: () => set(done) },
      { text: t('ticket.take'), icon: UserRound, keys: 'm', run: take },
    ],
    t('ticket.ticket'),
  )
}

function Properties(props: Props) {
  const { api, me, ticket, change } = props
  const { status, priority, assignee } = ticket
  const group = t('ticket.ticket')
  const set = useStatus(props)
  const users = useNames(api, 'users', false)
  const assign = async (id: string) => {
    const before = assignee?.id ?? null
    const name = id === me.id ? me.name : (users?.find((one) => one.id === id)?.name ?? t('ticket.nobody'))
    if (!(await change({ assignee_id: id || null }))) return
    tell(t('ticket.assigned_to', { name }), () => change({ assignee_id: before }))
  }
  useMainActs(props, set, () => assign(me.id))
  return (
    <div class="properties">
      <Menu
        label={t('ticket.status')}
        value={t(`status.${status}`)}
        button={<Value icon={STATUS_ICONS[status]} kind={status} text={t(`status.${status}`)} />}
        act={{ text: t('ticket.status'), icon: STATUS_ICONS[status], keys: 's', group }}
        items={NEXT[status].map((one) => ({
          text: t(`status.${one}`),
          icon: STATUS_ICONS[one],
          is_chosen: one === status,
          run: () => set(one),
        }))}
      />
      <Menu
        label={t('ticket.priority')}
        value={t(`priority.${priority}`)}
        button={<Value icon={PRIORITY_ICONS[priority]} kind={priority} text={t(`priority.${priority}`)} />}
        act={{ text: t('ticket.priority'), keys: 'p', group }}
        items={PRIORITIES.map((one) => ({
          text: t(`priority.${one}`),
          icon: PRIORITY_ICONS[one],
          is_chosen: one === priority,
          run: () => change({ priority: one }),
        }))}
      />
      <Picker
        label={t('ticket.assignee')}
        value={assignee?.name ?? t('ticket.nobody')}
        button={
          <>
            {assignee ? <Avatar name={assignee.name} is_small /> : <Icon of={UserRound} />}
            <span dir="auto">{assignee?.name ?? t('ticket.nobody')}</span>
          </>
        }
        act={{ text: t('ticket.assignee'), icon: UserRound, keys: 'a', group }}
        useOptions={() => usePeople(api, me, assignee)}
        onChoose={assign}
      />
      <TeamPicker {...props} />
      <Labels {...props} act={{ text: t('ticket.add_label'), icon: Tag, keys: 'l', group }} />
      <Snooze {...props} />
    </div>
  )
}

/** The team of the ticket, which may give it to a member. */
function TeamPicker({ api, ticket: { team }, change }: Props) {
  return (
    <Picker
      label={t('field.team')}
      value={team?.name ?? t('team.no_team')}
      button={
        <>
          <Icon of={Users} />
          <span dir="auto">{team?.name ?? t('team.no_team')}</span>
        </>
      }
      act={{ text: t('field.team'), icon: Users, keys: 't', group: t('ticket.ticket') }}
      useOptions={() => useTeams(api, team)}
      onChoose={(id) => change({ team_id: id || null })}
    />
  )
}

function Value({
  icon,
  kind,
  text,
}: {
  icon: Parameters<typeof Icon>[0]['of'] | undefined
  kind: string
  text: string
}) {
  return (
    <>
      {icon && (
        <span class={`mark mark-${kind}`}>
          <Icon of={icon} />
        </span>
      )}
      {text}
    </>
  )
}
