/** The processes of a lane: one serves many pieces of work, and ends when there was none for a while. */
import { expect, test } from 'bun:test'
import { createLane, mostProcesses } from '../../../src/base/process/lane'
import { childrenOf } from '../../support/cpu-time'
import { until } from '../../support/service'

const SCRIPT = new URL('../../../src/base/html/render-main.ts', import.meta.url)
const WORK = { body: '<p>Hello</p>' }

test('a process serves the next piece of work, ends without any, and a new one serves the one after that', async () => {
  const others = new Set(childrenOf(process.pid))
  const workers = () => childrenOf(process.pid).filter((pid) => !others.has(pid))
  const lane = createLane(SCRIPT, { rest_ms: 300 })
  try {
    const work = () => lane.run<{ text: string }>(WORK, { size: WORK.body.length })
    expect((await work()).text).toBe('Hello')
    const first = workers()
    expect(first).toHaveLength(1)
    expect((await work()).text).toBe('Hello')
    expect(workers()).toEqual(first)
    await until('the process has ended', () => workers().length === 0)
    expect((await work()).text).toBe('Hello')
    expect(workers()).toHaveLength(1)
  } finally {
    await lane.close()
  }
})

test('below 512 MB of memory one process works at a time, else as many as there are processors', () => {
  const MB = 2 ** 20
  expect([256, 511, 512, 4096].map((size) => mostProcesses(size * MB, 4))).toEqual([1, 1, 4, 4])
  // Zero is a limit that nobody knows.
  expect(mostProcesses(0, 4)).toBe(4)
})
