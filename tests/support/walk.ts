/** Walks of lists by cursor, as a client makes them. */
import type { Client } from './api'

// biome-ignore lint/suspicious/noExplicitAny: rows of every list
export type Row = any

export type Walked = { rows: Row[]; metas: Record<string, unknown>[] }

/** Walks a list from its first page to its end. @param between runs before each page but the first */
export async function walk(client: Client, list: string, between?: () => Promise<void>): Promise<Walked> {
  const walked: Walked = { rows: [], metas: [] }
  for (let cursor = ''; ; ) {
    const { status, body, text } = await client.get(withCursor(list, cursor))
    if (status !== 200) throw new Error(`${list} answered ${status} ${text}`)
    walked.rows.push(...body.data)
    walked.metas.push(body.meta)
    if (body.meta.next_cursor === null) return walked
    cursor = body.meta.next_cursor
    await between?.()
  }
}

/** The path of the page behind a cursor; of the first page when the cursor is empty. */
export function withCursor(list: string, cursor: string): string {
  return cursor === '' ? list : `${list}${list.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`
}
