import { describe, expect, test } from 'bun:test'
import { nextDelay_s } from '../../../src/delivery/outbox/retry'

const SCHEDULE = [0, 60, 300, 1800, 7200]

describe('retry schedule', () => {
  test.each([
    [0, 0],
    [1, 60],
    [2, 300],
    [3, 1800],
    [4, 7200],
  ])('after %i attempts the next one is due in %i seconds', (attempts_made, delay_s) => {
    expect(nextDelay_s(attempts_made, SCHEDULE, () => 0)).toBe(delay_s)
  })

  test('there are as many attempts as the schedule has entries', () => {
    expect(nextDelay_s(5, SCHEDULE)).toBeNull()
    expect(nextDelay_s(6, SCHEDULE)).toBeNull()
    expect(nextDelay_s(1, [0])).toBeNull()
  })

  test('jitter adds up to 10 percent and never shortens a delay', () => {
    expect(nextDelay_s(1, SCHEDULE, () => 0.5)).toBeCloseTo(63)
    expect(nextDelay_s(1, SCHEDULE, () => 0.999999)).toBeLessThan(66)
    expect(nextDelay_s(0, SCHEDULE, () => 0.999999)).toBe(0)
  })
})
