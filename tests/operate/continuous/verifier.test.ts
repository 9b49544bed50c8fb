/** When the whole backup is looked at. */
import { expect, test } from 'bun:test'
import { isLookDue } from '../../../src/operate/continuous/verifier'
import { momentIn } from '../../../src/operate/continuous/verify'

const DAY_MS = 86_400_000
const at = '2026-01-01T00:00:00.000Z'
const after = (ms: number) => Date.parse(at) + ms

test('the whole backup is looked at again early enough to end within a week, and after a fault', () => {
  expect(isLookDue(undefined, after(0))).toBe(true)
  expect(isLookDue({ at, fault: 'damaged' }, after(1))).toBe(true)
  expect(isLookDue({ at }, after(5 * DAY_MS))).toBe(false)
  expect(isLookDue({ at }, after(6.5 * DAY_MS))).toBe(true)
})

test('a verification restores any of the moments that are kept, and none between', () => {
  const spans = [
    { from_ms: 100, to_ms: 110 },
    { from_ms: 500, to_ms: 540 },
  ]
  const moments = new Set(Array.from({ length: 5000 }, () => momentIn(spans)))
  const kept = spans.flatMap(({ from_ms, to_ms }) => Array.from({ length: to_ms - from_ms }, (_, n) => from_ms + n))
  expect([...moments].toSorted((a, b) => a - b)).toEqual(kept)
})
