/** Tasks of a page, in processor time: on a busy machine they last longer, and take no more of it. */
import type { Page } from 'playwright-core'

export type Tasks = {
  /** Time that the page took from each click to the frame that shows what it leads to. */
  opening_ms: number[]
  /** The longest task after the last of these frames; without a click of all. */
  longest_after_ms: number
}

type TraceEvent = { name: string; ts: number; dur?: number; tdur?: number; pid: number; tid: number }

/** Traces the thread of the page that draws and runs scripts. @param act clicks by `clickAndSee`, or does not click */
export async function traced(page: Page, act: () => Promise<void>): Promise<Tasks> {
  const browser = page.context().browser()!
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] })
  await page.evaluate(() => performance.mark('begun'))
  await act()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  const begun = traceEvents.find(({ name }) => name === 'begun')!
  const own = traceEvents.filter(({ tid, pid }) => tid === begun.tid && pid === begun.pid)
  const marks = (mark: string) => own.filter(({ name }) => name === mark).map(({ ts }) => ts)
  const tasks = outermost(own.filter(({ name }) => name === 'ThreadControllerImpl::RunTask'))
  const [clicked, seen] = [marks('clicked'), marks('seen')]
  const last_seen = seen.at(-1) ?? begun.ts
  const after = tasks.filter(({ ts }) => ts > last_seen).map(({ tdur = 0 }) => tdur)
  return {
    opening_ms: clicked.map((from, place) => {
      // A mark stands within the task that makes it.
      const within = tasks.filter(({ ts, dur = 0 }) => ts + dur > from && ts < seen[place]!)
      return within.reduce((sum, { tdur = 0 }) => sum + tdur, 0) / 1000
    }),
    longest_after_ms: Math.max(0, ...after) / 1000,
  }
}

/** A task that waits for another one has it within. */
function outermost(tasks: TraceEvent[]): TraceEvent[] {
  let end = 0
  return tasks
    .toSorted((a, b) => a.ts - b.ts)
    .filter(({ ts, dur = 0 }) => {
      const is_outer = ts >= end
      if (is_outer) end = ts + dur
      return is_outer
    })
}
