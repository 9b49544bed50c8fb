/** Streams of services on one database, over sockets. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDatabase } from '../../support/database'
import { readerOf } from '../../support/event-reader'
import { type Service, startService } from '../../support/service'

const services: Service[] = []

beforeAll(async () => {
  const database = await createDatabase()
  for (const name of ['a', 'b']) {
    services.push(
      await startService({
        DATABASE_URL: database.url,
        SECRET_KEY: 'a secret key that only tests use',
        DATA_DIR: path.join(tmpdir(), `streams-${name}-${crypto.randomUUID()}`),
      }),
    )
  }
})
afterAll(() => Promise.all(services.map((service) => service.kill())))

async function open(service: Service) {
  await service.call('GET', '/auth/me')
  const answer = await fetch(`${service.url}/api/v1/events/stream`, {
    headers: { authorization: `Bearer ${service.token()}` },
  })
  return readerOf(answer)
}

/** Repeats while all places are taken: 10 for a user. */
async function whenFree<T>(work: () => Promise<T>): Promise<T> {
  const until_ms = performance.now() + 10_000
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!/answered 429/.test(String(error)) || performance.now() > until_ms) throw error
      await Bun.sleep(20)
    }
  }
}

const create = (service: Service, name: string) =>
  service.call('POST', '/contacts', { name, email: `${name}.${crypto.randomUUID()}@customer.example` })

test('a stream tells what another process does within seconds', async () => {
  const [one, other] = services as [Service, Service]
  await using reader = await open(one)
  await reader.next(1)
  for (const [name, service] of [
    ['own', one],
    ['others', other],
  ] as const) {
    const asked_ms = performance.now()
    const { body } = await create(service, name)
    const [event] = await reader.next(1)
    expect(JSON.parse(event!.data!).data.id).toBe(body.data.id)
    expect(performance.now() - asked_ms).toBeLessThan(5000)
  }
})

test('the places of clients that went away are free again', async () => {
  const [one] = services as [Service, Service]
  for (let round = 0; round < 3; round++) {
    const readers = []
    // The server hears a moment later that the clients of the round before went away.
    for (let n = 0; n < 8; n++) readers.push(await whenFree(() => open(one)))
    for (const reader of readers) {
      await reader.next(1)
      await reader[Symbol.asyncDispose]()
    }
  }
})

test('a service that stops ends its streams at once, and a client goes on elsewhere', async () => {
  const [one, other] = services as [Service, Service]
  await using reader = await open(other)
  await reader.next(1)
  const begun_ms = performance.now()
  const stopping = other.stop()
  expect((await reader.rest()).at(-1)).toEqual({ event: 'end', data: '{"code":"SERVICE_UNAVAILABLE"}' })
  expect(await stopping).toBe(0)
  expect(performance.now() - begun_ms).toBeLessThan(10_000)
  await using again = await open(one)
  expect(await again.next(1)).toHaveLength(1)
})
