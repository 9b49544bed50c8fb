/** BASE_URL with a path: a proxy serves below it, and takes it away. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { api, createOrganization, startApi, stopApi } from '../support/api'
import { uploadFile } from '../support/factories'
import { type Front, startFront, WHY_NO_HAPROXY } from '../support/haproxy'
import { createMailbox } from '../support/mail'
import { withSettings } from '../support/settings'

if (WHY_NO_HAPROXY) console.warn(`not tested below a path: ${WHY_NO_HAPROXY}`)

let server: Bun.Server<undefined>
let front: Front
let settings: Disposable

beforeAll(async () => {
  await startApi()
  if (WHY_NO_HAPROXY) return
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  front = await startFront(server.port!, [], '/help/desk')
  settings = withSettings({ BASE_URL: front.url })
})
afterAll(async () => {
  settings?.[Symbol.dispose]()
  await front?.stop()
  await server?.stop(true)
  await stopApi()
})

test.skipIf(!!WHY_NO_HAPROXY).each(['/', '/console/frame', '/swagger', '/invitation', '/password-reset'])(
  'every file that %s names is found below the path',
  async (page) => {
    const url = `${front.url}${page}`
    const html = await (await fetch(url)).text()
    const names = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) expect([name, (await fetch(new URL(name, url))).status]).toEqual([name, 200])
  },
)

test.skipIf(!!WHY_NO_HAPROXY)(
  'the documentation reads its document, which names the path, below the path',
  async () => {
    const script = await (await fetch(`${front.url}/swagger/start.js`)).text()
    const name = /url: '([^']+)'/.exec(script)![1]!
    const answer = await fetch(new URL(name, `${front.url}/swagger`))
    expect((await answer.json()).servers[0].url).toBe('/help/desk')
  },
)

test.skipIf(!!WHY_NO_HAPROXY)('the URL of an inlet, and that of a file, lead to the service', async () => {
  const { admin } = await createOrganization()
  const mailbox = await createMailbox(admin)
  const inlet = await admin.post(`/mailboxes/${mailbox.id}/inlet`, { provider: 'raw' })
  expect(inlet.body.data.url).toStartWith(`${front.url}/api/v1/inbound/`)
  const taken = await fetch(inlet.body.data.url, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822' },
    body: 'From: carla@customer.example\r\nSubject: Hello\r\n\r\nHello\r\n',
  })
  expect(taken.status).toBe(200)
  const { url } = await uploadFile(admin, 'A note')
  expect(await (await fetch(url)).text()).toBe('A note')
})
