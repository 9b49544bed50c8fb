/** Changes all tickets of a list, 100 in a request and not too many requests in a minute, while the person goes on. */
import type { TicketConditions } from '../../../desk/tickets/conditions'
import type { BulkResult } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { number } from '../ui/measures'
import { tell as tellPerson } from '../ui/toasts'
import { t } from '../words/catalogue'
import { doLong } from '../work'
import type { BulkChanges } from './change-tickets'

/** Thirty requests a minute leave the person most of their limit. */
const EVERY_MS = 2000

let is_busy = false

export type All = { filter: Record<string, string>; total: number }

export async function changeAll(api: Api, { filter, total }: All, changes: BulkChanges): Promise<void> {
  if (is_busy) throw t('inbox.changes_already')
  const stopping = new AbortController()
  let [done, failed] = [0, 0]
  let cursor: string | undefined
  is_busy = true
  await doLong(
    t('inbox.changing'),
    async (tell) => {
      try {
        do {
          const rest = new Promise((resolve) => setTimeout(resolve, EVERY_MS))
          const body = { filter: bodyOf(filter), changes, ...(cursor && { cursor }) }
          const { data, meta } = await api.post<BulkResult['data'], BulkResult['meta']>('/tickets/bulk', body)
          done += data.length
          failed += meta.failed
          cursor = meta.next_cursor ?? undefined
          tell({ done, total: Math.max(total, done) })
          if (cursor) await rest
        } while (cursor && !stopping.signal.aborted)
      } finally {
        is_busy = false
      }
      const counts = { count: number(done - failed), failed: number(failed) }
      tellPerson(t(failed > 0 ? 'inbox.all_changed_but' : 'inbox.all_changed', counts))
    },
    () => stopping.abort(),
  )
}

type Conditions = Required<TicketConditions>
type Lists = { [Name in keyof Conditions]: Conditions[Name] extends unknown[] ? Name : never }[keyof Conditions]

/** The filters that are lists with commas in an address. A body has them as JSON. */
const LISTS = { status: true, priority: true, label_ids: true } satisfies Record<Lists, true>

/** A filter of a list as a body has it. */
function bodyOf(filter: Record<string, string>): object {
  const given = Object.entries(filter).filter(([, value]) => value)
  const custom = given.flatMap(([name, value]) => (name.startsWith('custom.') ? [[name.slice(7), value]] : []))
  const others = given.flatMap(([name, value]): [string, unknown][] => {
    if (name.startsWith('custom.')) return []
    if (Object.hasOwn(LISTS, name)) return [[name, value.split(',')]]
    return [[name, value === 'true' || value === 'false' ? value === 'true' : value]]
  })
  return { ...Object.fromEntries(others), ...(custom.length > 0 && { custom: Object.fromEntries(custom) }) }
}
