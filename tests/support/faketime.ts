/** A process whose clock is wrong, by libfaketime. */
import { existsSync } from 'node:fs'

/** The library; undefined when the machine lacks it. */
const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((file) => existsSync(file))

export const WHY_NO_FAKETIME = LIBRARY ? undefined : 'there is no faketime: apt-get install faketime'

/** Makes the settings of such a process. @param offset as libfaketime writes it, such as `+3600`, `+60s` or `-2d` */
export function wrongClock(offset: string): Record<string, string> {
  return { LD_PRELOAD: LIBRARY!, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
}
