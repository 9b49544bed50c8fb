/** The time for what other processes compare: ids, tokens, signatures, events. `db/clock.ts` keeps it right. */

let correction_ms = 0

/** Returns milliseconds since 1970: the time of this machine, unless its clock was found to be wrong. */
export function sharedTime(): number {
  return Date.now() + correction_ms
}

/** True when the clock of this machine is wrong. */
export function isCorrected(): boolean {
  return correction_ms !== 0
}

/** @param change_ms is added to the time of this machine from now on */
export function correctTime(change_ms: number): void {
  correction_ms = change_ms
}
