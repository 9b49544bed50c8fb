/** The time for what other processes compare: ids, tokens, signatures, events. `base/db/clock.ts` keeps it right. */

/** When the clock of this machine is wrong: the true time at which this process began, in milliseconds since 1970. */
let began_ms: number | undefined

/**
 * Returns whole milliseconds since 1970: the time of this machine, unless its clock was found to be wrong. Then
 * nobody's step of that clock changes it, such as the one that sets it right.
 */
export function sharedTime(): number {
  return began_ms === undefined ? Date.now() : Math.round(began_ms + performance.now())
}

/** True when the clock of this machine is wrong. */
export function isCorrected(): boolean {
  return began_ms !== undefined
}

/** @param change_ms is to be added to the time of this machine; 0 when its clock is right */
export function correctTime(change_ms: number): void {
  began_ms = change_ms === 0 ? undefined : Date.now() + change_ms - performance.now()
}
