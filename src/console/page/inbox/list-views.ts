/** The lists that can be shown: the views that everybody has, and those that were saved, with counts. */
import {
  AlarmClock,
  Bookmark,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleSlash,
  CircleUser,
  Hourglass,
  type IconNode,
  Inbox,
  Mail,
  PencilLine,
  Timer,
  TimerOff,
  Users,
  UserX,
} from 'lucide'
import type { Team } from '../../../desk/teams/model'
import type { TicketListMeta } from '../../../desk/tickets/model'
import type { View as SavedView } from '../../../desk/views/model'
import { number } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

/** A count is a request, so these have one; the others have it once they were shown. */
export const COUNTED = ['mine', 'unassigned']

/** A view of the list: its name, and its part of the address. */
export type ListView = { id: string; text: string; icon: IconNode; filter: Record<string, string>; saved?: SavedView }

/** All views that the person can choose, with one for each of the given teams. */
export function viewsOf(views: SavedView[] = [], teams: Team[] = []): ListView[] {
  const standard: ListView[] = [
    { id: 'mine', text: t('inbox.mine'), icon: CircleUser, filter: { status: 'open', assignee_id: 'me' } },
    { id: 'unassigned', text: t('inbox.unassigned'), icon: UserX, filter: { status: 'open', assignee_id: 'none' } },
    { id: 'open', text: t('inbox.open'), icon: CircleDot, filter: { status: 'open' } },
    { id: 'unread', text: t('inbox.unread'), icon: Mail, filter: { unread: 'true' } },
    { id: 'waiting', text: t('inbox.waiting'), icon: Hourglass, filter: { waiting: 'true' } },
    {
      id: 'answered',
      text: t('inbox.answered'),
      icon: CircleDashed,
      filter: { status: 'open,pending', waiting: 'false', snoozed: 'false' },
    },
    { id: 'snoozed', text: t('inbox.snoozed'), icon: AlarmClock, filter: { snoozed: 'true' } },
    { id: 'drafts', text: t('inbox.drafts'), icon: PencilLine, filter: { has_draft: 'true' } },
    { id: 'due_soon', text: t('inbox.due_soon'), icon: Timer, filter: { sla: 'due_soon' } },
    { id: 'breached', text: t('inbox.breached'), icon: TimerOff, filter: { sla: 'breached' } },
    { id: 'resolved', text: t('inbox.resolved'), icon: CircleCheck, filter: { status: 'resolved' } },
    { id: 'closed', text: t('inbox.closed'), icon: CircleSlash, filter: { status: 'closed' } },
    { id: 'all', text: t('inbox.all'), icon: Inbox, filter: {} },
  ]
  const saved = views.map((saved) => ({
    id: saved.id,
    text: saved.name,
    icon: Bookmark,
    filter: { view_id: saved.id },
    saved,
  }))
  // They come last, because they are read last.
  const shared = teams.map(({ id, name }) => ({ id, text: name, icon: Users, filter: { status: 'open', team_id: id } }))
  return [...standard, ...saved, ...shared]
}

/** The view that the address shows; undefined when the filters are those of no view. */
export function viewHere(views: ListView[], { route }: View): ListView | undefined {
  const given = [...route.query].filter(([name]) => name !== 'sort')
  return views.find(
    ({ filter }) =>
      given.length === Object.keys(filter).length && given.every(([name, value]) => filter[name] === value),
  )
}

/** A total in words, which says when there may be more. */
export function countOf({ total = 0, total_is_exact }: TicketListMeta): string {
  return total_is_exact === false ? `${number(total)}+` : number(total)
}
