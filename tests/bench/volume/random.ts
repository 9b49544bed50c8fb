/** Makes pseudo-random numbers that are the same in each run, and what rows need of them: ids and uneven choices. */

export type Random = ReturnType<typeof startRandom>

const TWO_32 = 2 ** 32

/** Starts the generator xoshiro128** (Blackman and Vigna, 2018), always with the same state. */
export function startRandom() {
  let [a, b, c, d] = [0x12345678, 0x9abcdef0 | 0, 0x0f1e2d3c, 0x4b5a6978]
  let ids = 0

  /** A whole number below 2^32. */
  const next = (): number => {
    const product = Math.imul(b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return result >>> 0
  }
  /** A number from 0 up to 1. */
  const share = (): number => next() / TWO_32
  return {
    next,
    share,
    /** A whole number from 0 up to, and without, the limit. */
    below: (limit: number): number => Math.floor(share() * limit),
    /** As `below`, but small numbers come far more often: the first tenth of all numbers comes in 46 of 100 cases. */
    mostlyLow: (limit: number): number => Math.min(limit - 1, Math.floor(limit * share() ** 3)),
    /** True in this share of all cases. */
    chance: (of: number): boolean => share() < of,
    pick: <T>(values: readonly T[]): T => values[Math.floor(share() * values.length)]!,
    /** A UUIDv7 of that time; later calls within 4096 give larger ids for the same time. */
    idAt(time_ms: number): string {
      const time = hex(time_ms, 12)
      ids = (ids + 1) % 0x1000
      const variant = 0x8000 | (next() & 0x3fff)
      const tail = hex(next() & 0xffff, 4) + hex(next(), 8)
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(ids, 3)}-${hex(variant, 4)}-${tail}`
    },
  }
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
