import { expect, test } from 'bun:test'
import { ticketsReadOf } from '../support/custom-plans'

test('a page of two custom fields by last change reads few of a million tickets', async () => {
  const read = await ticketsReadOf(1_000_000)
  expect(read.filter((rows) => rows > 3000)).toEqual([])
}, 1_200_000)
