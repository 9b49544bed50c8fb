/**
 * A walk of the feed beside writers, while processes are killed and paused: it sees every event once, in the order that
 * all readers see. `EVENT_CHANGES` makes it shorter, `EVENT_SEED` repeats what happens when.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { createDatabase } from '../support/database'
import { randomFrom } from '../support/seeded'
import { type Service, startService } from '../support/service'

const CHANGES = Number(process.env.EVENT_CHANGES ?? 10_000)
const SEED = Number(process.env.EVENT_SEED ?? 1)
const WRITERS = 16

let url: string
let services: Service[]

beforeAll(async () => {
  url = (await createDatabase()).url
  services = [await start(), await start(), await start()]
}, 120_000)
afterAll(() => Promise.all(services.map((service) => service.kill())))

const start = () =>
  startService({
    DATABASE_URL: url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `feed-${crypto.randomUUID()}`),
  })

type Page = {
  data: { id: string; event: string; data: { id: string; priority?: string } }[]
  meta: { next_cursor: string; has_more: boolean }
}

test('a walk beside writers, kills and a paused process sees each event once, in the one order', async () => {
  const random = randomFrom(SEED)
  const reader = services[0]!
  const contact = (await reader.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })).body.data
  const done = new Set<string>()
  let is_over = false
  let made = 0
  // Whoever wrote to a process that was killed goes on at another.
  const write = async (n: number) => {
    let ticket: string | undefined
    for (let step = 0; made < CHANGES; step++, made++) {
      const service = services[(n + step) % services.length]!
      const change = ticket
        ? service.call('PATCH', `/tickets/${ticket}`, { subject: `${n} ${step}` })
        : service.call('POST', '/tickets', { subject: `${n}`, contact_id: contact.id })
      const answer = await change.catch(() => undefined)
      if (answer?.status === 201) done.add(`ticket.created ${answer.body.data.id}`)
      if (answer?.status === 200) done.add(`ticket.updated ${answer.body.data.id}`)
      ticket = step % 10 === 9 ? undefined : (answer?.body.data?.id ?? ticket)
    }
  }
  const disturb = async () => {
    while (!is_over) {
      await Bun.sleep(1000 + random() * 3000)
      const place = random() < 0.5 ? 1 : 2
      const service = services[place]!
      if (random() < 0.5) {
        service.process.kill('SIGSTOP')
        await Bun.sleep(random() * 8000)
        service.process.kill('SIGCONT')
      } else {
        await service.kill()
        services[place] = await start()
      }
    }
  }
  const seen: string[] = []
  const told = new Set<string>()
  const walk = async () => {
    for (let cursor: string | undefined, quiet = 0; quiet < 3; ) {
      const answer = await reader.call(
        'GET',
        `/events?per_page=${1 + Math.floor(random() * 100)}${cursor ? `&cursor=${cursor}` : ''}`,
      )
      expect(answer.status).toBe(200)
      const { data, meta } = answer.body as Page
      for (const { id, event, data: resource } of data) {
        seen.push(id)
        told.add(`${event} ${resource.id}`)
      }
      cursor = meta.next_cursor
      quiet = is_over && data.length === 0 && !meta.has_more ? quiet + 1 : 0
      if (!meta.has_more) await Bun.sleep(20)
    }
  }
  const walking = walk()
  const disturbing = disturb()
  await Promise.all(Array.from({ length: WRITERS }, (_, n) => write(n)))
  is_over = true
  await disturbing
  await walking

  const sql = postgres(url, { max: 1 })
  const rows = await sql`select event_id from event_places order by place, nth`
  const [left] =
    await sql`select count(*)::int as n from events e where not exists (select from event_places p where p.event_id = e.id)`
  await sql.end()
  expect(seen).toEqual(rows.map(({ event_id }) => event_id))
  expect(left!.n).toBe(0)
  expect([...done].filter((one) => !told.has(one))).toEqual([])
  console.info(`${seen.length} events of ${made} changes, seed ${SEED}`)
}, 1_200_000)
