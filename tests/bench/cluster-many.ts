/**
 * The last row of `bun run bench cluster`: new tickets of 16 clients in 16 organizations, on plain PostgreSQL beside a
 * cluster, and what bare transactions that insert the same rows lose there.
 */
import postgres from 'postgres'
import { newId } from '../../src/base/db/columns'
import { insertRows } from '../../src/base/db/insert-rows'
import type { Sql } from '../../src/base/db/transact'
import { together } from '../../src/base/scope'
import type { Side } from './cluster-sides'
import { median, rounded, verdict } from './report'

const ORGANIZATIONS = 16
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const TURNS = 3
/** The rows that a new ticket with a description writes, by the column that names the ticket. */
const TABLES = { tickets: 'id', ticket_search: 'ticket_id', messages: 'ticket_id', activities: 'ticket_id' }

type Row = { organization_id: string; [column: string]: string | null }
type Place = { create(): Promise<string>; rows: [table: keyof typeof TABLES, row: Row][] }

export async function measureMany(sides: Side[]): Promise<void> {
  const all = await Promise.all(sides.map(openPlaces))
  const times = { product: [] as number[], bare: [] as number[] }
  let text = ''
  for (let turn = 0; turn < TURNS; turn++) {
    const product = await inTurns(all, ({ create }) => create())
    const bare = await inTurns(all, ({ rows }, sql) => insertAgain(sql, rows))
    times.product.push(product[0]! / product[1]!)
    times.bare.push(bare[0]! / bare[1]!)
    text = `${[...product, ...bare].map(rounded).join(', ')} a second`
  }
  const [product, bare] = [median(times.product), median(times.bare)]
  const name = `POST /tickets, ${ORGANIZATIONS} clients in ${ORGANIZATIONS} organizations, times fewer on a cluster`
  console.log(
    `\n${name}: ${rounded(product)}, aim <= 2.5, ${verdict(name, product, { at_most: 2.5 })}; bare transactions of the ` +
      `same rows ${rounded(bare)} (last turn: plain, cluster, bare plain, bare cluster ${text})`,
  )
  for (const { sql } of all) await sql.end()
}

type Opened = { places: Place[]; sql: postgres.Sql }

/** Runs the same on each side for some seconds, with a client in each organization. @returns how many a second */
async function inTurns(all: Opened[], run: (place: Place, sql: postgres.Sql) => Promise<unknown>): Promise<number[]> {
  const rates: number[] = []
  for (const { places, sql } of all) {
    const end_ms = performance.now() + SECONDS * 1000
    let count = 0
    const client = async (place: Place) => {
      for (; performance.now() < end_ms; count++) await run(place, sql)
    }
    await Promise.all(places.map(client))
    rates.push(count / SECONDS)
  }
  return rates
}

/** Makes the organizations, with a contact each, and remembers the rows of a first ticket. */
async function openPlaces({ url, request }: Side): Promise<Opened> {
  const sql = postgres(url, { max: ORGANIZATIONS, onnotice: () => {} })
  const [admin] = await sql<{ id: string }[]>`select user_id as id from memberships limit 1`
  const places: Place[] = []
  for (let n = 1; n <= ORGANIZATIONS; n++) {
    const organization_id = newId()
    await sql`insert into organizations (id, name) values (${organization_id}, ${`Bench ${n}`})`
    await sql`insert into ticket_counters (organization_id) values (${organization_id})`
    await sql`
      insert into memberships (organization_id, user_id, role) values (${organization_id}, ${admin!.id}, 'admin')`
    const make = (path: string, body: object) => request('POST', path, body, organization_id)
    const contact_id = await make('/contacts', { name: 'Carla', email: `carla${n}@customer.example` })
    const description = 'The printer on the second floor does not print on both sides any more. '.repeat(3)
    const create = () => make('/tickets', { subject: 'It does not print', description, contact_id })
    places.push({ create, rows: await readRows(sql, organization_id, await create()) })
  }
  return { places, sql }
}

/** The rows that a new ticket has written, all values as text. */
async function readRows(sql: postgres.Sql, organization_id: string, ticket_id: string): Promise<Place['rows']> {
  const read: Place['rows'] = []
  for (const [table, key] of Object.entries(TABLES) as [keyof typeof TABLES, string][]) {
    const columns = await sql<{ name: string }[]>`
      select column_name::text as name from information_schema.columns
      where table_schema = 'public' and table_name = ${table} and is_generated = 'NEVER'`
    const list = columns.map(({ name }) => `"${name}"::text`).join()
    const rows = await sql.unsafe<Row[]>(
      `select ${list} from ${table} where organization_id = '${organization_id}' and ${key} = '${ticket_id}'`,
    )
    for (const row of rows) read.push([table, row])
  }
  return read
}

/** Numbers that no ticket of the service gets. */
let next_number = 1_000_000

async function insertAgain(sql: postgres.Sql, rows: Place['rows']): Promise<void> {
  const ticket_id = newId()
  const number = String(next_number++)
  const renewed = (table: keyof typeof TABLES, row: Row): Row => {
    if (table === 'tickets') return { ...row, id: ticket_id, number, code: `TKT-${number}` }
    return { ...row, ticket_id, ...(row.id && { id: newId() }) }
  }
  await sql.begin((tx) =>
    together(rows.map(([table, row]) => insertRows(tx as unknown as Sql, table, [renewed(table, row)]))),
  )
}
