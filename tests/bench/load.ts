/** Load from many clients at once, and its figures. */
import type { Cpu } from './cpu'

/** `cpu` is that of one request. */
export type Figures = { per_s: number; p50_ms: number; p99_ms: number; errors: number; cpu: Cpu }

/**
 * Runs `work` in `clients` loops for `seconds`, after a second that does not count.
 * @param work one request; it rejects when the answer is not the one wanted
 * @param readCpu what those that are measured have used so far
 */
export async function measure(
  clients: number,
  seconds: number,
  work: (client: number) => Promise<void>,
  readCpu: () => Cpu,
): Promise<Figures> {
  const started_ms = performance.now() + 1000
  const end_ms = started_ms + seconds * 1000
  const times: number[] = []
  let errors = 0
  const before = Bun.sleep(1000).then(readCpu)
  const loop = async (client: number) => {
    for (let now = performance.now(); now < end_ms; now = performance.now()) {
      const failed = await work(client).then(
        () => false,
        () => true,
      )
      if (now < started_ms) continue
      if (failed) errors++
      else times.push(performance.now() - now)
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => loop(client)))
  const cpu = perRequest(await before, readCpu(), times.length)
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { per_s: times.length / seconds, p50_ms: at(0.5), p99_ms: at(0.99), errors, cpu }
}

function perRequest(before: Cpu, after: Cpu, requests: number): Cpu {
  return {
    server_ms: (after.server_ms - before.server_ms) / requests,
    database_ms: (after.database_ms - before.database_ms) / requests,
  }
}

/** A GET or POST that must answer with a 2xx. */
export async function request(url: string, init?: RequestInit): Promise<void> {
  const response = await fetch(url, init)
  await response.arrayBuffer()
  if (!response.ok) throw new Error(String(response.status))
}
