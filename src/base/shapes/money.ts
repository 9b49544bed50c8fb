/** Fields of bodies that a company, a user and the organization share: rate, currency, ticket prefix. */
import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { type Fault, fieldError } from '../errors'
import { type FieldOptions, text } from './fields'

const MAX_RATE = 1_000_000
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
/** The most that a currency has: CLF and UYW. */
const MOST_DECIMALS = 4

TypeRegistry.Set<TSchema>('Rate', (_schema, value) => isRate(value))

/**
 * An hourly rate: a JSON number from 0 to 1,000,000, with the decimals that some currency lets it have
 * (`requireDecimals`).
 */
export function rateInput(options: FieldOptions = {}) {
  return Type.Unsafe<number>({
    [Kind]: 'Rate',
    type: 'number',
    minimum: 0,
    maximum: MAX_RATE,
    fault: `must be a number from 0 to 1000000 with at most ${MOST_DECIMALS} decimals`,
    description: 'At most 2 decimals, or those of the currency (ISO 4217) if it has more',
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

/** Tells how many decimals amounts in a currency have (ISO 4217). The runtime knows it of all except UYW. */
export function decimalsOf(currency: string): number {
  if (currency === 'UYW') return 4
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits!
}

type Rate = number | null | undefined

/** Says what is wrong with the decimals of a rate: it has at most 2, or those of its currency, if both are known. */
export function faultsOfRate(path: string, rate: Rate, currency: string | undefined): Fault[] {
  if (typeof rate !== 'number' || currency === undefined) return []
  const most = Math.max(2, decimalsOf(currency))
  return hasDecimals(rate, most) ? [] : [{ path, message: `must have at most ${most} decimals in ${currency}` }]
}

/** Refuses a rate with more decimals than its currency lets it have. @throws VALIDATION_ERROR */
export function requireDecimals(path: string, rate: Rate, currency: string): void {
  const [fault] = faultsOfRate(path, rate, currency)
  if (fault) throw fieldError('VALIDATION_ERROR', fault.path, fault.message)
}

type Price = { hourly_rate?: Rate; currency?: string | null }

/** Judges what has a rate after it was changed, when the change gives rate or currency. @throws VALIDATION_ERROR */
export function requireRate(after: Price & { currency: string }, changes: Price): void {
  if (changes.hourly_rate === undefined && changes.currency === undefined) return
  const path = changes.hourly_rate === undefined ? '/currency' : '/hourly_rate'
  requireDecimals(path, after.hourly_rate, after.currency)
}

function isRate(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= MAX_RATE && hasDecimals(value, MOST_DECIMALS)
}

/** Counts decimals in the shortest decimal form of the number: in binary even 19.99 has more than two. */
function hasDecimals(value: number, most: number): boolean {
  const written = /^\d+(?:\.(\d+))?$/.exec(String(value))
  return written !== null && (written[1]?.length ?? 0) <= most
}
