/** The lists that can be shown: the views that everybody has, and those that were saved, with counts. */
import { Bookmark, CircleCheck, CircleDashed, CircleDot, CircleUser, type IconNode, Inbox, UserX } from 'lucide'
import { useEffect, useState } from 'preact/hooks'
import type { TicketListMeta } from '../../../desk/tickets/model'
import type { View as SavedView } from '../../../desk/views/model'
import { query } from '../api'
import { readNowAndThen } from '../live'
import { number } from '../ui/measures'
import type { Names, View } from '../view-types'
import { t } from '../words/catalogue'

/** A count is a request, and each person has a limit of requests: so these have one, and the first saved views. */
const COUNTED = ['mine', 'unassigned', 'open']
const MOST_COUNTS = 6
const LEAST_MS = 15_000
const IDLE_MS = 300_000

/** A view of the list: its name, and its part of the address. */
type ListView = { id: string; text: string; icon: IconNode; filter: Record<string, string>; saved?: SavedView }

/** All views that the person can choose. */
export function viewsOf({ views }: Names): ListView[] {
  const standard: ListView[] = [
    { id: 'mine', text: t('inbox.mine'), icon: CircleUser, filter: { status: 'open', assignee_id: 'me' } },
    { id: 'unassigned', text: t('inbox.unassigned'), icon: UserX, filter: { status: 'open', assignee_id: 'none' } },
    { id: 'open', text: t('inbox.open'), icon: CircleDot, filter: { status: 'open' } },
    { id: 'pending', text: t('inbox.pending'), icon: CircleDashed, filter: { status: 'pending' } },
    { id: 'resolved', text: t('inbox.resolved'), icon: CircleCheck, filter: { status: 'resolved' } },
    { id: 'all', text: t('inbox.all'), icon: Inbox, filter: {} },
  ]
  const saved = views.map((saved) => ({
    id: saved.id,
    text: saved.name,
    icon: Bookmark,
    filter: { view_id: saved.id },
    saved,
  }))
  return [...standard, ...saved]
}

/** The view that the address shows; undefined when the filters are those of no view. */
export function viewHere(views: ListView[], { route }: View): ListView | undefined {
  const given = [...route.query].filter(([name]) => name !== 'sort')
  return views.find(
    ({ filter }) =>
      given.length === Object.keys(filter).length && given.every(([name, value]) => filter[name] === value),
  )
}

/** How many tickets each view has. */
export function useCounts({ api }: View, views: ListView[]): Record<string, string> {
  const [counts, setCounts] = useState<Record<string, string>>({})
  const counted = views.filter(({ id, saved }) => saved || COUNTED.includes(id)).slice(0, MOST_COUNTS)
  useEffect(() => {
    const read = async () => {
      if (document.hidden) return
      const all = counted.map(async ({ id, filter }) => {
        const { meta } = await api.get<unknown, TicketListMeta>(`/tickets${query({ ...filter, per_page: 1 })}`)
        return [id, countOf(meta)] as const
      })
      const done = await Promise.all(all).catch(() => undefined)
      if (done) setCounts(Object.fromEntries(done))
    }
    return readNowAndThen(read, LEAST_MS, IDLE_MS)
  }, [api, counted.map(({ id }) => id).join()])
  return counts
}

/** A total in words, which says when there may be more. */
export function countOf({ total = 0, total_is_exact }: TicketListMeta): string {
  return total_is_exact === false ? `${number(total)}+` : number(total)
}
