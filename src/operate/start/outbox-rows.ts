/** Shows how much work is left in the outbox, of all processes together. */
import { Gauge } from 'prom-client'
import type { DatabaseFigures } from './database-figures'

/** Registers the gauges of the outbox. */
export function showOutbox(read: () => Promise<DatabaseFigures>): void {
  new Gauge({
    name: 'deskwire_outbox_rows',
    help: 'Work that is left in the outbox',
    labelNames: ['kind', 'state'],
    async collect() {
      this.reset()
      for (const { kind, due, leased, scheduled, parked } of (await read()).outbox) {
        const counts = Object.entries({ due, leased, scheduled, parked })
        for (const [state, count] of counts) this.set({ kind, state }, count)
      }
    },
  })
  new Gauge({
    name: 'deskwire_outbox_oldest_due_seconds',
    help: 'Age of the oldest due work in the outbox; 0 when nothing is due',
    labelNames: ['kind'],
    async collect() {
      this.reset()
      for (const { kind, oldest_due_s } of (await read()).outbox) this.set({ kind }, oldest_due_s ?? 0)
    },
  })
  new Gauge({
    name: 'deskwire_outbox_oldest_queued_seconds',
    help: 'Time since the oldest work in the outbox was queued, due or not; 0 when there is none',
    labelNames: ['kind'],
    async collect() {
      this.reset()
      for (const { kind, oldest_queued_s } of (await read()).outbox) this.set({ kind }, oldest_queued_s ?? 0)
    },
  })
}
