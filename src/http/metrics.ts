/** Figures for Prometheus, on a listener of their own (METRICS_PORT). */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { config } from '../config'
import { connection } from '../db/client'

const registry = new Registry()

const requests = new Histogram({
  name: 'deskwire_http_request_duration_seconds',
  help: 'Duration of HTTP requests',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers: [registry],
})

new Gauge({
  name: 'deskwire_outbox_rows',
  help: 'Work that is left in the outbox',
  labelNames: ['kind', 'state'],
  registers: [registry],
  async collect() {
    this.reset()
    const { sql } = connection()
    const rows = await sql<{ kind: string; due: number; waiting: number; parked: number }[]>`
      select kind, count(*) filter (where run_at <= now()) as due,
        count(*) filter (where run_at > now() and run_at < 'infinity') as waiting,
        count(*) filter (where run_at = 'infinity') as parked
      from outbox group by kind`
    for (const { kind, ...states } of rows) {
      for (const [state, count] of Object.entries(states)) this.set({ kind, state }, count)
    }
  },
})

new Gauge({
  name: 'deskwire_outbox_oldest_due_seconds',
  help: 'Age of the oldest due work in the outbox',
  labelNames: ['kind'],
  registers: [registry],
  async collect() {
    this.reset()
    const { sql } = connection()
    const rows = await sql<{ kind: string; age_s: number }[]>`
      select kind, extract(epoch from now() - min(run_at))::float8 as age_s from outbox
      where run_at <= now() group by kind`
    for (const { kind, age_s } of rows) this.set({ kind }, age_s)
  },
})

/** @param route the pattern of the path, never the path itself */
export function observeRequest(method: string, route: string, status: number, duration_ms: number): void {
  if (config.METRICS_PORT !== undefined) requests.observe({ method, route, status }, duration_ms / 1000)
}

/** Starts the listener when METRICS_PORT is set. */
export async function startMetrics() {
  if (config.METRICS_PORT === undefined) return undefined
  collectDefaultMetrics({ register: registry })
  return Bun.serve({
    port: config.METRICS_PORT,
    hostname: config.HOST,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/metrics') return new Response('Not found', { status: 404 })
      return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } })
    },
  })
}
