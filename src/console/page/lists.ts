/** Reads lists of the API, as far as they are shown. */
import { useRef, useState } from 'preact/hooks'
import { type Api, query } from './api'
import { EVERY_MS, type Heed, useLive } from './live'

type Meta = { next_cursor: string | null }
type Filter = Record<string, string>
/** `meta` is that of the first page, `cursor` leads to the next one. */
export type Rows<T, M = Meta> = { rows: T[]; meta: M; cursor: string | undefined }

const PER_PAGE = 50
const MOST_PER_PAGE = 100

/** The first rows of a list: at least as many as wanted, if there are so many. */
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
  return { rows: [...rows.values()], meta: first, cursor }
}

/**
 * A list of the API with more on demand, one page each time. When it is read again, all that is shown is, so that
 * nothing old stays in it.
 * @param path undefined while nothing is to be read yet
 * @param join puts the first page before what was shown of the others, so that it alone is read again
 */
export function useRows<T extends { id: string | null }, M extends Meta = Meta>(
  api: Api,
  path: string | undefined,
  filter: Filter = {},
  heed?: Heed<Rows<T, M>>,
  join?: (before: Rows<T, M>, first: Rows<T, M>) => Rows<T, M>,
) {
  const key = `${api.organization_id}${path}${query(filter)}`
  const wanted = useRef({ key, rows: PER_PAGE })
  if (wanted.current.key !== key) wanted.current = { key, rows: PER_PAGE }
  const [requests, setRequests] = useState(1)
  const { value, error, reload, latest, put } = useLive<Rows<T, M>>(
    key,
    async (before, signal) => {
      // Nothing is asked for before it is known what.
      if (!path) return { rows: [], meta: {} as M, cursor: undefined }
      const rows = join ? PER_PAGE : wanted.current.rows
      setRequests(Math.ceil(rows / MOST_PER_PAGE))
      const read = await readRows<T, M>(api, path, filter, rows, signal)
      return join && before ? join(before, read) : read
    },
    // A long list is read less often, because each person has a limit of requests.
    requests * EVERY_MS,
    heed,
  )
  return {
    rows: value?.rows,
    meta: value?.meta,
    has_more: value?.cursor !== undefined,
    error,
    reload,
    async loadMore() {
      const path_of_next = path! + query({ ...filter, per_page: PER_PAGE, cursor: latest()!.cursor })
      const { data, meta } = await api.get<T[], M>(path_of_next)
      const before = latest()!
      const known = new Set(before.rows.map(({ id }) => id))
      const added = data.filter(({ id }) => id === null || !known.has(id))
      wanted.current.rows += PER_PAGE
      put({ ...before, rows: [...before.rows, ...added], cursor: meta.next_cursor ?? undefined })
    },
  }
}
