/** Amounts as people write them. */
import { locales } from '../words/catalogue'

/** An amount in a currency (ISO 4217). */
export function money(amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat(locales(), { style: 'currency', currency }).format(amount)
  } catch {
    // A browser may not know a currency.
    return `${amount.toFixed(2)} ${currency}`
  }
}
