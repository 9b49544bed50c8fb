/** Bounds of what is told about many sources. */
import { expect, test } from 'bun:test'
import { Flood, type FloodSum } from '../../../src/mail/inbound/flood'

function startFlood() {
  const sums: FloodSum[] = []
  const limits = { window_ms: 3_600_000, most_of_source: 2, most_in_all: 5, most_sums: 2 }
  return { flood: new Flood(limits, (sum) => sums.push(sum)), sums }
}

test('a source is told a few times in a window, then as a sum with what its texts say', () => {
  const { flood, sums } = startFlood()
  const told = ['a', 'a', 'a', 'a', 'b'].map((source, index) => flood.admits(source, [index < 3 ? '550' : '552']))
  expect(told).toEqual([true, true, false, false, true])
  flood.end()
  expect(sums).toEqual([{ source: 'a', count: 2, counts: { 550: 1, 552: 1 } }])
  expect(flood.admits('a', [])).toBe(true)
})

test('all sources together are told only so often, and few of them have a sum for themselves', () => {
  const { flood, sums } = startFlood()
  const told = Array.from({ length: 9 }, (_, source) => flood.admits(String(source), ['550']))
  expect(told.filter((one) => one)).toHaveLength(5)
  flood.end()
  expect(sums.map(({ source, count }) => [source, count])).toEqual([
    ['5', 1],
    ['6', 1],
    [null, 2],
  ])
})

test('a source that brings the mail of many is bounded like all together', () => {
  const { flood } = startFlood()
  const told = Array.from({ length: 7 }, () => flood.admits('relay', [], 'in all'))
  expect(told.filter((one) => one)).toHaveLength(5)
})

test('texts that differ each time do not make a sum grow', () => {
  const { flood, sums } = startFlood()
  for (let index = 0; index < 1000; index += 1) flood.admits('a', [`text ${index}`])
  flood.end()
  expect(Object.keys(sums[0]!.counts).length).toBe(21)
  expect(sums[0]!.counts.other).toBe(978)
})

test('the sums of a quiet time are told at the end of the window', async () => {
  const { promise, resolve } = Promise.withResolvers<FloodSum>()
  const flood = new Flood({ window_ms: 1, most_of_source: 0, most_in_all: 0, most_sums: 1 }, resolve)
  flood.admits('a', [])
  expect(await promise).toMatchObject({ source: 'a', count: 1 })
})
