/** A stream of events behind haproxy, as the guide configures it, for longer than its time limits. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDatabase } from '../support/database'
import { readerOf } from '../support/event-reader'
import { type Haproxy, startHaproxy, WHY_NO_HAPROXY } from '../support/haproxy'
import { type Service, startService } from '../support/service'

const LIMITS_MS = 60_000

let service: Service
let haproxy: Haproxy

beforeAll(async () => {
  if (WHY_NO_HAPROXY) return console.warn(WHY_NO_HAPROXY)
  service = await startService({
    DATABASE_URL: (await createDatabase()).url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `proxied-${crypto.randomUUID()}`),
    TRUSTED_PROXIES: '127.0.0.1/32',
  })
  haproxy = await startHaproxy([{ http: Number(new URL(service.url).port), smtp: service.smtp_port }])
}, 120_000)
afterAll(async () => {
  await haproxy?.stop()
  await service?.kill()
})

test.skipIf(WHY_NO_HAPROXY !== undefined)(
  'a stream that nothing happens in outlives the time limits of haproxy, and what happens then comes at once',
  async () => {
    const create = (name: string) => service.call('POST', '/companies', { name })
    await create('First')
    const answer = await fetch(`http://127.0.0.1:${haproxy.http_port}/api/v1/events/stream`, {
      headers: { authorization: `Bearer ${service.token()}` },
    })
    await using reader = await readerOf(answer)
    await reader.next(1)
    for (const begun_ms = performance.now(); performance.now() - begun_ms < LIMITS_MS + 10_000; ) {
      // Nothing but its place.
      const [kept] = await reader.next(1)
      expect(kept).toEqual({ id: expect.any(String) })
    }
    const asked_ms = performance.now()
    const { body } = await create('Second')
    const [event] = await reader.next(1)
    expect(JSON.parse(event!.data!).data.id).toBe(body.data.id)
    expect(performance.now() - asked_ms).toBeLessThan(2000)
  },
  120_000,
)
