/** Bodies that arrive: how many bytes of them are held, and how long a client may take. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { config } from '../../src/base/config'
import { holdBody, holdMore, inTime, releaseBody } from '../../src/http/request/arriving-body'
import { api, type Client, createOrganization, startApi, stopApi } from '../support/api'
import { createProgram } from '../support/api-keys'
import { createContact } from '../support/factories'
import { withSettings } from '../support/settings'

const MB = 1024 * 1024
const TIMES = { silence_ms: 200, grace_ms: 400, least_bytes_per_ms: 1, look_ms: 10 }

let admin: Client
beforeAll(async () => {
  await startApi()
  admin = (await createOrganization()).admin
})
afterAll(stopApi)

function bodyOf(length: number): Request {
  return new Request('http://localhost/', { method: 'POST', headers: { 'content-length': String(length) } })
}

test('bodies above the limit of the process, or above the half of one organization, get 503 until others are answered', () => {
  using _ = withSettings({ MAX_BODY_BYTES_IN_FLIGHT: 200 * MB })
  const [mine, more, theirs, last] = [bodyOf(90 * MB), bodyOf(20 * MB), bodyOf(95 * MB), bodyOf(20 * MB)]
  holdBody(mine, 'ann', 'whole')
  expect(() => holdBody(more, 'ann', 'whole')).toThrow('not available')
  holdBody(theirs, 'bob', 'whole')
  expect(() => holdBody(last, 'carla', 'whole')).toThrow('not available')
  for (const refused of [more, last]) releaseBody(refused)
  releaseBody(mine)
  holdBody(last, 'carla', 'whole')
  expect(() => holdMore(last, 90 * MB)).toThrow('not available')
  for (const request of [theirs, last]) releaseBody(request)
  const streamed = Array.from({ length: 50 }, () => bodyOf(1e9))
  for (const request of streamed) holdBody(request, 'ann', 'streamed')
  expect(() => holdBody(more, 'ann', 'streamed')).toThrow('not available')
  for (const request of [...streamed, more]) releaseBody(request)
})

test('an organization leaves room for the bodies of others, however many callers it has', async () => {
  using _ = withSettings({ MAX_BODY_BYTES_IN_FLIGHT: 100_000, ATTACHMENT_MAX_BYTES: 1024, SMTP_MAX_BYTES: 1024 })
  const { admin: greedy, agent } = await createOrganization()
  const program = await createProgram(greedy, ['tickets:write'])
  const credentials = [`Bearer ${greedy.token}`, `Bearer ${agent.token}`, `ApiKey ${program.key}`]
  const begun: Stalled[] = []
  for (const authorization of [...credentials, ...credentials]) begun.push(await stalledBody(authorization, 24_000))
  const body = { subject: 'Printer', description: 'x'.repeat(20_000), contact_id: (await createContact(admin)).id }
  const answer = await admin.post('/tickets', body)
  for (const { end } of begun) end()
  await Promise.all(begun.map(({ answered }) => answered))
  expect(answer.status).toBe(201)
  expect(begun.map(({ is_read }) => is_read)).toEqual([true, true, false, false, false, false])
})

type Stalled = { is_read: boolean; answered: Promise<unknown>; end(): void }

/** Sends a body that does not arrive. Resolves once the service reads it, or has refused it. */
async function stalledBody(authorization: string, length: number): Promise<Stalled> {
  const reading = Promise.withResolvers<'read'>()
  const ended = Promise.withResolvers<void>()
  const body = new ReadableStream(
    {
      async pull(controller) {
        reading.resolve('read')
        await ended.promise
        controller.error(new Error('gone'))
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { authorization, 'content-type': 'application/json', 'content-length': String(length) }
  const request = new Request('http://localhost/api/v1/tickets', { method: 'POST', body, headers })
  const answered = api().handle(request)
  const is_read = (await Promise.race([reading.promise, answered])) === 'read'
  return { is_read, answered, end: ended.resolve }
}

test('the largest single body passes whatever the limit is', () => {
  using _ = withSettings({ MAX_BODY_BYTES_IN_FLIGHT: 1024 })
  const request = bodyOf(config.SMTP_MAX_BYTES)
  holdBody(request, 'ann', 'original')
  releaseBody(request)
})

test('a request answered, refused or broken off holds nothing any more', async () => {
  using _ = withSettings({ MAX_BODY_BYTES_IN_FLIGHT: 1024, ATTACHMENT_MAX_BYTES: 1024, SMTP_MAX_BYTES: 1024 })
  const text = (length: number) => JSON.stringify({ subject: 'x'.repeat(length), body: 'y' })
  const busy = bodyOf(2000)
  holdBody(busy, null, 'whole')
  const refused = await admin.post('/tickets', text(100))
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('5')
  releaseBody(busy)
  for (const length of [500, 500, 500, 500]) {
    expect((await admin.post('/tickets', text(length))).status).not.toBe(503)
  }
  for (let count = 0; count < 3; count++) {
    const broken = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text(1500)))
        setTimeout(() => controller.error(new Error('gone')), 5)
      },
    })
    const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
    const request = new Request('http://localhost/api/v1/tickets', { method: 'POST', body: broken, headers })
    expect((await api().handle(request)).status).not.toBe(201)
  }
  expect((await admin.post('/tickets', text(1500))).status).not.toBe(503)
})

test('a slow but steady client has its time', async () => {
  let count = 0
  const times = { ...TIMES, silence_ms: 10_000, grace_ms: 1000 }
  for await (const chunk of inTime(clientOf(60, 1000, 20), times)) count += chunk.length
  expect(count).toBe(60_000)
})

test.each([
  ['a client that falls silent', clientOf(1, 10_000, 0, 'silent')],
  ['a client that drips', clientOf(1000, 1, 20)],
  ['a client that sends nothing', clientOf(0, 0, 0, 'silent')],
])('%s gets 408', async (_, client) => {
  const read = async () => {
    for await (const _chunk of inTime(client, TIMES));
  }
  await expect(read()).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT', status: 408 })
})

test('time that the service takes for a chunk does not count', async () => {
  let count = 0
  for await (const chunk of inTime(clientOf(3, 10, 0), TIMES)) {
    await Bun.sleep(300)
    count += chunk.length
  }
  expect(count).toBe(30)
})

/** Sends chunks of so many bytes, with a pause before each. */
async function* clientOf(chunks: number, bytes: number, pause_ms: number, end: 'ends' | 'silent' = 'ends') {
  for (let sent = 0; sent < chunks; sent++) {
    await Bun.sleep(pause_ms)
    yield new Uint8Array(bytes)
  }
  if (end === 'silent') await new Promise(() => {})
}
