/** Finds the lines in which this process spends its time, by the sampling profiler of the engine, else off. */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sampleStacks } from '../runtime/engine'

/** Samples of a line: `self` ran it, or native code and regular expressions for it; `total` ran what it has called. */
export type LineTime = { file: string; name: string; line: number; self: number; total: number }

/** The profile of a process. `name` is `service`, or the script of a process that works for it. */
export type Profile = { name: string; processor_ms: number; lines: LineTime[] }

export type ProfileOptions = Pick<Profile, 'name'> & { duration_ms: number }

/** Keeps the memory for samples small. */
const MOST_SAMPLES = 10_000
/** The line that the engine gives where it knows none. */
const UNKNOWN_LINE = 2 ** 32 - 1
const ROOT = path.join(import.meta.dirname, '../../..')

/** The name of a file of the product, such as `src/main.ts`. */
export function fromRoot(file: string): string {
  return path.relative(ROOT, file)
}

/**
 * Profiles this process, which goes on with its work.
 * @returns names of functions and files, and no regular expression: one may be made from words of a mail
 */
export async function profileProcess({ name, duration_ms }: ProfileOptions): Promise<Profile> {
  const before = process.cpuUsage()
  const interval_us = Math.max(1000, (duration_ms * 1000) / MOST_SAMPLES)
  const { stackTraces } = await sampleStacks(() => sleep(duration_ms), interval_us)
  const { user, system } = process.cpuUsage(before)
  const lines = new Map<string, LineTime>()
  for (const { frames } of stackTraces.traces) {
    const seen = new Set<string>()
    // Functions of the engine count for the file that called them.
    for (const { name, sourceURL, line } of frames.filter((frame) => path.isAbsolute(frame.sourceURL ?? ''))) {
      const file = fromRoot(sourceURL!)
      if (line === UNKNOWN_LINE || seen.has(`${file} ${name}`)) continue
      const key = `${file} ${name} ${line}`
      const known = lines.get(key) ?? { file, name, line, self: 0, total: 0 }
      if (seen.size === 0) known.self++
      known.total++
      seen.add(`${file} ${name}`)
      lines.set(key, known)
    }
  }
  return { name, processor_ms: Math.round((user + system) / 1000), lines: [...lines.values()] }
}
