import { expect, test } from 'bun:test'
import { places, turns } from '../../../src/base/flow/turns'

/** Work that ends when the test says so, and the order in which it began. */
function startWork(max: number) {
  const inTurn = turns(max)
  const begun: string[] = []
  const ends: (() => void)[] = []
  return {
    begun,
    add: (name: string, group?: string) =>
      inTurn(async () => {
        begun.push(name)
        await new Promise<void>((resolve) => ends.push(resolve))
        return name
      }, group),
    /** Ends the work that began first. */
    async endOne() {
      ends.shift()!()
      await Bun.sleep(0)
    },
  }
}

test('as many run at a time as there is room for, the others in the order in which they came', async () => {
  const { begun, add, endOne } = startWork(2)
  const all = ['a', 'b', 'c', 'd'].map((name) => add(name))
  expect(begun).toEqual(['a', 'b'])
  await endOne()
  expect(begun).toEqual(['a', 'b', 'c'])
  for (let n = 0; n < 3; n++) await endOne()
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
})

test('groups take turns, however many wait in one of them', async () => {
  const { begun, add, endOne } = startWork(1)
  const noisy = ['a1', 'a2', 'a3', 'a4'].map((name) => add(name, 'a'))
  const others = [add('b1', 'b'), add('c1', 'c'), add('b2', 'b')]
  for (let n = 0; n < 7; n++) await endOne()
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  await Promise.all([...noisy, ...others])
})

test('work that fails gives its turn to the next', async () => {
  const inTurn = turns(1)
  const failed = inTurn(() => Promise.reject(new Error('no')))
  const next = inTurn(async () => 'done')
  await expect(failed).rejects.toThrow('no')
  expect(await next).toBe('done')
})

test('a place is given at once when there is room, else when one is left', async () => {
  const take = places(1)
  const leave = await take('a')
  const second = Promise.resolve(take('b'))
  expect(await Promise.race([second, Bun.sleep(0).then(() => 'waits')])).toBe('waits')
  leave()
  const leaveSecond = await second
  leaveSecond()
  expect(take()).toBeFunction()
})
