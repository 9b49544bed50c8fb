import { expect, test } from 'bun:test'
import { type RateSource, resolveRate } from '../../../src/desk/time-entries/rate'

const NONE: RateSource = { rate: null, currency: null }
const USD = { rate: null, currency: 'USD' }

test.each([
  ['nothing anywhere: no rate, in the currency of the organization', undefined, NONE, NONE, USD, [null, 'USD']],
  [
    "the company's rate comes first",
    undefined,
    { rate: 100, currency: 'EUR' },
    { rate: 50, currency: 'GBP' },
    { rate: 20, currency: 'USD' },
    [100, 'EUR'],
  ],
  [
    'a rate of 0 is a rate',
    undefined,
    { rate: 0, currency: 'EUR' },
    { rate: 50, currency: 'GBP' },
    { rate: 20, currency: 'USD' },
    [0, 'EUR'],
  ],
  [
    "the user's comes second, with its own currency",
    undefined,
    { rate: null, currency: 'EUR' },
    { rate: 50, currency: 'GBP' },
    { rate: 20, currency: 'USD' },
    [50, 'GBP'],
  ],
  [
    "the organization's comes last",
    undefined,
    { rate: null, currency: 'EUR' },
    { rate: null, currency: 'GBP' },
    { rate: 20, currency: 'USD' },
    [20, 'USD'],
  ],
  [
    'a company without a currency has the organization’s',
    undefined,
    { rate: 9, currency: null },
    NONE,
    USD,
    [9, 'USD'],
  ],
  ['a user without a currency has the organization’s', undefined, NONE, { rate: 9, currency: null }, USD, [9, 'USD']],
  [
    "an explicit rate wins, in the company's currency",
    7.5,
    { rate: 100, currency: 'EUR' },
    { rate: 50, currency: 'GBP' },
    { rate: 20, currency: 'USD' },
    [7.5, 'EUR'],
  ],
  [
    "an explicit rate is in the company's currency even if the company has no rate",
    7.5,
    { rate: null, currency: 'EUR' },
    { rate: 50, currency: 'GBP' },
    USD,
    [7.5, 'EUR'],
  ],
  [
    "an explicit rate without a company is in the organization's currency",
    7.5,
    NONE,
    { rate: 50, currency: 'GBP' },
    USD,
    [7.5, 'USD'],
  ],
  ['an explicit rate of 0 wins', 0, { rate: 100, currency: 'EUR' }, NONE, USD, [0, 'EUR']],
] as const)('%s', (_, explicit, company, user, organization, [rate, currency]) => {
  const sources = { company, user, organization: { ...organization, time_zone: 'UTC' } }
  expect(resolveRate(explicit, sources)).toEqual({ rate, currency })
})
