/** Changes, limits and compares custom fields. Pure. */
import { type Fault, fieldError } from '../../base/errors'
import { type Custom, type CustomGiven, type CustomValue, MOST_FIELDS } from './model'

const MOST_BYTES = 16 * 1024

/**
 * Sets what is given; null removes a field, or all of them.
 * @throws INVALID_CUSTOM when there are too many fields then, or too much is in them
 */
export function changedCustom(before: Custom, given: CustomGiven = {}): Custom {
  if (given === null) return {}
  const kept = Object.entries({ ...before, ...given }).filter(([, value]) => value !== null)
  const after = Object.fromEntries(kept) as Custom
  const fault = faultOf(after, Object.keys(given))
  if (fault) throw fieldError('INVALID_CUSTOM', fault.path, fault.message)
  return after
}

/** Tells if these fields may stand together. */
export function isWithinLimits(custom: Custom): boolean {
  return faultOf(custom, []) === undefined
}

/** The last field that was given is named, since those before it may have fitted. */
function faultOf(custom: Custom, given: string[]): Fault | undefined {
  const path = `/custom/${given.findLast((key) => Object.hasOwn(custom, key))}`
  if (Object.keys(custom).length > MOST_FIELDS) return { path, message: `must be one of at most ${MOST_FIELDS} fields` }
  const is_large = Buffer.byteLength(JSON.stringify(custom)) > MOST_BYTES
  return is_large ? { path, message: `must fit, with the other fields, into ${MOST_BYTES} bytes of JSON` } : undefined
}

/**
 * The fields that differ, with null for one that is missing.
 * @returns undefined when none differs
 */
export function customChanges(before: Custom, after: Custom): { from: CustomParts; to: CustomParts } | undefined {
  if (before === after) return undefined
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = keys.filter((key) => JSON.stringify(fieldOf(before, key)) !== JSON.stringify(fieldOf(after, key)))
  if (changed.length === 0) return undefined
  const parts = (custom: Custom) => Object.fromEntries(changed.map((key) => [key, fieldOf(custom, key)]))
  return { from: parts(before), to: parts(after) }
}

type CustomParts = Record<string, CustomValue | null>

/** A field may have the name of what every object has, such as `constructor`. */
function fieldOf(custom: Custom, key: string): CustomValue | null {
  return Object.hasOwn(custom, key) ? custom[key]! : null
}
