/** A clock that steps and goes on, like one that an operator sets; `setSystemTime` of bun:test stops the clock. */
const RealDate = Date
let offset_ms = 0

class SteppedDate extends RealDate {
  constructor(...given: [] | [number | string | Date]) {
    if (given.length === 0) super(RealDate.now() + offset_ms)
    else super(...given)
  }

  static override now(): number {
    return RealDate.now() + offset_ms
  }

  /** Counts times of before the step too: libraries ask a time that they keep whether it is a Date. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof RealDate
  }
}

/** Steps the clock of this process. 0 puts it right again. @param by_ms away from the true time */
export function stepClock(by_ms: number): void {
  offset_ms = by_ms
  globalThis.Date = by_ms === 0 ? RealDate : (SteppedDate as DateConstructor)
}
