/** An OpenTelemetry collector on loopback: keeps the spans that it gets over OTLP/HTTP (JSON). */

export type CollectedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Record<string, string | number>
  status: number
}

type Value = { stringValue?: string; intValue?: number; doubleValue?: number }
type Sent = {
  resourceSpans: {
    resource: { attributes: { key: string; value: Value }[] }
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'status'> & {
        attributes: { key: string; value: Value }[]
        status: { code: number }
      })[]
    }[]
  }[]
}

export function startCollector() {
  const spans: CollectedSpan[] = []
  const resources: Record<string, string | number>[] = []
  const requests: { path: string; headers: Headers; text: string }[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text()
      requests.push({ path: new URL(request.url).pathname, headers: request.headers, text })
      for (const { resource, scopeSpans } of (JSON.parse(text) as Sent).resourceSpans) {
        resources.push(readAttributes(resource.attributes))
        const sent = scopeSpans.flatMap((scope) => scope.spans)
        spans.push(
          ...sent.map((one) => ({ ...one, attributes: readAttributes(one.attributes), status: one.status.code })),
        )
      }
      return Response.json({})
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    resources,
    requests,
    [Symbol.dispose]: () => void server.stop(true),
  }
}

function readAttributes(given: { key: string; value: Value }[]): Record<string, string | number> {
  return Object.fromEntries(
    given.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue ?? '']),
  )
}
