/** Waiting for work ends with the work or with the time, whichever comes first. */
import { expect, test } from 'bun:test'
import { within } from '../../../src/base/flow/within'

test('work that ends in time gives its result', async () => {
  expect(await within(60_000, Promise.resolve('done'), 'too late')).toBe('done')
})

test('work that fails in time throws what it threw', async () => {
  const work = Promise.reject(new Error('broken'))
  expect(await within(60_000, work, 'too late').catch(String)).toBe('Error: broken')
})

test('work that takes longer is given up, and fails for nobody when it fails later', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  expect(await within(1, promise, 'too late').catch(String)).toBe('Error: too late')
  reject(new Error('broken'))
  await promise.catch(() => {})
})
