/** Walks of lists by cursor, as a client makes them. */
import type { Client, Organization } from './api'
import { insertContacts, insertTickets } from './many-tickets'

// biome-ignore lint/suspicious/noExplicitAny: rows of every list
export type Row = any

export type Walked = { rows: Row[]; metas: Record<string, unknown>[] }

/** Walks a list from its first page to its end; a list that is followed, to its first empty page. */
export async function walk(client: Client, list: string): Promise<Walked> {
  const walked: Walked = { rows: [], metas: [] }
  for await (const { data, meta } of pagesOf(client, list)) {
    walked.rows.push(...data)
    walked.metas.push(meta)
  }
  return walked
}

async function* pagesOf(client: Client, list: string): AsyncGenerator<{ data: Row[]; meta: Record<string, unknown> }> {
  for (let cursor = ''; ; ) {
    const { status, body, text } = await client.get(withCursor(list, cursor))
    if (status !== 200) throw new Error(`${list} answered ${status} ${text}`)
    yield body
    if (body.meta.next_cursor === null || (cursor !== '' && body.data.length === 0)) return
    cursor = body.meta.next_cursor
  }
}

/** The path of the page behind a cursor, in place of one that it has; as it is when the cursor is empty. */
export function withCursor(list: string, cursor: string): string {
  if (cursor === '') return list
  const first = list.replace(/([?&])cursor=[^&]*&?/, '$1').replace(/[?&]$/, '')
  return `${first}${first.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`
}

const TICKET_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'priority', '-priority']
const CONTACT_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'name', '-name']
const WRITERS = 4

/**
 * Walks tickets and contacts in every order while four writers create, change and delete other ones.
 * @param tickets that stay as they are; there is one contact for ten of them
 * @returns for each walk, what is wrong: rows that stayed and were not shown exactly once
 */
export async function walkBesideWriters(
  { agent, scope }: Organization,
  { tickets, per_page }: { tickets: number; per_page: number },
): Promise<{ list: string; rows: number; faults: string[] }[]> {
  const contacts = await insertContacts(scope, Math.ceil(tickets / 10))
  // Tickets that stay and tickets that change lie side by side in every order.
  const all = await insertTickets(scope, contacts[0]!, tickets + WRITERS * 50)
  const step = Math.floor(all.length / (WRITERS * 50))
  const changing = all.filter((_, n) => n % step === 0).slice(0, WRITERS * 50)
  const left = new Set(changing)
  const staying = all.filter((id) => !left.has(id))
  let is_over = false
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    const own = changing.filter((_, n) => n % WRITERS === writer)
    for (let n = 0; !is_over; n++) await write(agent, own, contacts[0]!, n)
  })
  const walks = [
    ...TICKET_SORTS.map((sort) => [`/tickets?sort=${sort}&per_page=${per_page}`, staying] as const),
    ...CONTACT_SORTS.map((sort) => [`/contacts?sort=${sort}&per_page=${per_page}`, contacts.slice(1)] as const),
  ]
  const walked = await Promise.all(
    walks.map(async ([list, expected]) => {
      const times = new Map<string, number>()
      for await (const { data } of pagesOf(agent, list)) {
        for (const { id } of data) times.set(id, (times.get(id) ?? 0) + 1)
      }
      return { list, rows: times.size, faults: faultsOf(times, expected) }
    }),
  ).finally(() => {
    is_over = true
  })
  await Promise.all(writers)
  return walked
}

/**
 * One change of one kind: a new ticket and contact, a ticket that changes its place in every order, or a deleted one.
 */
async function write(client: Client, own: string[], contact_id: string, n: number): Promise<void> {
  const priority = ['low', 'urgent', 'normal', 'high'][n % 4]
  const answers = []
  if (n % 3 === 0) {
    const ticket = await client.post('/tickets', { subject: `Beside ${n}`, contact_id, priority })
    own.push(ticket.body.data.id)
    const email = `${crypto.randomUUID()}@beside.example`
    answers.push(ticket, await client.post('/contacts', { name: `Name ${n % 10}`, email }))
  } else if (n % 3 === 1) {
    answers.push(await client.patch(`/tickets/${own[n % own.length]}`, { subject: `Changed ${n}`, priority }))
    answers.push(await client.patch(`/contacts/${contact_id}`, { name: `Name ${n}`, notes: String(n) }))
  } else if (own.length > 1) {
    const [id] = own.splice(n % own.length, 1)
    answers.push(await client.delete(`/tickets/${id}`))
  }
  const failed = answers.find(({ status }) => status >= 300)
  if (failed) throw new Error(`a writer got ${failed.status} ${failed.text}`)
}

function faultsOf(times: Map<string, number>, expected: string[]): string[] {
  return expected.filter((id) => times.get(id) !== 1).map((id) => `${id} was shown ${times.get(id) ?? 0} times`)
}
