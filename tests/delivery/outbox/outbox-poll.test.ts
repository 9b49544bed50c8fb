/** The poll of the outbox: each second, each process at its own moment, one look at a time, none after the stop. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import type { Sql } from '../../../src/base/db/transact'
import { type Drain, startDrain } from '../../../src/delivery/outbox/drain'
import { startApi, stopApi } from '../../support/api'
import { stepClock } from '../../support/clock'
import { until } from '../../support/service'

let drains: Drain[] = []

beforeAll(() => startApi())
afterAll(stopApi)
afterEach(async () => {
  stepClock(0)
  await Promise.all(drains.map((drain) => drain.stop(0)))
  drains = []
})

/** Starts a process's drain without handlers: what is left are its looks, of which each begins with a statement. */
function startPoll(before: (look: number) => Promise<unknown> = async () => {}): { looks_ms: number[]; drain: Drain } {
  const looks_ms: number[] = []
  const sql = new Proxy(connection().sql, {
    apply(statement, self, given) {
      const ask = () => Reflect.apply(statement, self, given)
      if (!String(given[0]).includes('select distinct * from (')) return ask()
      looks_ms.push(Date.now())
      return before(looks_ms.length).then(ask)
    },
  }) as Sql
  const drain = startDrain({ ...connection(), sql }, {})
  drains.push(drain)
  return { looks_ms, drain }
}

const untilLooks = (polls: { looks_ms: number[] }[], count: number) =>
  until(`each has looked ${count} times`, async () => polls.every(({ looks_ms }) => looks_ms.length >= count))

const phaseOf = (ms: number) => ms % 1000

test('processes look each second, soon after its begin, and not all in the same millisecond', async () => {
  await until('the middle of a second', async () => phaseOf(Date.now()) > 500 && phaseOf(Date.now()) < 700)
  const polls = Array.from({ length: 8 }, () => startPoll())
  await untilLooks(polls, 3)
  for (const { looks_ms } of polls) {
    expect(looks_ms.filter((ms) => phaseOf(ms) < 400)).toEqual(looks_ms)
    const seconds = looks_ms.map((ms) => Math.floor(ms / 1000))
    expect(seconds).toEqual(seconds.map((_, n) => seconds[0]! + n))
  }
  expect(new Set(polls.map(({ looks_ms }) => phaseOf(looks_ms[1]!))).size).toBeGreaterThan(1)
})

test('a look that takes longer than a second is not overtaken, and the next one comes with the next second', async () => {
  let under_way = 0
  let most = 0
  const poll = startPoll(async (look) => {
    most = Math.max(most, ++under_way)
    if (look === 1) await connection().sql`select pg_sleep(1.5)`
    under_way--
  })
  await untilLooks([poll], 3)
  expect(most).toBe(1)
  const [first, second, third] = poll.looks_ms.map((ms) => Math.floor(ms / 1000))
  expect([second! - first!, third! - second!]).toEqual([2, 1])
})

test('a look that fails is followed by the next one', async () => {
  const poll = startPoll(async (look) => {
    if (look === 1) throw new Error('away')
  })
  await untilLooks([poll], 2)
})

test('after the stop nobody looks', async () => {
  const { looks_ms, drain } = startPoll()
  const other = startPoll()
  await untilLooks([{ looks_ms }, other], 1)
  await drain.stop(0)
  const before = looks_ms.length
  await untilLooks([other], other.looks_ms.length + 2)
  expect(looks_ms).toHaveLength(before)
})

test('looks go on while the clock steps, also between two of them', async () => {
  const poll = startPoll()
  const steps_ms = [3_600_000, -3_600_000, 0, 86_400_000, -86_400_000]
  for (const [n, step_ms] of steps_ms.entries()) {
    await untilLooks([poll], n + 1)
    stepClock(step_ms)
  }
  await untilLooks([poll], steps_ms.length + 1)
})
