/** The choices for a ticket. */
import type { Ticket } from '../../../desk/tickets/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { Me } from '../../../people/auth/model'
import type { Api } from '../api'
import { useNames } from '../names'
import type { Option } from '../ui/combobox'
import { t } from '../words/catalogue'

export const STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
export const PRIORITIES = ['urgent', 'high', 'normal', 'low'] as const

/** From which status a ticket may get to which. */
export const NEXT: Record<Ticket['status'], readonly Ticket['status'][]> = {
  open: STATUSES,
  pending: STATUSES,
  resolved: ['open', 'resolved', 'closed'],
  closed: ['open', 'closed'],
}

/** Lists who may be assigned: the person first, then nobody, then the others. @param now who is assigned */
export function usePeople(api: Api, me: Me, now: Ticket['assignee'] | undefined): Option[] | undefined {
  const users = useNames(api, 'users')
  if (!users) return undefined
  const others = users.filter(({ id, active }) => active && id !== me.id)
  const left = now && now.id !== me.id && !others.some(({ id }) => id === now.id) ? [now] : []
  return [
    { value: me.id, text: t('ticket.me', { name: me.name }), is_chosen: now?.id === me.id },
    { value: '', text: t('ticket.nobody'), is_chosen: now === null },
    ...[...others, ...left].map(({ id, name }) => ({ value: id, text: name, is_chosen: id === now?.id })),
  ]
}

/** The mailboxes that an answer may leave from. */
export function sendingMailboxes(mailboxes: Mailbox[] = []): Mailbox[] {
  return mailboxes.filter(({ active, smtp }) => active && smtp)
}

/** Lists the mailboxes for a ticket, the usual one first. @param now that of the ticket */
export function useMailboxes(api: Api, now: Ticket['mailbox']): Option[] | undefined {
  const mailboxes = useNames(api, 'mailboxes')
  return (
    mailboxes && [
      { value: '', text: t('composer.from_usual'), is_chosen: now === null },
      ...sendingMailboxes(mailboxes).map(({ id, address }) => ({
        value: id,
        text: address,
        is_chosen: id === now?.id,
      })),
    ]
  )
}

/** Lists the teams that a ticket may be of: none, then all. @param now the team that it is of */
export function useTeams(api: Api, now: Ticket['team'] | undefined): Option[] | undefined {
  const teams = useNames(api, 'teams')
  if (!teams) return undefined
  return [
    { value: '', text: t('team.no_team'), is_chosen: now === null },
    ...teams.map(({ id, name }) => ({ value: id, text: name, is_chosen: id === now?.id })),
  ]
}
