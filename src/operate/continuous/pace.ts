/** Slows a copy down, so that it leaves the disk and the processor to the service. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Bytes of the database that are read in a second. */
const PACE_BYTES = 16 * 1024 * 1024

/** Waits until so many bytes may have been read. @throws the reason of the signal */
export type Pace = (bytes: number) => Promise<void>

/** Makes one for a copy that begins now. */
export function pacer(signal: AbortSignal): Pace {
  const started_ms = performance.now()
  let sum = 0
  return async (bytes) => {
    signal.throwIfAborted()
    sum += bytes
    const early_ms = (sum / PACE_BYTES) * 1000 - (performance.now() - started_ms)
    if (early_ms > 20) await sleep(early_ms, undefined, { signal })
  }
}
