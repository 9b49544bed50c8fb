/** The HTTP app in another runtime: bundled with standard twins in the place of `base/runtime`, and served by Deno. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createApp } from '../../src/app'
import { createDatabase, type TestDatabase } from '../support/database'
import { bundleForDeno, startUnderDeno, WHY_NO_DENO } from '../support/deno/deno'
import { readerOf } from '../support/event-reader'
import { ADMIN } from '../support/service'

if (WHY_NO_DENO) console.warn(`The app under Deno is skipped: ${WHY_NO_DENO}`)

describe.skipIf(Boolean(WHY_NO_DENO))('under Deno', () => {
  let folder: string
  let database: TestDatabase
  let served: Awaited<ReturnType<typeof startUnderDeno>>
  let token = ''

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'deno-'))
    database = await createDatabase()
    served = await startUnderDeno(await bundleForDeno(folder), settings())
  })
  afterAll(async () => {
    await served?.stop()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  const settings = () => ({ DATABASE_URL: database.url, DATA_DIR: path.join(folder, 'data'), CONSOLE: 'off' })

  async function send(method: string, name: string, body?: object): Promise<Response> {
    const is_form = body instanceof FormData
    return fetch(`${served.url}/api/v1${name}`, {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(!is_form && { 'content-type': 'application/json' }),
      },
      body: is_form ? body : body && JSON.stringify(body),
    })
  }

  test('somebody signs in, opens a ticket, finds it, answers, and sees it all in the stream', async () => {
    const wrong = await send('POST', '/auth/login', { ...ADMIN, password: 'another password' })
    expect([wrong.status, ((await wrong.json()) as Body).error.code]).toEqual([401, 'INVALID_CREDENTIALS'])
    const signed_in = await send('POST', '/auth/login', ADMIN)
    expect(signed_in.status).toBe(200)
    token = ((await signed_in.json()) as Body).access_token
    await using stream = await readerOf(await send('GET', '/events/stream'))

    const contact = await dataOf(send('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' }), 201)
    const ticket = await dataOf(send('POST', '/tickets', { subject: 'The door sticks', contact_id: contact.id }), 201)
    const found = await dataOf(send('GET', '/tickets?status=open&search=door'), 200)
    expect(found.map((one: Body) => [one.id, one.code])).toEqual([[ticket.id, 'TKT-1']])
    const body = '<p>Use <b>some</b> oil.</p><script>alert(1)</script>'
    const message = await dataOf(send('POST', `/tickets/${ticket.id}/messages`, { body, format: 'html' }), 201)
    expect(message).toMatchObject({ body_html: '<p>Use <b>some</b> oil.</p>', sender: { email: ADMIN.email } })

    const events = await stream.next(4)
    expect(events.map(({ event }) => event)).toEqual([
      undefined,
      'contact.created',
      'ticket.created',
      'message.created',
    ])
    expect(JSON.parse(events[3]!.data!).data).toMatchObject({ id: message.id })
  })

  test('a file of several pieces goes in and comes back, whole and in part', async () => {
    const bytes = new Uint8Array(3_000_000).map((_, n) => n % 251)
    const form = new FormData()
    form.append('file', new Blob([bytes]), 'picture.bin')
    const { id, size } = await dataOf(send('POST', '/attachments', form), 201)
    expect(size).toBe(bytes.length)
    const content = await send('GET', `/attachments/${id}/content`)
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true)
    const part = await fetch(content.url, { headers: { authorization: `Bearer ${token}`, range: 'bytes=250-252' } })
    expect([part.status, [...(await part.bytes())]]).toEqual([206, [250, 0, 1]])
  })

  test('the document has the same operations', async () => {
    const answer = await fetch(`${served.url}/swagger/json`)
    const own = await (await createApp(async () => true).fetch(new Request('http://localhost/swagger/json'))).json()
    expect(Object.keys(((await answer.json()) as Body).paths)).toEqual(Object.keys((own as Body).paths))
  })
})

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Body = any

async function dataOf(answer: Promise<Response>, status: number): Promise<Body> {
  const text = await (await answer).text()
  expect([(await answer).status, text]).toEqual([status, expect.stringContaining('"data"')])
  return JSON.parse(text).data
}
