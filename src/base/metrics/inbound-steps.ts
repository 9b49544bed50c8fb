/** Times the steps of an inbound message: for its log line, as spans, and in one histogram. */
import { Histogram } from 'prom-client'
import { beginSpan, currentTraceparent } from '../tracing/trace'

const durations = new Histogram({
  name: 'deskwire_inbound_step_seconds',
  help: 'Time that filed messages spent in each step',
  labelNames: ['step'],
  buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
})

/**
 * - `wait`: for a turn, a parser process, the message that it answers, or the transaction;
 * - `parse`: in the parser process, with the way there and back;
 * - `check`: who wrote it, from the database and DNS;
 * - `store`: reads the original, writes the attachments;
 * - `file`: the transaction, which messages of an organization may share.
 */
type Step = 'wait' | 'parse' | 'check' | 'store' | 'file'

/** Knows in which step a message is: always in one, first in `wait`. A step may be entered several times. */
export class InboundSteps {
  /** The trace of its session, because messages are filed together. */
  readonly traceparent = currentTraceparent()
  readonly #took_ms = { wait: 0, parse: 0, check: 0, store: 0, file: 0 }
  #step: Step = 'wait'
  #since_ms = performance.now()
  #span = this.#beginSpan()

  /** Ends the present step and begins the next one. */
  enter(step: Step): void {
    this.leave()
    this.#step = step
    this.#span = this.#beginSpan()
  }

  /** Ends the present step; its span is sent also when the message is not filed. */
  leave(): void {
    const now_ms = performance.now()
    this.#took_ms[this.#step] += now_ms - this.#since_ms
    this.#since_ms = now_ms
    this.#span?.end()
    this.#span = undefined
  }

  /** Ends the last step of a message that is filed, and counts all. @returns milliseconds, for the log */
  finish() {
    this.leave()
    const took = Object.entries(this.#took_ms)
    for (const [step, ms] of took) durations.observe({ step }, ms / 1000)
    const took_ms = took.reduce((sum, [, ms]) => sum + ms, 0)
    return Object.fromEntries([...took, ['took', took_ms] as const].map(([step, ms]) => [`${step}_ms`, Math.round(ms)]))
  }

  #beginSpan() {
    return beginSpan({ name: `${this.#step} mail`, kind: 'internal', parent: this.traceparent })?.span
  }
}
