/** The way from one ticket of the list to the next. */
import { beforeEach, expect, test } from 'bun:test'
import { keepNeighbours, nextAfter, placeBeside } from '../../src/console/page/inbox/neighbours'

const show = (ids: string) => keepNeighbours([...ids].map((id) => ({ id })))

beforeEach(() => {
  show('')
  show('abcde')
})

test('the next one stands below, or above at the end', () => {
  expect([nextAfter('b')?.id, nextAfter('b', -1)?.id, nextAfter('e')?.id]).toEqual(['c', 'a', 'd'])
  expect(nextAfter('a', -1)).toBeUndefined()
  expect(nextAfter('x')?.id).toBe('a')
})

test('from a ticket that has left the list it goes on where that stood', () => {
  show('abde')
  expect([nextAfter('c')?.id, nextAfter('c', -1)?.id]).toEqual(['d', 'b'])
  expect([placeBeside('c', 1), placeBeside('c', 0), placeBeside('c', -1)]).toEqual([2, 2, 1])
  show('xabe')
  expect([nextAfter('c')?.id, nextAfter('c', -1)?.id]).toEqual(['e', 'b'])
  show('xab')
  expect([nextAfter('c')?.id, nextAfter('c', -1)?.id]).toEqual(['b', 'b'])
  show('xabc')
  expect(nextAfter('c', -1)?.id).toBe('b')
})

test('another list begins anew', () => {
  show('abde')
  show('vw')
  expect(nextAfter('c')?.id).toBe('v')
})
