/** The Host header over real connections: no decision depends on it, so it opens no way around a check. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { createApp } from '../../src/app'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { type ChangedSettings, withSettings } from '../support/settings'

const LIMIT = 10_000

let settings: ChangedSettings
let app: ReturnType<typeof createApp>
let organization: Organization

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
  settings = withSettings({ RATE_LIMIT_PER_MINUTE: LIMIT, SESSION_RATE_LIMIT_PER_MINUTE: LIMIT })
  app = createApp(async () => true)
  app.listen({ port: 0, hostname: '127.0.0.1' })
})
afterAll(async () => {
  settings.restore()
  await app.server?.stop(true)
  await stopApi()
})

/** Missing, empty, no host at all, one that no URL can have, and ones that are very short. */
const HOSTS = [
  ...[null, '', 'a/b', 'x?', 'u@x', 'x#', 'a b', '/', '@', 'x:80/api/v1', '[::1', 'x:99999', '%zz', ':80', '1.2.3.4.5'],
  ...['a', 'api', 'desk.example.com', '[::1]:80'],
]

test.each(HOSTS)('a request for host %p is served, known by its token and counted', async (host) => {
  const { agent } = organization
  const known = await ask(host, 'GET', '/api/v1/labels?page=1', agent.token)
  expect([known.status, known.body.meta.page, known.limit]).toEqual([200, 1, String(LIMIT)])
  const one = await ask(host, 'PATCH', `/api/v1/tickets/${agent.user_id}`, agent.token, { status: 'open' })
  expect([one.status, one.body.error.code, one.limit]).toEqual([404, 'TICKET_NOT_FOUND', String(LIMIT)])
  const made = await ask(host, 'POST', '/api/v1/contacts', agent.token, {})
  expect([made.status, made.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  const stranger = await ask(host, 'GET', '/api/v1/labels')
  expect([stranger.status, stranger.body.error.code, stranger.limit]).toEqual([401, 'INVALID_TOKEN', String(LIMIT)])
  expect((await ask(host, 'GET', '/healthz')).body).toMatchObject({ status: 'ok' })
})

test.each(HOSTS)('a path for host %p leads nowhere else than it says', async (host) => {
  const credentials = { email: 'nobody@deskwire.example', password: 'not the password' }
  for (const before of ['/x', '/xx', '/xxx', '/xxxxxxxxxx', '//localhost']) {
    const answer = await ask(host, 'POST', `${before}/api/v1/auth/login`, undefined, credentials)
    expect([before, answer.status, answer.body.error.code]).toEqual([before, 404, 'NOT_FOUND'])
  }
})

/** One request on a new connection. @param host null sends no header, as HTTP/1.0 allows */
async function ask(host: string | null, method: string, path: string, token?: string, body?: unknown) {
  const content = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.${host === null ? 0 : 1}`,
    ...(host === null ? [] : [`host: ${host}`]),
    ...(token ? [`authorization: Bearer ${token}`] : []),
    ...(content ? ['content-type: application/json', `content-length: ${content.length}`] : []),
    'connection: close',
  ]
  const socket = connect({ port: app.server!.port!, host: '127.0.0.1' })
  socket.write(`${lines.join('\r\n')}\r\n\r\n${content}`)
  let text = ''
  for await (const chunk of socket) text += chunk
  const [head = '', answer = ''] = text.split('\r\n\r\n')
  return {
    status: Number(head.split(' ')[1]),
    limit: /^x-ratelimit-limit: (.*)$/im.exec(head)?.[1],
    body: JSON.parse(answer),
  }
}
