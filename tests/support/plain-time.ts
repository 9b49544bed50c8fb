/** Amounts of time entries as a bookkeeper computes them: in whole numbers, of the text of the rate. */

/** Decimals of amounts by ISO 4217, of three currencies that have different ones. */
export const DECIMALS = { JPY: 0, EUR: 2, KWD: 3 } as const

export type Currency = keyof typeof DECIMALS

export const CURRENCIES = Object.keys(DECIMALS) as Currency[]

/** The unit that rates and sums are computed in: the smallest that all these currencies know. */
const PARTS = 1000n

/** Hours times rate, rounded half up to the decimals of the currency, in thousandths. */
export function plainAmount(minutes: number, rate: number, currency: Currency): bigint {
  const [whole, part = ''] = String(rate).split('.')
  const thousandths = BigInt(whole!) * PARTS + BigInt(part.padEnd(3, '0'))
  const unit = PARTS / 10n ** BigInt(DECIMALS[currency])
  const divisor = 60n * unit
  return ((2n * BigInt(minutes) * thousandths + divisor) / (2n * divisor)) * unit
}

/** A JSON number of at most three decimals, in thousandths. */
export function thousandths(value: number): bigint {
  return BigInt(Math.round(value * Number(PARTS)))
}

/** The totals of a list by currency, in thousandths. */
export function sumsOfTotals(by_currency: { currency: string; billable_amount: number }[]): Record<string, bigint> {
  return Object.fromEntries(by_currency.map((one) => [one.currency, thousandths(one.billable_amount)]))
}

/** The text of an amount in a CSV file. */
export function plainText(amount: bigint, decimals: number): string {
  const [whole, part] = [amount / PARTS, String(amount % PARTS).padStart(3, '0')]
  return decimals === 0 ? `${whole}` : `${whole}.${part.slice(0, decimals)}`
}
