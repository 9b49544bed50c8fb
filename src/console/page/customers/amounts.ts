/** Amounts as people write them. */
import { locales } from '../words/catalogue'

/** An amount in a currency (ISO 4217), or a rate, which may have more decimals. */
export function money(amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat(locales(), { style: 'currency', currency, maximumFractionDigits: 4 }).format(amount)
  } catch {
    // A browser may not know a currency.
    return `${amount.toFixed(2)} ${currency}`
  }
}

/** The form of a CSV file that a spreadsheet program in this language opens as a table with numbers. */
export function csvForm(): Record<string, string> {
  const has_comma = new Intl.NumberFormat(locales()).format(1.5).includes(',')
  return { bom: 'true', ...(has_comma && { delimiter: 'semicolon', decimal: 'comma' }) }
}
