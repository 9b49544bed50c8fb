/**
 * Compares the clock of this machine with that of the database, which all processes share. A process whose clock is an
 * hour ahead took the tokens of all others for expired, and its tickets came before those that others made later. So a
 * clock that is off by more than TOLERANCE_S is corrected where other processes see the time, and the operator is
 * warned.
 */
import { log } from '../log'
import { showClockOffset } from './clock-offset'
import { correctTime } from './shared-time'
import type { Connection } from './transact'

/** Clocks that are kept by NTP differ by milliseconds. */
const TOLERANCE_S = 5
const SAMPLES = 3
/** An answer that took longer says too little about the clock. */
const ROUND_TRIP_MOST_MS = 2000
/** Distance of the warnings while a clock is wrong. */
const REMINDER_MS = 3_600_000

let warned_ms: number | undefined

/**
 * Measures by how many seconds the clock of this machine is ahead of the database's, or behind when negative. Undefined
 * when the database answers too slowly to tell.
 */
export async function measureClockOffset({ sql }: Connection): Promise<number | undefined> {
  let best = { round_trip_ms: Number.POSITIVE_INFINITY, offset_ms: 0 }
  for (let i = 0; i < SAMPLES; i++) {
    const sent_ms = performance.now()
    const [row] = await sql<{ at_ms: number }[]>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as at_ms`
    const local_ms = Date.now()
    const round_trip_ms = performance.now() - sent_ms
    if (round_trip_ms < best.round_trip_ms) {
      best = { round_trip_ms, offset_ms: local_ms - round_trip_ms / 2 - row!.at_ms }
    }
  }
  return best.round_trip_ms > ROUND_TRIP_MOST_MS ? undefined : best.offset_ms / 1000
}

/** Measures, shows and corrects. For the start and a background job. @throws errors of the database */
export async function watchClock(connection: Connection): Promise<void> {
  const offset_s = await measureClockOffset(connection)
  if (offset_s === undefined) return
  showClockOffset(offset_s)
  const is_wrong = Math.abs(offset_s) > TOLERANCE_S
  correctTime(is_wrong ? Math.round(-offset_s * 1000) : 0)
  if (is_wrong && (warned_ms === undefined || performance.now() - warned_ms >= REMINDER_MS)) {
    log.warn(
      { offset_s: Math.round(offset_s) },
      "the clock of this machine differs from the database's, which is used instead",
    )
    warned_ms = performance.now()
  }
  if (!is_wrong && warned_ms !== undefined) {
    log.info("the clock of this machine is the database's again")
    warned_ms = undefined
  }
}
