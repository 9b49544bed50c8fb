/** Shows how far the clock of this machine is from the database's. */
import { Gauge } from 'prom-client'

let offset: Gauge | undefined

/** @param offset_s seconds that this machine is ahead, negative when it is behind */
export function showClockOffset(offset_s: number): void {
  offset ??= new Gauge({
    name: 'deskwire_clock_offset_seconds',
    help: "Seconds that the clock of this machine is ahead of the database's; negative when it is behind",
  })
  offset.set(offset_s)
}
