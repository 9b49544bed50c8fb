/** Tables of the views for admins: a page of a list, with more on demand. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Api, query } from './api'
import { useLive } from './live'
import { Action, Waiting } from './ui'

type Meta = { next_cursor: string | null }
type Rows<T> = { rows: T[]; next: string | null }

const PER_PAGE = 50
/** A list of the API. What was loaded after the first page stays until the filter changes. */
export function useRows<T extends { id: string | null }>(api: Api, path: string, filter: Record<string, string> = {}) {
  const words = query({ ...filter, per_page: PER_PAGE })
  const [more, setMore] = useState<{ words: string } & Rows<T>>({ words, rows: [], next: null })
  const first = useLive<Rows<T>>(`${api.organization_id}${path}${words}`, async (_before, signal) => {
    const { data, meta } = await api.get<T[], Meta | undefined>(path + words, { signal })
    return { rows: data, next: meta?.next_cursor ?? null }
  })
  const later = more.words === words && more.rows.length > 0 ? more : undefined
  const next = later ? later.next : (first.value?.next ?? null)
  const shown = first.value?.rows ?? []
  return {
    rows: first.value && [...shown, ...(later?.rows ?? []).filter(({ id }) => !shown.some((one) => one.id === id))],
    error: first.error,
    next,
    reload: first.reload,
    async loadMore() {
      const { data, meta } = await api.get<T[], Meta>(path + query({ ...filter, per_page: PER_PAGE, cursor: next! }))
      setMore({ words, rows: [...(later?.rows ?? []), ...data], next: meta.next_cursor })
    },
  }
}

export function Table<T extends { id: string | null }>({
  list,
  caption,
  head,
  row,
  empty,
}: {
  list: ReturnType<typeof useRows<T>>
  caption: string
  head: string[]
  row: (one: T) => ComponentChildren
  empty: string
}) {
  if (!list.rows) return <Waiting error={list.error} />
  if (list.rows.length === 0) return <p class="empty">{empty}</p>
  return (
    <div class="scroll">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {head.map((text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {list.rows.map((one) => (
            <tr key={one.id}>{row(one)}</tr>
          ))}
        </tbody>
      </table>
      {list.next && <Action run={list.loadMore}>Show more</Action>}
    </div>
  )
}
