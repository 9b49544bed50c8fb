/** Minutes of schedules, in many more cases than each day. */
import { test } from 'bun:test'
import { compareMinutes } from './counted-minutes'

test('minutes are those that the clocks show, one by one, in 10,000 cases', () => compareMinutes(10_000), 600_000)
