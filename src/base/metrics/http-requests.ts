/** Measures HTTP requests. Labels are patterns and a few words, so that the number of series stays small. */
import { Histogram } from 'prom-client'
import { config } from '../config'

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS']

const requests = new Histogram({
  name: 'deskwire_http_request_duration_seconds',
  help: 'Duration of HTTP requests',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
})

/** @param route the pattern of the path, never the path itself */
export function observeRequest(method: string, route: string, status: number, duration_ms: number): void {
  if (config.METRICS_PORT === undefined) return
  const known = METHODS.includes(method) ? method : 'other'
  requests.observe({ method: known, route, status }, duration_ms / 1000)
}
