/** The list of tickets. */
import { ArrowDownUp, CheckCheck, Inbox, SquareCheck } from 'lucide'
import { useEffect } from 'preact/hooks'
import type { TicketListMeta } from '../../../desk/tickets/model'
import type { View as SavedView } from '../../../desk/views/model'
import { useActs } from '../acts'
import type { Api } from '../api'
import { useLive } from '../live'
import { useNames } from '../names'
import { usePainted } from '../painted'
import { changed, go, hrefOf } from '../route'
import { Action } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Menu } from '../ui/menus'
import { Empty, Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { FILTERED } from './after-event'
import { SORTS, useOrder } from './list-order'
import { countOf } from './list-views'
import { keepNeighbours, placeBeside } from './neighbours'
import { lookUp } from './saved-filters'
import { SearchField } from './search-field'
import { type Asked, readSearch } from './search-words'
import { SelectionBar, useSelection } from './selection'
import { Row } from './ticket-row'
import { shownTotal, useTickets } from './use-tickets'
import { ViewMenu } from './views'

/** Rows that are drawn at once: those in sight. */
const FIRST = 15

const FILTERS = ['search', 'sort', 'view_id', ...FILTERED]

export function TicketList(view: View) {
  const { api, route } = view
  const given = Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? '']))
  const { asked, filter, conditions, saved, sort } = useAsked(view, given)
  const list = useTickets(view, filter, conditions, sort)
  const rows = filter && list.rows
  const selection = useSelection(rows ?? [])
  useEffect(() => {
    keepNeighbours(rows ?? [])
    shownTotal.value = rows && list.meta
  }, [rows, list.meta])
  useListActs(view, selection)
  const is_painted = usePainted(`${rows !== undefined} ${JSON.stringify(filter)}`)
  const search = (words: string) =>
    go(
      hrefOf(api.organization_id, ['tickets'], changed(words ? new URLSearchParams() : route.query, { search: words })),
    )
  return (
    <section class="list" aria-label={t('inbox.tickets')}>
      <div class="list-head">
        <div class="line">
          <ViewMenu {...view} />
          <span class="count" role="status">
            {rows && counted(list.meta!)}
          </span>
          <span class="grow" />
          <Sort {...view} saved={saved} now={sort} />
        </div>
        <SearchField key={given.search} value={given.search ?? ''} onSearch={search} unknown={asked.unknown} />
        {selection.selected.length > 0 && (
          <SelectionBar
            {...view}
            selection={selection}
            all={
              Object.values(conditions).some(Boolean) ? { filter: conditions, total: list.meta?.total ?? 0 } : undefined
            }
          />
        )}
      </div>
      {(!rows || list.error) && <Waiting error={list.error} lines={12} />}
      {rows?.length === 0 && <Nothing {...view} />}
      <ul>
        {rows?.slice(0, is_painted ? undefined : FIRST).map((ticket) => (
          <Row
            key={ticket.id}
            {...view}
            ticket={ticket}
            is_selected={selection.has(ticket.id)}
            select={(is_range) => selection.select(ticket.id, is_range)}
          />
        ))}
      </ul>
      {list.has_more && <Action run={list.loadMore}>{t('ui.show_more')}</Action>}
    </section>
  )
}

/** Keys that move in the list and select in it. */
function useListActs({ api, route }: View, { select, selectAll }: ReturnType<typeof useSelection>): void {
  const at = () => focusedOr(route.path[1])
  // The keys go on from the ticket that was open.
  const back = () => {
    if (route.path[1]) focusBeside(route.path[1], 0)
    go(hrefOf(api.organization_id, ['tickets'], route.query))
  }
  useActs(
    [
      { text: t('inbox.next'), keys: 'j', run: () => focusBeside(at(), 1) },
      { text: t('inbox.previous'), keys: 'k', run: () => focusBeside(at(), -1) },
      { text: t('inbox.select_this'), icon: SquareCheck, keys: 'x', run: () => at() && select(at()!) },
      { text: t('inbox.select_all'), icon: CheckCheck, keys: '*', run: selectAll },
      { text: t('inbox.back'), keys: 'u', run: back },
    ],
    t('frame.group_list'),
  )
}

