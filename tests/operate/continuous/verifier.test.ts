/** When the whole backup is looked at. */
import { expect, test } from 'bun:test'
import { isLookDue } from '../../../src/operate/continuous/verifier'

const DAY_MS = 86_400_000
const at = '2026-01-01T00:00:00.000Z'
const after = (ms: number) => Date.parse(at) + ms

test('the whole backup is looked at again early enough to end within a week, and after a fault', () => {
  expect(isLookDue(undefined, after(0))).toBe(true)
  expect(isLookDue({ at, fault: 'damaged' }, after(1))).toBe(true)
  expect(isLookDue({ at }, after(5 * DAY_MS))).toBe(false)
  expect(isLookDue({ at }, after(6.5 * DAY_MS))).toBe(true)
})
