/** Measures attempts of webhook deliveries, and shows when their failures count as a fault of our own network. */
import { Counter, Gauge, Histogram } from 'prom-client'
import { outageWatch } from './outage'
import type { WebhookFault } from './post'

const attempts = new Histogram({
  name: 'deskwire_webhook_attempt_duration_seconds',
  help: 'From the lookup of the receiver to its headers or the failure',
  labelNames: ['outcome'],
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})

const exhausted = new Counter({
  name: 'deskwire_webhook_deliveries_exhausted_total',
  help: 'Deliveries whose last attempt failed, which makes their webhook a failed one',
})

new Gauge({
  name: 'deskwire_webhook_outage',
  help: '1 while receivers that cannot be reached are taken for a fault of our own network',
  collect() {
    this.set(outageWatch.isOurs() ? 1 : 0)
  },
})

/** @param error null for an attempt that succeeded */
export function observeAttempt(error: WebhookFault | null, duration_ms: number): void {
  attempts.observe({ outcome: error ?? 'success' }, duration_ms / 1000)
}

/** Counts a delivery that has no attempt left. */
export function countExhausted(): void {
  exhausted.inc()
}
