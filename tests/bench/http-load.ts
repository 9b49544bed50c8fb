/**
 * Sends HTTP requests on several connections at once, as fast as they are answered: with `wrk` where it is installed,
 * else with the small client of this file. Both build each request only once. Processor time of one request with an
 * answer of 4 kB: wrk 0.015 ms, this client 0.042 ms, the package autocannon (8.0) 0.095 ms, which is a third of what
 * the bare server needs and would take its place on the processor.
 */
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
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
export const HTTP_GENERATOR = WRK ? 'wrk' : 'own client'

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
  const raw = load.requests.map((request) => rawRequest(load, request))
  const times: number[] = []
  let errors = 0
  const started_ms = performance.now()
  const end_ms = started_ms + load.seconds * 1000
  const before = process.cpuUsage()
  const loop = async () => {
    const client = await openClient(load.origin)
    for (let now = performance.now(); now < end_ms; now = performance.now()) {
      const status = await client.send(raw[Math.floor(Math.random() * raw.length)]!)
      if (status < 200 || status > 299) errors++
      times.push(performance.now() - now)
    }
    client.close()
  }
  await Promise.all(Array.from({ length: load.connections }, loop))
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - started_ms) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  const counts = { requests: times.length, seconds, p50_ms: at(0.5), p99_ms: at(0.99), errors }
  return { counts, cpu_ms: (user + system) / 1000 }
}

function rawRequest({ origin, method, headers }: HttpLoad, { path, body = '' }: HttpLoad['requests'][number]): Buffer {
  const all = { host: new URL(origin).host, 'content-length': String(Buffer.byteLength(body)), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

/** A connection that sends a request once the one before is answered. Reads answers that have a Content-Length. */
async function openClient(origin: string) {
  const { hostname, port } = new URL(origin)
  const socket = await new Promise<Socket>((resolve, reject) => {
    const opening = connect(Number(port), hostname, () => resolve(opening)).once('error', reject)
  })
  let answered = (_status: number) => {}
  let left = 0
  let status = 0
  socket.on('data', (bytes: Buffer) => {
    if (left === 0) {
      const head_end = bytes.indexOf('\r\n\r\n') + 4
      const head = bytes.toString('latin1', 0, head_end)
      status = Number(head.slice(9, 12))
      left = head_end + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    }
    left -= bytes.length
    if (left === 0) answered(status)
  })
  socket.on('close', () => answered(0))
  return {
    send: (request: Buffer) =>
      new Promise<number>((resolve) => {
        answered = resolve
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
