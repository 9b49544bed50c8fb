/**
 * Sends HTTP requests on several connections at once, as fast as they are answered: with `wrk` where it is installed,
 * else with `node:http`, which takes more of the processor. Of one request with an answer of 4 kB wrk takes 0.015 ms.
 */
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import path from 'node:path'

export type HttpLoad = {
  /** The server, as in `http://127.0.0.1:3000`. */
  origin: string
  method: 'GET' | 'POST' | 'PATCH'
  headers: Record<string, string>
  /** One of these is chosen at random each time. */
  requests: { path: string; body?: string }[]
  connections: number
  seconds: number
}

/** `errors` are answers that are no 2xx, and broken connections. `generator_ms` is processor time for each request. */
export type HttpFigures = {
  requests: number
  per_s: number
  p50_ms: number
  p99_ms: number
  errors: number
  generator_ms: number
}

type Counts = Pick<HttpFigures, 'requests' | 'p50_ms' | 'p99_ms' | 'errors'> & { seconds: number }

const WRK = Bun.which('wrk')

/** Names what sends. */
export const HTTP_GENERATOR = WRK ? 'wrk' : 'node:http'

/** @param dir folder for a file that wrk reads */
export async function sendHttpLoad(load: HttpLoad, dir: string): Promise<HttpFigures> {
  const { counts, cpu_ms } = WRK ? await sendWithWrk(WRK, load, dir) : await sendHere(load)
  return { ...counts, per_s: counts.requests / counts.seconds, generator_ms: cpu_ms / counts.requests }
}

async function sendWithWrk(wrk: string, load: HttpLoad, dir: string): Promise<{ counts: Counts; cpu_ms: number }> {
  const file = path.join(dir, 'wrk-requests')
  writeFileSync(file, load.requests.map((one) => `${one.path}\t${one.body ?? ''}\n`).join(''))
  const headers = Object.entries(load.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const script = path.join(import.meta.dirname, 'wrk.lua')
  const amounts = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`]
  const run = Bun.spawn([wrk, ...amounts, '-s', script, ...headers, load.origin], {
    env: { ...process.env, BENCH_REQUESTS: file, BENCH_METHOD: load.method },
    stdout: 'pipe',
  })
  const output = await new Response(run.stdout).text()
  await run.exited
  const last = output.trim().split('\n').at(-1) ?? ''
  if (!last.startsWith('{')) throw new Error(`wrk failed: ${output}`)
  return { counts: JSON.parse(last), cpu_ms: Number(run.resourceUsage()!.cpuTime.total) / 1000 }
}

async function sendHere(load: HttpLoad): Promise<{ counts: Counts; cpu_ms: number }> {
  const times: number[] = []
  let errors = 0
  const started_ms = performance.now()
  const end_ms = started_ms + load.seconds * 1000
  const before = process.cpuUsage()
  const loop = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let now = performance.now(); now < end_ms; now = performance.now()) {
      const status = await send(agent, load, load.requests[Math.floor(Math.random() * load.requests.length)]!)
      if (status < 200 || status > 299) errors++
      times.push(performance.now() - now)
    }
    agent.destroy()
  }
  await Promise.all(Array.from({ length: load.connections }, loop))
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - started_ms) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  const counts = { requests: times.length, seconds, p50_ms: at(0.5), p99_ms: at(0.99), errors }
  return { counts, cpu_ms: (user + system) / 1000 }
}

/** Sends a request. @returns the status once the answer has come, 0 without one */
function send(agent: Agent, { origin, method, headers }: HttpLoad, { path, body }: HttpLoad['requests'][number]) {
  const { promise, resolve } = Promise.withResolvers<number>()
  const sent = request(`${origin}${path}`, { agent, method, headers }, (answer) => {
    answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    answer.once('error', () => resolve(0))
  })
  sent.once('error', () => resolve(0)).end(body)
  return promise
}