/** The id of the row that has the focus, else of the ticket that is open. */
function focusedOr(open: string | undefined): string | undefined {
  const link = document.activeElement?.closest('.row')?.querySelector('a')
  return /tickets\/([^?]+)/.exec(link?.hash ?? '')?.[1] ?? open
}

/** Moves the focus among the tickets of the list. */
function focusBeside(id: string | undefined, step: 1 | 0 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.list .row a')]
  links[Math.min(Math.max(placeBeside(id, step), 0), links.length - 1)]?.focus()
}

function counted(meta: TicketListMeta): string {
  const { total = 0 } = meta
  return t(total === 1 ? 'inbox.one_ticket' : 'inbox.tickets_counted', { count: countOf(meta) })
}

/** Reads the filter, the conditions and the order of the list. */
function useAsked({ api, me }: View, given: Record<string, string>) {
  const [order] = useOrder(me.id)
  const views = useNames(api, 'views', false)
  const saved = views?.find(({ id }) => id === given.view_id)
  const sort = given.sort || saved?.sort || order
  const { asked, filter } = useFilter(api, { ...given, sort })
  const conditions: Record<string, string> = { ...saved?.filter, ...filter, sort: '', ...(saved && { view_id: '' }) }
  // The order of a saved view is asked for with the view.
  return { asked, filter: given.view_id && !views ? undefined : filter, conditions, saved, sort }
}

/** The filter of the request; undefined while names that a search has are not known. */
function useFilter(api: Api, given: Record<string, string>) {
  const search = given.search ?? ''
  const is_named = /\b(label|assignee|mailbox|team):/i.test(search)
  const labels = useNames(api, 'labels', is_named)
  const users = useNames(api, 'users', is_named)
  const mailboxes = useNames(api, 'mailboxes', is_named)
  const teams = useNames(api, 'teams', is_named)
  const asked = readSearch(search, {
    ...{ labels: labels ?? [], users: users ?? [], mailboxes: mailboxes ?? [], teams: teams ?? [] },
  })
  const people = useLookedUp(api, asked)
  const is_known = people && (!is_named || (labels && users && mailboxes && teams))
  return { asked, filter: is_known ? { ...given, search: '', ...asked.filter, ...people } : undefined }
}

/**
 * Looks up the contact and the company that a search names by a part of their names.
 * @returns undefined while they are looked up; who is not found has no tickets
 */
function useLookedUp(api: Api, { from, company }: Asked): Record<string, string> | undefined {
  const found = useLive<Record<string, string>>(
    `looked up ${api.organization_id} ${from}\n${company}`,
    (_before, signal) => lookUp(api, { from, company, filter: {}, unknown: [] }, signal),
    60_000,
  )
  if (from === undefined && company === undefined) return NONE
  return found.value
}

const NONE = {}

/** Chooses the order of all lists; that of a saved view with an order of its own for now. */
function Sort({ api, me, route, saved, now }: View & { saved: SavedView | undefined; now: string }) {
  const [, keep] = useOrder(me.id)
  const set = (sort: (typeof SORTS)[number]) => {
    if (!saved?.sort) keep(sort)
    go(hrefOf(api.organization_id, route.path, changed(route.query, { sort: saved?.sort ? sort : '' })))
  }
  return (
    <Menu
      label={t('inbox.order')}
      button={<Icon of={ArrowDownUp} />}
      act={{ text: t('inbox.order'), group: t('frame.group_list') }}
      items={SORTS.map((sort) => ({ text: t(`sort.${sort}`), is_chosen: sort === now, run: () => set(sort) }))}
    />
  )
}

function Nothing({ route }: View) {
  const is_search = !!route.query.get('search')
  return (
    <Empty icon={Inbox} title={t(is_search ? 'inbox.nothing_found' : 'inbox.nothing_here')}>
      <p>{t(is_search ? 'inbox.nothing_found_hint' : 'inbox.nothing_here_hint')}</p>
    </Empty>
  )
}
