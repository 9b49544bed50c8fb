const JITTER = 0.1

/**
 * Computes the seconds from the end of a failed attempt to the next one. Up to 10 % are added, so that what failed
 * together is not tried again together. With the schedule 0, 60, 300 the second attempt comes 60 to 66 s after the end
 * of the first, the third 300 to 330 s after the end of the second, and there is no fourth.
 * @param attempts_made attempts that have ended, 0 for something new
 * @param schedule_seconds seconds before attempt 1, 2, ...: as many attempts as entries
 * @param random a number from 0 up to 1
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
