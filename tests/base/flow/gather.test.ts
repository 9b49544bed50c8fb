/** Callers that ask at the same time share one call, and the failure of one does not reach the others. */
import { expect, test } from 'bun:test'
import { gathered } from '../../../src/base/flow/gather'
import { until } from '../../support/service'

/** A function whose runs end when the test says so. */
function startGathered(options: { most_runs?: number; patience_ms?: number; rest_ms?: number } = {}) {
  const runs: { items: number[]; end(): void }[] = []
  const ask = gathered(async (items: number[]) => {
    await new Promise<void>((resolve) => runs.push({ items, end: resolve }))
    if (items.includes(13)) throw new Error('unlucky')
    return items.map((item) => item * 2)
  }, options)
  return { ask, runs }
}

/** Asks in one turn of the event loop, and waits for the next one. */
async function inTurn(ask: (item: number) => Promise<number>, ...items: number[]): Promise<Promise<number>[]> {
  const answers = items.map(ask)
  await Bun.sleep(0)
  return answers
}

async function endAll(runs: { end(): void }[]): Promise<void> {
  for (let ended = 0; ended < runs.length; ended++) {
    runs[ended]!.end()
    await Bun.sleep(0)
  }
}

test('those who ask while enough runs are under way share the next one, and each gets its own result', async () => {
  const { ask, runs } = startGathered()
  const answers = [...(await inTurn(ask, 1)), ...(await inTurn(ask, 2)), ...(await inTurn(ask, 3, 4)), ask(5)]
  expect(runs.map(({ items }) => items)).toEqual([[1], [2]])
  await endAll(runs)
  expect(await Promise.all(answers)).toEqual([2, 4, 6, 8, 10])
  expect(runs.map(({ items }) => items)).toEqual([[1], [2], [3, 4, 5]])
})

test('those who ask in one turn of the event loop share a run', async () => {
  const { ask, runs } = startGathered()
  const answers = await inTurn(ask, 1, 2, 3)
  expect(runs.map(({ items }) => items)).toEqual([[1, 2, 3]])
  await endAll(runs)
  expect(await Promise.all(answers)).toEqual([2, 4, 6])
})

test('another run begins beside one that takes too long', async () => {
  const { ask, runs } = startGathered({ patience_ms: 5 })
  const answers = [...(await inTurn(ask, 1)), ask(2), ask(3)]
  expect(runs.map(({ items }) => items)).toEqual([[1]])
  await until('another run has begun', async () => runs.length > 1)
  expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3]])
  await endAll(runs)
  expect(await Promise.all(answers)).toEqual([2, 4, 6])
})

test('a run that ends in time is followed by one for all who waited', async () => {
  const { ask, runs } = startGathered({ patience_ms: 60_000 })
  const answers = [...(await inTurn(ask, 1)), ask(2), ask(3)]
  await endAll(runs)
  expect(await Promise.all(answers)).toEqual([2, 4, 6])
  expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3]])
})

test('after a rest a run begins with all that was asked for meanwhile, and after a pause at once', async () => {
  const { ask, runs } = startGathered({ most_runs: 1, rest_ms: 20 })
  const answers = await inTurn(ask, 1)
  await endAll(runs)
  for (const item of [2, 3]) answers.push(...(await inTurn(ask, item)))
  expect(runs.map(({ items }) => items)).toEqual([[1]])
  await until('the rest is over', async () => runs.length > 1)
  await endAll(runs)
  expect(await Promise.all(answers)).toEqual([2, 4, 6])
  expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3]])
})

test('a run that may have done something is not repeated', async () => {
  let runs = 0
  const ask = gathered(
    async () => {
      runs++
      throw new Error('lost')
    },
    { most_runs: 1, mayRepeat: () => false },
  )
  const settled = await Promise.allSettled([1, 2, 3].map(() => ask(1)))
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(runs).toBe(1)
})

test('a run takes no more than it may, and no more run at a time than may', async () => {
  const { ask, runs } = startGathered({ most_runs: 1 })
  const answers = await inTurn(ask, ...Array<number>(202).fill(1))
  expect(runs).toHaveLength(1)
  await endAll(runs)
  expect(await Promise.all(answers)).toEqual(Array(202).fill(2))
  expect(runs.map(({ items }) => items.length)).toEqual([100, 100, 2])
})

test('when a run fails its items are tried alone, at the same time: none waits for another', async () => {
  const { ask, runs } = startGathered({ most_runs: 1 })
  const settled = Promise.allSettled(await inTurn(ask, 3, 13, 5))
  runs[0]!.end()
  await Bun.sleep(0)
  expect(runs.map(({ items }) => items)).toEqual([[3, 13, 5], [3], [13], [5]])
  for (const { end } of runs) end()
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('when a run fails only the item at fault fails, and later ones are served', async () => {
  const { ask, runs } = startGathered()
  const answers = await inTurn(ask, 1, 2, 3, 13, 5)
  const settled = Promise.allSettled(answers)
  await endAll(runs)
  const results = (await settled).map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))
  expect(results).toEqual([2, 4, 6, 'failed', 10])
  const [later] = await inTurn(ask, 6)
  await endAll(runs)
  expect(await later).toBe(12)
})

test('those with different keys share no run, and one that fails is no matter of the others', async () => {
  const runs: string[][] = []
  const ask = gathered(
    async (items: string[]) => {
      runs.push(items)
      await Bun.sleep(0)
      if (items[0]!.startsWith('b')) throw new Error('away')
      return items.map((item) => item.toUpperCase())
    },
    { key: (item) => item[0]!, most_runs: 1 },
  )
  const answers = await Promise.allSettled(['a1', 'b1', 'a2', 'a3', 'c1'].map(ask))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(runs).toEqual([['a1', 'a2', 'a3'], ['b1'], ['c1']])
})
