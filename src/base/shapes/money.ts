/** Fields of bodies that a company, a user and the organization share: rate, currency, ticket prefix. */
import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { type FieldOptions, text } from './fields'

const MAX_RATE = 1_000_000
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))

TypeRegistry.Set<TSchema>('Rate', (_schema, value) => isRate(value))

/** An hourly rate: a JSON number from 0 to 1,000,000 with at most 2 decimals. */
export function rateInput(options: FieldOptions = {}) {
  return Type.Unsafe<number>({
    [Kind]: 'Rate',
    type: 'number',
    minimum: 0,
    maximum: MAX_RATE,
    fault: 'must be a number from 0 to 1000000 with at most 2 decimals',
    ...options,
  })
}

/** A currency code of ISO 4217, in upper case. */
export function currencyInput(options: FieldOptions = {}) {
  return text({
    max: 255,
    trim: false,
    rule: (value) => /^[A-Z]{3}$/.test(value) && CURRENCIES.has(value),
    fault: 'must be an ISO 4217 code in upper case, such as USD',
    ...options,
  })
}

/** The prefix of ticket codes, such as `ACME` of ACME-42. */
export function ticketPrefixInput(options: FieldOptions = {}) {
  return text({
    max: 255,
    trim: false,
    rule: (value) => /^[A-Z][A-Z0-9]{0,9}$/.test(value),
    fault: 'must be 1 to 10 capital letters and digits, a letter first',
    ...options,
  })
}

/** Counts decimals in the shortest decimal form of the number: in binary even 19.99 has more than two. */
function isRate(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_RATE && /^\d+(\.\d{1,2})?$/.test(String(value))
}
