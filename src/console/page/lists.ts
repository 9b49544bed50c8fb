/** Reads lists of the API, as far as they are shown. */
import { useRef, useState } from 'preact/hooks'
import { type Api, query } from './api'
import type { Told } from './events'
import { EVERY_MS, useLive } from './live'

type Meta = { next_cursor: string | null }
type Filter = Record<string, string>
type Rows<T, M> = { rows: T[]; meta: M; has_more: boolean }

const PER_PAGE = 50
const MOST_PER_PAGE = 100

/** The first rows of a list: at least as many as wanted, if there are so many. `meta` is that of the first page. */
export async function readRows<T extends { id: string | null }, M extends Meta = Meta>(
  api: Api,
  path: string,
  filter: Filter,
  wanted: number,
  signal: AbortSignal,
): Promise<Rows<T, M>> {
  const rows = new Map<string | number, T>()
  const per_page = Math.min(wanted, MOST_PER_PAGE)
  let first: M | undefined
  let cursor: string | undefined
  do {
    const { data, meta } = await api.get<T[], M>(path + query({ ...filter, per_page, cursor }), { signal })
    // A row that moves between two pages would stand twice.
    for (const row of data) rows.set(row.id ?? rows.size, row)
    first ??= meta
    cursor = meta.next_cursor ?? undefined
  } while (cursor && rows.size < wanted)
  return { rows: [...rows.values()], meta: first, has_more: cursor !== undefined }
}

/** A list of the API with more on demand. All that is shown is read again, so that nothing old stays in it. */
export function useRows<T extends { id: string | null }, M extends Meta = Meta>(
  api: Api,
  path: string,
  filter: Filter = {},
  isAbout?: (told: Told) => boolean,
) {
  const key = `${api.organization_id}${path}${query(filter)}`
  const wanted = useRef({ key, rows: PER_PAGE })
  if (wanted.current.key !== key) wanted.current = { key, rows: PER_PAGE }
  const [requests, setRequests] = useState(1)
  const { value, error, reload } = useLive<Rows<T, M>>(
    key,
    (_before, signal) => {
      setRequests(Math.ceil(wanted.current.rows / MOST_PER_PAGE))
      return readRows(api, path, filter, wanted.current.rows, signal)
    },
    // A long list is read less often, because each person has a limit of requests.
    requests * EVERY_MS,
    isAbout,
  )
  return {
    rows: value?.rows,
    meta: value?.meta,
    has_more: value?.has_more ?? false,
    error,
    reload,
    async loadMore() {
      wanted.current.rows += PER_PAGE
      await reload()
    },
  }
}
