/**
 * Makes spans with the SDK of OpenTelemetry and sends them over OTLP/HTTP. Loaded only when traces are on: it takes 20
 * MB. The queue holds 2,048 spans; more are dropped, so a collector that is away costs memory for these and delays
 * nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Span as OtelSpan, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { version } from '../../../package.json'
import { config } from '../config'
import { log, safeError } from '../log'
import type { Span, Tracer } from './trace'

const KINDS = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
}

/**
 * Makes the tracer. The exporter reads OTEL_EXPORTER_OTLP_*, the resource OTEL_SERVICE_NAME and
 * OTEL_RESOURCE_ATTRIBUTES.
 */
export function createTracer(): Tracer {
  setGlobalErrorHandler(noteFailure)
  const own = resourceFromAttributes({ 'service.name': 'deskwire', 'service.version': version })
  const provider = new TracerProvider({
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    sampler: sampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  })
  const tracer = provider.getTracer('deskwire', version)
  return {
    current: new AsyncLocalStorage<Span>(),
    start({ name, kind, parent, attributes = {} }) {
      const from = parent ? parseTraceParent(parent) : null
      const context = from ? trace.setSpanContext(ROOT_CONTEXT, { ...from, isRemote: true }) : ROOT_CONTEXT
      return spanOf(tracer.startSpan(name, { kind: KINDS[kind], attributes }, context))
    },
    async stop(timeout_ms) {
      await Promise.race([provider.shutdown().catch(() => {}), sleep(timeout_ms, undefined, { ref: false })])
    },
  }
}

const FAILURE_LOGGED_EVERY_MS = 60_000
let failure_logged_ms = Number.NEGATIVE_INFINITY

/** The collector is away, or refuses what it gets. */
function noteFailure(error: unknown): void {
  if (performance.now() - failure_logged_ms < FAILURE_LOGGED_EVERY_MS) return
  failure_logged_ms = performance.now()
  log.warn({ error: safeError(error) }, 'traces cannot be sent to the collector')
}

function spanOf(span: OtelSpan): Span {
  const { traceId: trace_id, spanId, traceFlags } = span.spanContext()
  const flags = (traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01'
  return {
    traceparent: `00-${trace_id}-${spanId}-${flags}`,
    trace_id,
    set: (attributes) => void span.setAttributes(attributes),
    rename: (name) => void span.updateName(name),
    end(error) {
      if (error !== undefined) {
        span.setAttribute('error.type', error)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}

/** The SDK of this version leaves the variables of the sampler to others. */
function sampler(): Sampler {
  const [, is_parent_based, name] = /^(parentbased_)?(\w+)$/.exec(config.OTEL_TRACES_SAMPLER)!
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG)
  return is_parent_based ? new ParentBasedSampler({ root }) : root
}
