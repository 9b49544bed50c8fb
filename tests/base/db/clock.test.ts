import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test'
import { watchClock } from '../../../src/base/db/clock'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { sharedTime } from '../../../src/base/db/shared-time'
import { log } from '../../../src/base/log'
import { signAccessToken, verifyAccessToken } from '../../../src/http/admission/tokens'
import { startApi, stopApi } from '../../support/api'
import { stepClock } from '../../support/clock'

const HOUR_MS = 3_600_000
const CLAIMS = { sub: newId(), org_id: newId(), email: 'ann@example.com', role: 'agent' }

const warn = spyOn(log, 'warn').mockImplementation(() => {})
const info = spyOn(log, 'info').mockImplementation(() => {})

beforeAll(() => startApi())
beforeEach(() => {
  warn.mockClear()
  info.mockClear()
})
afterAll(async () => {
  stepClock(0)
  await watchClock(connection())
  warn.mockRestore()
  info.mockRestore()
  await stopApi()
})

test.each([HOUR_MS, -HOUR_MS])(
  'a clock that is %d ms off is told once, and others see the database’s time',
  async (by_ms) => {
    const earlier = newId()
    const token = await signAccessToken(CLAIMS, newId())
    const true_ms = Date.now()
    stepClock(by_ms)
    await watchClock(connection())
    await watchClock(connection())

    expect(warn.mock.calls.map(([fields]) => fields as unknown)).toEqual([{ offset_s: by_ms / 1000 }])
    expect(Math.abs(sharedTime() - true_ms)).toBeLessThan(60_000)
    const later = newId()
    expect(later > earlier).toBe(true)
    expect(await verifyAccessToken(token)).toMatchObject(CLAIMS)
    stepClock(0)
    // The clock is right again, and nobody has looked at it yet.
    expect(Math.abs(sharedTime() - true_ms)).toBeLessThan(60_000)
    const theirs = await signAccessToken(CLAIMS, newId())
    await watchClock(connection())
    expect(info).toHaveBeenCalledTimes(1)
    expect(await verifyAccessToken(theirs)).toMatchObject(CLAIMS)
  },
)

test('a clock that is a second off counts as right', async () => {
  stepClock(1000)
  await watchClock(connection())
  const now_ms = Date.now()
  expect(sharedTime()).toBeGreaterThanOrEqual(now_ms)
  expect(warn).not.toHaveBeenCalled()
  stepClock(0)
})

test.each([HOUR_MS, -HOUR_MS, 0])('a time of before a step by %d ms stays a Date', (by_ms) => {
  stepClock(HOUR_MS)
  const before = new Date()
  stepClock(0)
  const unstepped = new Date()
  stepClock(by_ms)
  const after = new Date()
  expect([before, unstepped, after].map((time) => time instanceof Date)).toEqual([true, true, true])
  expect(([{}, null, 0] as unknown[]).some((value) => value instanceof Date)).toBe(false)
  stepClock(0)
  expect(after instanceof Date).toBe(true)
})
