/**
 * Traces what a request or a mail causes, across processes and the outbox, when OTEL_EXPORTER_OTLP_ENDPOINT is set.
 * Without it nothing is loaded, and each function here only looks at a variable.
 *
 * A trace goes from a request or SMTP session over the outbox, whose rows keep its context (`traceparent`), to the
 * webhook or the email. Spans hold ids, codes and words of ours: no addresses, no names, no texts, and of statements
 * their first word.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'

type Attributes = Record<string, string | number | undefined>

/** Work that is traced. */
export type Span = {
  /** Names it to others (https://www.w3.org/TR/trace-context/#traceparent-header). */
  traceparent: string
  trace_id: string
  set(attributes: Attributes): void
  rename(name: string): void
  /** @param error the kind of failure, a fixed word or the name of an error */
  end(error?: string): void
}

type NewSpan = {
  name: string
  /** `server` and `consumer` begin with what others asked for, `client` asks others, `internal` is a part of it. */
  kind: 'server' | 'consumer' | 'client' | 'internal'
  /** The span that caused it; by default the one under way. A text that is no traceparent counts as none. */
  parent?: string | null
  attributes?: Attributes
}

export type Tracer = {
  start(span: NewSpan): Span
  /** The span under way. */
  current: AsyncLocalStorage<Span>
  /** Sends what is left. Never rejects. */
  stop(timeout_ms: number): Promise<void>
}

let tracer: Tracer | undefined

/** Traces from now on. */
export function useTracer(given: Tracer): void {
  tracer = given
}

/** True when traces are on. */
export function isTracing(): boolean {
  return tracer !== undefined
}

/** The context for work that is done later; null when nothing is traced. */
export function currentTraceparent(): string | null {
  return tracer?.current.getStore()?.traceparent ?? null
}

/** The span under way; undefined when nothing is traced. */
export function currentSpan(): Span | undefined {
  return tracer?.current.getStore()
}

/** Runs `work` in a span, which ends with it. The kind of an error that `work` throws is in it. */
export async function traced<T>(span: NewSpan, work: (span?: Span) => Promise<T>): Promise<T> {
  const begun = beginSpan(span)
  if (!begun) return work()
  try {
    const result = await begun.run(() => work(begun.span))
    begun.span.end()
    return result
  } catch (error) {
    begun.span.end(error instanceof Error ? error.name : 'Error')
    throw error
  }
}

/** Begins a span that the caller ends; undefined when nothing is traced. */
export function beginSpan(span: NewSpan): { span: Span; run<T>(work: () => T): T } | undefined {
  if (!tracer) return undefined
  const { current } = tracer
  const begun = tracer.start({ ...span, parent: span.parent === undefined ? currentTraceparent() : span.parent })
  return { span: begun, run: (work) => current.run(begun, work) }
}

/** Sends what is left of traces. */
export async function stopTracing(): Promise<void> {
  await tracer?.stop(STOP_TIMEOUT_MS)
}

const STOP_TIMEOUT_MS = 2000
