/** A copy of a list that is kept in step by `sort=updated_at`, as a client does it. */
import { expect } from 'bun:test'
import type { Client, Organization } from './api'
import type { Writing } from './late-writer'
import { insertContacts, insertTickets } from './many-tickets'
import { until } from './service'
import { type Row, withCursor } from './walk'

export class Copy {
  readonly rows = new Map<string, Row>()
  private cursor = ''

  constructor(
    private readonly client: Client,
    private readonly list: string,
  ) {}

  /** Reads one page. @returns its rows */
  async pull(): Promise<Row[]> {
    const { status, body, text } = await this.client.get(withCursor(this.list, this.cursor))
    if (status !== 200) throw new Error(`${this.list} answered ${status} ${text}`)
    if (typeof body.meta.next_cursor !== 'string') throw new Error(`${this.list} ended`)
    this.cursor = body.meta.next_cursor
    for (const row of body.data) this.rows.set(row.id, row)
    return body.data
  }
}

/**
 * Follows tickets and contacts while two processes write them in transactions that commit late.
 * @param rounds changes of existing tickets in each process; every second one is of a contact, and makes a ticket
 */
export async function followLateWriters(
  { admin, scope }: Organization,
  database_url: string,
  { rounds, latest_ms }: { rounds: number; latest_ms: number },
): Promise<void> {
  const { organization_id, sql } = scope
  const contacts = await insertContacts(scope, rounds)
  const tickets = await insertTickets(scope, contacts[0]!, rounds * 2)
  const copies = [
    new Copy(admin, '/tickets?sort=updated_at&per_page=100'),
    new Copy(admin, '/contacts?sort=updated_at'),
  ]
  const writers = [0, 1].map((half) => {
    const share: Writing = {
      organization_id,
      tickets: tickets.filter((_, n) => n % 2 === half),
      contacts: contacts.filter((_, n) => n % 2 === half),
      latest_ms,
    }
    return Bun.spawn([process.execPath, `${import.meta.dir}/late-writer.ts`, JSON.stringify(share)], {
      env: { ...process.env, DATABASE_URL: database_url, SECRET_KEY: 'a secret key that only tests use' },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  })
  const ended = Promise.all(writers.map(({ exited }) => exited))
  let is_over = false
  ended.finally(() => {
    is_over = true
  })
  for (; !is_over; await Bun.sleep(50)) {
    for (const copy of copies) await copy.pull()
  }
  expect(await ended).toEqual([0, 0])
  // Two empty pages after the last change has settled: what is not in the copy by now is lost.
  const [{ last } = { last: '' }] = await sql<{ last: string }[]>`select clock_timestamp()::text as last`
  await until('the last change to settle', async () => {
    for (const copy of copies) await copy.pull()
    const [row] = await sql<{ is_settled: boolean }[]>`
      select clock_timestamp() > ${last}::text::timestamptz + interval '6 s' as is_settled`
    return row!.is_settled
  })
  for (const copy of copies) while ((await copy.pull()).length > 0);
  for (const [table, copy] of [
    ['tickets', copies[0]!],
    ['contacts', copies[1]!],
  ] as const) {
    const source = await sql<{ id: string; updated_at: string }[]>`
      select id, updated_at from ${sql(table)} where organization_id = ${organization_id} order by id`
    const copied = [...copy.rows.values()].map(({ id, updated_at }) => ({ id, updated_at }))
    expect(copied.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([...source])
  }
}
