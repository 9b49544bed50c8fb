const JITTER = 0.1

/**
 * Seconds to wait after a failed attempt until the next one (interface, section Events, retry policy).
 * Up to 10 % are added, so that what failed together is not tried again together.
 * @param attempts_made attempts that have ended, 0 for something new
 * @param schedule_seconds seconds before attempt 1, 2, ...: as many attempts as entries
 * @param random from 0 up to 1, as `Math.random` gives it
 * @returns null when the attempts are used up
 */
export function nextDelay_s(
  attempts_made: number,
  schedule_seconds: readonly number[],
  random: () => number = Math.random,
): number | null {
  const delay_s = schedule_seconds[attempts_made]
  return delay_s === undefined ? null : delay_s * (1 + JITTER * random())
}
