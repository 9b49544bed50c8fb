/** Calls in the same turn of the event loop share one run, which keeps apart what was asked in different contexts. */
import { expect, test } from 'bun:test'
import { askedAtOnce } from '../../src/flow/at-once'

function startAsking() {
  const runs: [context: string, items: number[]][] = []
  const ask = askedAtOnce(async (context: string, items: number[]) => {
    runs.push([context, [...items]])
    if (items.includes(13)) throw new Error('unlucky')
    return items.map((item) => item * 2)
  })
  return { ask, runs }
}

test('calls of one turn share a run, and each gets its own result', async () => {
  const { ask, runs } = startAsking()
  expect(await Promise.all([ask('a', 1), ask('a', 2), ask('a', 3)])).toEqual([2, 4, 6])
  expect(runs).toEqual([['a', [1, 2, 3]]])
})

test('a later call begins a new run', async () => {
  const { ask, runs } = startAsking()
  expect([await ask('a', 1), await ask('a', 2)]).toEqual([2, 4])
  expect(runs).toEqual([
    ['a', [1]],
    ['a', [2]],
  ])
})

test('calls with different contexts do not share a run', async () => {
  const { ask, runs } = startAsking()
  expect(await Promise.all([ask('a', 1), ask('b', 2), ask('a', 3)])).toEqual([2, 4, 6])
  expect(runs).toEqual([
    ['a', [1, 3]],
    ['b', [2]],
  ])
})

test('a run that fails fails for all of its calls, and for no later one', async () => {
  const { ask } = startAsking()
  const answers = await Promise.allSettled([ask('a', 1), ask('a', 13)])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await ask('a', 1)).toBe(2)
})
