/** Promises of a ticket, computed of its history, beside a look at each minute. Times are minutes. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DAYS, type Schedule } from '../../../src/base/shapes/business-time'
import { type History, isBreached, type Metric, promisesOf, type Target } from '../../../src/desk/promises/promises-of'

const MINUTE_MS = 60_000
/** A Monday. */
const BEGIN_MS = Date.parse('2026-03-02T00:00:00Z')
const STATUSES = ['open', 'pending', 'resolved', 'closed'] as const
type Status = (typeof STATUSES)[number]

/** Works in every second hour. */
const SPANS = Array.from({ length: 12 }, (_, n) => [
  `${String(2 * n).padStart(2, '0')}:00`,
  `${String(2 * n + 1).padStart(2, '0')}:00`,
])
const HALF = { hours: Object.fromEntries(DAYS.map((day) => [day, SPANS])), holidays: [] } as unknown as Schedule

const act = fc.record({
  kind: fc.constantFrom('customer', 'team', ...STATUSES),
  after: fc.integer({ min: 1, max: 200 }),
})
const few = fc.option(fc.integer({ min: 1, max: 300 }))
const cases = fc.record({
  acts: fc.array(act, { maxLength: 12 }),
  minutes: fc.record({ first_reply: few, next_reply: few, resolve: few }),
  schedule: fc.constantFrom(null, HALF),
  is_begun_by_team: fc.boolean(),
  imported: fc.option(fc.integer({ min: 0, max: 600 }), { freq: 4 }),
  rest: fc.integer({ min: 0, max: 300 }),
})

type Run = { left: number; due: number | null; ended: number | null }

test('promises are those that a clock of minutes finds', () => {
  fc.assert(
    fc.property(cases, ({ acts, minutes, schedule, is_begun_by_team, imported, rest }) => {
      const counts = (minute: number) => schedule === null || Math.floor(minute / 60) % 2 === 0
      const history: History = {
        ...{ created_ms: BEGIN_MS, imported_ms: imported === null ? null : BEGIN_MS + imported * MINUTE_MS },
        ...{
          is_begun_by_team,
          status: 'open',
          statuses: [],
          answered_ms: is_begun_by_team ? BEGIN_MS : null,
          waiting_ms: null,
        },
      }
      const runs: { [metric in Metric]?: Run } = {}
      const begin = (metric: Metric) => {
        const left = minutes[metric]
        if (left !== null) runs[metric] = { left, due: null, ended: null }
      }
      if (imported === null && !is_begun_by_team) begin('first_reply')
      if (imported === null) begin('resolve')
      let [now, status] = [0, 'open' as Status]
      /** Lets minutes pass one by one. */
      const pass = (until: number) => {
        for (; now < until; now++) {
          for (const [metric, run] of Object.entries(runs) as [Metric, Run][]) {
            const is_paused =
              status === 'resolved' || status === 'closed' || (metric === 'resolve' && status === 'pending')
            if (run.ended !== null || is_paused || !counts(now)) continue
            if (--run.left === 0) run.due = now + 1
          }
        }
      }
      for (const { kind, after } of acts) {
        pass(now + after)
        const at_ms = BEGIN_MS + now * MINUTE_MS
        if (kind === 'customer') {
          if (history.waiting_ms !== null) continue
          history.waiting_ms = at_ms
          const is_promised = history.answered_ms !== null && (imported === null || now >= imported)
          if (is_promised) begin('next_reply')
          else delete runs.next_reply
        } else if (kind === 'team') {
          history.answered_ms ??= at_ms
          history.waiting_ms = null
          delete runs.next_reply
          if (runs.first_reply) runs.first_reply.ended ??= now
        } else if (kind !== status) {
          history.statuses.push({ at_ms, from: status, to: kind })
          history.status = status = kind
        }
      }
      pass(now + rest)
      const target: Target = { minutes, schedule, time_zone: 'UTC' }
      const now_ms = BEGIN_MS + now * MINUTE_MS
      const found = promisesOf(history, target, now_ms)
      expect(found.map(({ metric }) => metric).toSorted()).toEqual((Object.keys(runs) as Metric[]).toSorted())
      const is_closed = status === 'resolved' || status === 'closed'
      for (const one of found) {
        const run = runs[one.metric]!
        const is_late = run.due !== null
        expect([one.metric, isBreached(one, now_ms)]).toEqual([one.metric, is_late])
        if (is_late) expect(one.due_ms).toBe(BEGIN_MS + run.due! * MINUTE_MS)
        const is_met = one.metric === 'resolve' || run.ended !== null
        const is_over = run.ended !== null || is_closed
        expect([one.metric, one.outcome]).toEqual([
          one.metric,
          !is_over ? null : is_late ? 'breached' : is_met ? 'kept' : 'void',
        ])
        // One that runs is due when as many minutes as are left have passed.
        if (is_over || is_late) continue
        const is_paused = one.metric === 'resolve' && status === 'pending'
        if (is_paused) expect(one.due_ms).toBeNull()
        else {
          let [left, minute] = [run.left, now]
          while (left > 0) if (counts(minute++)) left--
          expect(one.due_ms).toBe(BEGIN_MS + minute * MINUTE_MS)
          expect(one.soon_ms! <= one.due_ms!).toBe(true)
        }
      }
    }),
    { numRuns: 400 },
  )
})
