/**
 * Generated input: all of it where a file is named and with `--all`, a sample in the daily run. A test says itself
 * which cases the rule needs; the others are more of the same.
 */

/** Set by the runner for the daily run. */
export const SAMPLE = 'DESKWIRE_TEST_SAMPLE'

export const IS_SAMPLE = process.env[SAMPLE] !== undefined

/** In the daily run each `every`th case, from the first on. */
export function sampled<T>(cases: readonly T[], every: number): T[] {
  return cases.filter((_, at) => !IS_SAMPLE || at % every === 0)
}

/** How often a property is tried: a fourth of it in the daily run. */
export function tries(all: number): number {
  return IS_SAMPLE ? Math.ceil(all / 4) : all
}
