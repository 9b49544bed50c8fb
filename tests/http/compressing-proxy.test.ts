/** Behind a proxy that compresses, which makes the tags of what it compresses weak (RFC 9110, section 8.8.1). */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { api, createOrganization, startApi, stopApi } from '../support/api'
import { createContact } from '../support/factories'
import { type Front, startFront, WHY_NO_HAPROXY } from '../support/haproxy'

if (WHY_NO_HAPROXY) console.warn(`not tested behind a compressing proxy: ${WHY_NO_HAPROXY}`)

let server: Bun.Server<undefined>
let front: Front

beforeAll(async () => {
  await startApi()
  if (WHY_NO_HAPROXY) return
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  front = await startFront(server.port!, ['compression algo gzip', 'compression type application/json text/css'])
})
afterAll(async () => {
  await front?.stop()
  await server?.stop(true)
  await stopApi()
})

async function desk() {
  const { agent, admin } = await createOrganization()
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${front.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${agent.token}`,
        'content-type': 'application/json',
        'accept-encoding': 'gzip',
        ...headers,
      },
      body: body && JSON.stringify(body),
    })
    const { status } = answer
    const text = await answer.text()
    return { status, tag: answer.headers.get('etag')!, data: text ? JSON.parse(text).data : undefined }
  }
  const ticket = await agent.post('/tickets', { subject: 'Printer', contact_id: (await createContact(agent)).id })
  return { agent, admin, call, path: `/tickets/${ticket.body.data.id}` }
}

test.skipIf(!!WHY_NO_HAPROXY)('If-Match with the weak form of a tag holds as long as the tag does', async () => {
  const { call, path, agent } = await desk()
  const { tag } = await call('GET', path)
  expect(tag).toMatch(/^W\/"[\w-]{27}\.[\w-]{27}"$/)
  const changed = await call('PATCH', path, { subject: 'Scanner' }, { 'if-match': tag })
  expect(changed.status).toBe(200)
  expect((await call('PATCH', path, { subject: 'Late' }, { 'if-match': tag })).status).toBe(412)
  const { tag: now } = await call('GET', path)
  expect((await call('PATCH', path, { subject: 'Of one' }, { 'if-match': `"other", ${now}` })).status).toBe(200)
  for (const forged of ['W/*', `w/${now.slice(2)}`, `W/W/${now.slice(2)}`, now.slice(3)]) {
    expect([forged, (await agent.patch(path, { subject: 'Forged' }, { 'if-match': forged })).status]).toEqual([
      forged,
      412,
    ])
  }
})

test.skipIf(!!WHY_NO_HAPROXY)(
  'a draft, a contact and a company are changed by the weak form of their tag',
  async () => {
    const { call, path } = await desk()
    const draft = await call('POST', `${path}/drafts`, { body: 'Hello' })
    const contact = await call('POST', '/contacts', { name: 'Kim', email: 'kim@customer.example' })
    const company = await call('POST', '/companies', { name: 'Acme' })
    const changes = [
      [`/drafts/${draft.data.id}`, (await call('GET', `/drafts/${draft.data.id}`)).tag, { body: 'Hello, Kim' }],
      [`/contacts/${contact.data.id}`, contact.tag, { name: 'Kim Lee' }],
      [`/companies/${company.data.id}`, company.tag, { name: 'Ajax' }],
    ] as const
    for (const [address, tag, change] of changes) {
      expect([address, tag.slice(0, 2)]).toEqual([address, 'W/'])
      const changed = await call('PATCH', address, change, { 'if-match': tag })
      expect([address, changed.status]).toEqual([address, 200])
      expect([address, (await call('PATCH', address, change, { 'if-match': tag })).status]).toEqual([address, 412])
      const gone = await call('DELETE', address, undefined, { 'if-match': changed.tag })
      expect([address, gone.status]).toEqual([address, 204])
    }
  },
)

test.skipIf(!!WHY_NO_HAPROXY)('a draft is sent by the weak form of its tag', async () => {
  const { call, path } = await desk()
  const { data } = await call('POST', `${path}/drafts`, { body: 'Hello' })
  const { tag } = await call('GET', `/drafts/${data.id}`)
  await call('PATCH', `/drafts/${data.id}`, { body: 'Hello, Kim' })
  const send = (tag: string) => call('POST', `/drafts/${data.id}/send`, { send_email: false }, { 'if-match': tag })
  expect((await send(tag)).status).toBe(412)
  expect((await send((await call('GET', `/drafts/${data.id}`)).tag)).status).toBe(201)
})

test.skipIf(!!WHY_NO_HAPROXY)(
  'If-None-Match with the weak form of a tag is answered 304, also by the console',
  async () => {
    const { call, path } = await desk()
    const { tag } = await call('GET', path)
    for (const method of ['GET', 'HEAD']) {
      expect([method, (await call(method, path, undefined, { 'if-none-match': tag })).status]).toEqual([method, 304])
    }
    const file = `${front.url}/console/console.css`
    const served = await fetch(file, { headers: { 'accept-encoding': 'gzip' } })
    const known = [
      served.headers.get('etag')!,
      `W/${served.headers.get('etag')}`,
      `"other", W/${served.headers.get('etag')}`,
      '*',
    ]
    for (const tags of known) {
      expect([tags, (await fetch(file, { headers: { 'if-none-match': tags } })).status]).toEqual([tags, 304])
    }
  },
)
