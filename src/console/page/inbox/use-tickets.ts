/** Lists of tickets and their totals, which events keep: they are read when they are first shown. */
import { useEffect } from 'preact/hooks'
import type { Ticket, TicketListMeta } from '../../../desk/tickets/model'
import { query } from '../api'
import { Cell, useCell } from '../cell'
import { whenIdle } from '../idle'
import { useRows } from '../lists'
import { useLive } from '../live'
import type { View } from '../view-types'
import { joined, listAfter, type Tickets, totalAfter } from './after-event'
import { COUNTED, type ListView } from './list-views'

type Filter = Record<string, string>

/**
 * @param filter that of the request; undefined while it is not known yet
 * @param conditions the same, with those of a saved view in its place
 */
export function useTickets(
  { api, me }: Pick<View, 'api' | 'me'>,
  filter: Filter | undefined,
  conditions: Filter,
  sort: string,
) {
  const asked = { filter: conditions, sort, me }
  return useRows<Ticket, Tickets['meta']>(
    api,
    filter && '/tickets',
    filter,
    (told, list) => listAfter(told, list, asked),
    (before, first) => joined(before, first, sort),
  )
}

/** The total of the list that is shown. */
export const shownTotal = new Cell<TicketListMeta | undefined>(undefined)

const NEVER_MS = 2 ** 31 - 1

/** The total of a view: read for some, and known of one that was shown. */
export function useTotal({ api, me }: View, { id, filter, saved }: ListView, is_here: boolean) {
  const shown = useCell(shownTotal)
  const asked = { filter: saved?.filter ?? filter, me }
  const { value, put } = useLive<TicketListMeta | undefined>(
    `total of ${id} ${api.organization_id}`,
    async (before, signal) => {
      if (is_here || !COUNTED.includes(id)) return is_here ? before : undefined
      // The list comes first.
      await new Promise<void>(whenIdle)
      return (await api.get<unknown, TicketListMeta>(`/tickets${query({ ...filter, per_page: 1 })}`, { signal })).meta
    },
    NEVER_MS,
    (told, total) => total !== undefined && totalAfter(told, total, asked),
  )
  useEffect(() => {
    if (is_here && shown) put(shown)
  }, [is_here, shown])
  return value
}
