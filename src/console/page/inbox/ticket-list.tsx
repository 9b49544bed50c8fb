/** The list of tickets. */
import { ArrowDownUp, CheckCheck, Inbox, SquareCheck } from 'lucide'
import { useEffect } from 'preact/hooks'
import type { Ticket, TicketListMeta } from '../../../desk/tickets/model'
import { useActs } from '../acts'
import type { Api } from '../api'
import type { Told } from '../events'
import { useRows } from '../lists'
import { useLive } from '../live'
import { changed, go, hrefOf } from '../route'
import { Action } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Menu } from '../ui/menus'
import { Empty, Waiting } from '../ui/placeholders'
import type { Names, View } from '../view-types'
import { t } from '../words/catalogue'
import { countOf } from './list-views'
import { meet } from './looked'
import { neighbours } from './neighbours'
import { lookUp } from './saved-filters'
import { SearchField } from './search-field'
import { type Asked, readSearch } from './search-words'
import { SelectionBar, useSelection } from './selection'
import { Row } from './ticket-row'
import { ViewMenu } from './views'

const FILTERS = [
  'status',
  'search',
  'assignee_id',
  'label_ids',
  'priority',
  'sort',
  'view_id',
  'contact_id',
  'company_id',
]
const SORTS = ['-created_at', '-updated_at', '-priority', 'created_at'] as const

export function TicketList(view: View & { names: Names }) {
  const { api, route, names } = view
  const given = Object.fromEntries(FILTERS.map((name) => [name, route.query.get(name) ?? '']))
  const asked = readSearch(given.search ?? '', names)
  const people = useLookedUp(api, asked)
  const filter = { ...given, search: '', ...asked.filter, ...people }
  const list = useRows<Ticket, TicketListMeta & { next_cursor: string | null }>(api, '/tickets', filter, isAbout)
  const rows = people && list.rows
  const selection = useSelection(rows ?? [])
  useEffect(() => {
    neighbours.value = rows ?? []
    meet(rows ?? [])
  }, [rows])
  useListActs(view, selection)
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
          <Sort {...view} />
        </div>
        <SearchField key={given.search} value={given.search ?? ''} onSearch={search} unknown={asked.unknown} />
        {selection.selected.length > 0 && <SelectionBar {...view} selection={selection} reload={list.reload} />}
      </div>
      {(!rows || list.error) && <Waiting error={list.error} lines={12} />}
      {rows?.length === 0 && <Nothing {...view} />}
      <ul>
        {rows?.map((ticket) => (
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
  useActs([
    { text: t('inbox.next'), keys: 'j', run: () => focusBeside(at(), 1) },
    { text: t('inbox.previous'), keys: 'k', run: () => focusBeside(at(), -1) },
    { text: t('inbox.select_this'), icon: SquareCheck, keys: 'x', run: () => at() && select(at()!) },
    { text: t('inbox.select_all'), icon: CheckCheck, keys: '*', run: selectAll },
    { text: t('inbox.back'), keys: 'u', run: back },
  ])
}

/** The id of the row that has the focus, else of the ticket that is open. */
function focusedOr(open: string | undefined): string | undefined {
  const link = document.activeElement?.closest('.row')?.querySelector('a')
  return /tickets\/([^?]+)/.exec(link?.hash ?? '')?.[1] ?? open
}

/** Moves the focus among the tickets of the list. */
function focusBeside(id: string | undefined, step: 1 | 0 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.list .row a')]
  const from = links.findIndex((link) => id && link.hash.includes(id))
  links[Math.min(Math.max(from + step, 0), links.length - 1)]?.focus()
}

/** The list shows nothing of time, nor how an email fares. */
function isAbout({ type }: Told): boolean {
  return /^(ticket|contact|company|label)\.|^message\.(created|deleted|erased)$/.test(type)
}

function counted(meta: TicketListMeta): string {
  const { total = 0 } = meta
  return t(total === 1 ? 'inbox.one_ticket' : 'inbox.tickets_counted', { count: countOf(meta) })
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

function Sort({ api, route }: View) {
  const now = route.query.get('sort') ?? SORTS[0]
  return (
    <Menu
      label={t('inbox.order')}
      button={<Icon of={ArrowDownUp} />}
      act={{ text: t('inbox.order') }}
      items={SORTS.map((sort) => ({
        text: t(`sort.${sort}`),
        is_chosen: sort === now,
        run: () =>
          go(hrefOf(api.organization_id, route.path, changed(route.query, { sort: sort === SORTS[0] ? '' : sort }))),
      }))}
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
