/** The events of the typed client: each once and in order, whatever happens to connections. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { newId } from '../../src/base/db/columns'
import { endStreams } from '../../src/delivery/events/follow'
import { api, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createProgram, type Program } from '../support/api-keys'
import { emit } from '../support/webhooks'

/** As the client has them: its types need the schema that is generated. */
type DeskwireEvent = { event: string; cursor: string; data: { id: string } }
type EventsQuery = {
  cursor?: string
  start?: string
  types?: string[]
  signal?: AbortSignal
  onRetry?(why: Error, wait_s: number): void
}

type Handler = (request: Request) => Response | Promise<Response>

let dir: string
let server: Bun.Server<undefined>
/** Stands between the client and the API. */
let handle: Handler
const pass: Handler = (request) => api().handle(request)
let own: Organization
let program: Program

beforeAll(async () => {
  await startApi()
  server = serve(0)
  dir = mkdtempSync(path.join(tmpdir(), 'deskwire-events-'))
  const client = await api().handle(new Request('http://localhost/client.ts'))
  writeFileSync(path.join(dir, 'deskwire.ts'), await client.text())
  symlinkSync(path.join(import.meta.dir, '../../node_modules'), path.join(dir, 'node_modules'))
})
afterAll(async () => {
  await server.stop(true)
  await stopApi()
  rmSync(dir, { recursive: true })
})
beforeEach(async () => {
  handle = pass
  own = await createOrganization()
  program = await createProgram(own.admin, ['tickets:read', 'contacts:read'])
})

const serve = (port: number) => Bun.serve({ port, hostname: '127.0.0.1', fetch: (request) => handle(request) })

async function follow(query: EventsQuery, key = program.key): Promise<AsyncGenerator<DeskwireEvent>> {
  const { followEvents } = await import(path.join(dir, 'deskwire.ts'))
  return followEvents({ url: `${server.url.origin}/`, key }, query)
}

async function happen(count: number, type: 'ticket.updated' | 'contact.created' = 'ticket.updated') {
  const ids = Array.from({ length: count }, newId)
  for (const id of ids) await emit(own.scope, { id }, type)
  return ids
}

/** The next events, and the cursor of the last. */
async function take(query: EventsQuery, count: number) {
  const events: DeskwireEvent[] = []
  for await (const event of await follow(query)) if (events.push(event) >= count) break
  return { ids: events.map(({ data }) => data.id), cursor: events.at(-1)!.cursor, events }
}

const isStream = (request: Request) => new URL(request.url).pathname.endsWith('/stream')

/** Answers some bytes of a stream. */
function cut({ body }: Response, bytes: number): Response {
  let left = bytes
  const some = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (left <= 0) return controller.terminate()
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
    },
  })
  return new Response(body!.pipeThrough(some), { headers: { 'content-type': 'text/event-stream' } })
}

test('it begins now by default, waits for what happens, and break ends the connection', async () => {
  await happen(1)
  const open: AbortSignal[] = []
  handle = (request) => {
    open.push(request.signal)
    return pass(request)
  }
  const events = await follow({})
  const next = events.next()
  while (open.length < 2) await Bun.sleep(5)
  const [id] = await happen(1)
  const { value } = await next
  expect(value).toMatchObject({ event: 'ticket.updated', organization_id: own.id, data: { id } })
  await events.return(undefined)
  while (!open[1]!.aborted) await Bun.sleep(5)
})

test('through cuts in the middle of events, ends and a service that is away, each event comes once and in order', async () => {
  const ids = await happen(40)
  let asked = 0
  let is_away = true
  handle = async (request) => {
    if (is_away) return new Response('no JSON', { status: 502 })
    asked++
    const answer = await pass(request)
    return isStream(request) && asked < 20 ? cut(answer, 700 + asked * 50) : answer
  }
  const told: [string, number][] = []
  const seen: string[] = []
  const onRetry = (why: Error, wait_s: number) => {
    is_away = told.push([why.message, wait_s]) < 2
  }
  for await (const event of await follow({ start: 'oldest', onRetry })) {
    seen.push(event.data.id)
    if (seen.length === 20) {
      const { port } = server
      await server.stop(true)
      server = serve(port!)
    }
    if (seen.length === 30) endStreams()
    if (seen.length === 40) ids.push(...(await happen(5)))
    if (seen.length === 45) break
  }
  expect(seen).toEqual(ids)
  expect(told[0]![0]).toContain('no answer that can be read')
  // While nothing comes the pauses grow.
  expect(told[1]![1]).toBeGreaterThan(told[0]![1])
})

test('from the cursor of any event it goes on behind it, by stream and by pages', async () => {
  const ids = await happen(30)
  const query = { types: ['ticket.updated'], start: 'oldest' }
  await happen(1, 'contact.created')
  const streamed = await take(query, 12)
  expect((await take({ ...query, cursor: streamed.cursor }, 18)).ids).toEqual(ids.slice(12))
  let pages = 0
  handle = (request) => {
    if (isStream(request)) return Response.json({}, { status: 429, headers: { 'retry-after': '15' } })
    pages++
    return pass(request)
  }
  let cursor: string | undefined = streamed.cursor
  const seen = []
  // A program that is stopped again and again in the middle of a page.
  for (let n = 0; n < 6; n++) {
    const part: Awaited<ReturnType<typeof take>> = await take({ ...query, cursor }, 3)
    seen.push(...part.ids)
    cursor = part.cursor
  }
  expect(seen).toEqual(ids.slice(12))
  expect(pages).toBe(6)
  handle = pass
  const [last] = await happen(1)
  expect((await take({ ...query, cursor }, 1)).ids).toEqual([last!])
})

test('without streams it reads page after page, and waits as long as it is told', async () => {
  const ids = await happen(130)
  let refused = 0
  handle = (request) => {
    if (isStream(request)) return Response.json({}, { status: 429 })
    if (refused++ === 1) return Response.json({}, { status: 429, headers: { 'retry-after': '1' } })
    return pass(request)
  }
  const waits: number[] = []
  const onRetry = (_: Error, wait_s: number) => void waits.push(wait_s)
  expect((await take({ start: 'oldest', onRetry }, 130)).ids).toEqual(ids)
  expect(waits).toEqual([1])
})

test('a signal ends it without an error, while it waits or works', async () => {
  await happen(3)
  for (const when of ['before', 'works', 'waits']) {
    const stop = new AbortController()
    if (when === 'before') stop.abort()
    let seen = 0
    for await (const _ of await follow({ start: 'oldest', signal: stop.signal })) {
      seen++
      if (when === 'works') stop.abort()
      else if (seen === 3) setTimeout(() => stop.abort(), 20)
    }
    expect([when, seen]).toEqual([when, when === 'before' ? 0 : when === 'works' ? 1 : 3])
  }
})

test('what no repetition mends is thrown: a wrong key, type, right or cursor, and a key that ends meanwhile', async () => {
  const first = async (query: EventsQuery, key?: string) => (await follow(query, key)).next()
  expect(first({}, 'dk_x')).rejects.toMatchObject({ name: 'DeskwireError', code: 'INVALID_TOKEN' })
  expect(first({ types: ['message.created'] })).rejects.toMatchObject({ details: { required: 'messages:read' } })
  expect(first({ cursor: 'x' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  expect(first({ start: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
  const events = await follow({ start: 'oldest' })
  await happen(1)
  await events.next()
  const next = events.next()
  await own.admin.delete(`/api-keys/${program.id}`)
  await expect(next).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})
