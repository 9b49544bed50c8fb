/** How the page reads a stream of events, and follows it from connection to connection. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readEvents, type StreamedEvent } from '../../src/console/page/event-lines'
import { follow, following, onEvent, type Told } from '../../src/console/page/events'
import { until } from '../support/service'

test('events are read however their bytes are divided, and whatever ends their lines', async () => {
  const lines = [
    ': hello',
    'id: 1',
    'event: ticket.created',
    'data: {"ü":',
    'data:  1}',
    '',
    'id:2',
    '',
    'data: cut off',
  ]
  const expected: StreamedEvent[] = [
    { id: '1', event: 'ticket.created', data: '{"ü":\n 1}' },
    { id: '2', event: 'message', data: '' },
  ]
  for (const end of ['\n', '\r\n', '\r']) {
    const bytes = new TextEncoder().encode(lines.join(end))
    for (const size of [1, 2, 7, bytes.length]) {
      const heard: StreamedEvent[] = []
      const body = new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
          controller.close()
        },
      })
      await readEvents(body, (event) => heard.push(event))
      expect([end, size, heard]).toEqual([end, size, expected])
    }
  }
})

/** Answers to connections, and the ids with which they came. */
let answers: (() => Response)[] = []
const came: (string | null)[] = []
const { fetch } = globalThis

beforeAll(() => {
  globalThis.document = Object.assign(new EventTarget(), { hidden: false }) as Document
  globalThis.fetch = (async (_path: string, { headers, signal }: RequestInit) => {
    came.push(new Headers(headers).get('last-event-id'))
    return answers.shift()?.() ?? openFor(signal!)
  }) as typeof fetch
})
afterAll(() => {
  globalThis.fetch = fetch
  Reflect.deleteProperty(globalThis, 'document')
})

const stream = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } })

/** A stream that stays open. */
function openFor(signal: AbortSignal): Response {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('id: open\n\n'))
      signal.addEventListener('abort', () => controller.error(signal.reason))
    },
  })
  return new Response(body)
}

test('the page goes on behind the last id, reads anew without one, and says when no events come', async () => {
  const told: (Told | undefined)[] = []
  const states: boolean[] = []
  const ends = [onEvent((one) => told.push(one)), following.listen(() => states.push(following.value))]
  answers = [
    () => stream('id: a\n\nid: b\nevent: message.created\ndata: {"data":{"id":"m","ticket":{"id":"t"}}}\n\n'),
    () => stream('id: c\n\nevent: end\ndata: {"code":"SERVICE_UNAVAILABLE"}\n\n'),
    () => Response.json({ error: { code: 'CURSOR_EXPIRED' } }, { status: 410 }),
  ]
  const stop = follow('desk')
  await until('it stays open', () => came.length === 4 && following.value)
  stop()
  await until('it is closed', () => !following.value)
  for (const end of ends) end()
  expect(came).toEqual([null, 'b', 'c', null])
  const data = { id: 'm', ticket: { id: 't' } }
  expect(told).toEqual([{ type: 'message.created', ids: ['m', 't'], data }, undefined])
  expect(states).toEqual([true, false, true, false, true, false])
})
