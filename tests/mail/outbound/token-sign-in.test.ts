/** Mailboxes that sign in to their server with access tokens (OAuth2). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { SYSTEM } from '../../../src/base/scope'
import { ask } from '../../../src/delivery/webhooks/ask'
import { getLetterSmtp } from '../../../src/mail/mailboxes/queries'
import { requestToken } from '../../../src/mail/outbound/request-token'
import { createProgram } from '../../support/api-keys'
import { issueCertificate } from '../../support/certificates'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { createMailbox, drain } from '../../support/mail'
import { startRawSmtp } from '../../support/raw-smtp'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { type SmtpSink, startSmtpSink } from '../../support/smtp'
import { startTokenServer, type TokenServer } from '../../support/token-server'

const USER = 'desk@example.com'
const SECRETS = ['the client secret', 'the first refresh token']
let desk: StartedDesk
let settings: ChangedSettings
let provider: TokenServer
let sink: SmtpSink

beforeAll(async () => {
  settings = withSettings({ MAIL_CA_FILE: (await issueCertificate()).ca_file })
  desk = await startDesk({ smtp: null })
})
beforeEach(async () => {
  provider = await startTokenServer()
  sink = await startSmtpSink({ tls: 'tls', auth: { user: USER, tokens: provider.tokens } })
})
afterAll(async () => {
  settings.restore()
  await desk.stop()
})

function auth(fields: Record<string, unknown> = {}) {
  const secrets = { client_secret: SECRETS[0], refresh_token: SECRETS[1] }
  const token_url = provider.url
  return { type: 'oauth2', grant: 'refresh_token', token_url, client_id: 'desk', scope: 'smtp', ...secrets, ...fields }
}

function smtp(fields: Record<string, unknown> = {}, port = sink.port) {
  return { host: '127.0.0.1', port, security: 'tls', username: USER, auth: auth(), ...fields }
}

function mailbox(fields: Record<string, unknown> = {}) {
  return createMailbox(desk.admin, { is_default: true, smtp: smtp(), ...fields })
}

async function write() {
  const { id: contact_id } = await createContact(desk.agent)
  const ticket = await createTicket(desk.agent, { contact_id })
  const { id } = await createMessage(desk.agent, ticket.id)
  return async () => (await desk.agent.get(`/tickets/${ticket.id}/messages/${id}`)).body.data
}

async function sendingOf({ id }: { id: string }) {
  return (await desk.admin.get(`/mailboxes/${id}`)).body.data.sending
}

async function tryNow() {
  await connection().sql`update lane_faults set try_at = now()`
  await drain()
}

/** Ends the token that is in use. */
async function endToken({ id }: { id: string }) {
  await connection().sql`update mailbox_sign_ins set access_token_until = now() where id = ${id}`
}

describe('tokens', () => {
  test('are asked for by a form, used by XOAUTH2 until a minute before their end, and shared', async () => {
    const one = await mailbox()
    const messages = await Promise.all([write(), write(), write()])
    await drain()
    for (const read of messages) expect(await read()).toMatchObject({ email_status: 'sent' })
    expect(sink.messages).toHaveLength(3)
    expect(sink.messages[0]).toMatchObject({ user: USER, tls: true })
    const [client_secret, refresh_token] = SECRETS
    const form = { grant_type: 'refresh_token', client_id: 'desk', scope: 'smtp', client_secret, refresh_token }
    expect(provider.asked).toEqual([form] as Record<string, string>[])
    const [{ left_s }] = await connection().sql<[{ left_s: number }]>`
      select extract(epoch from access_token_until - now())::int as left_s from mailbox_sign_ins where id = ${one.id}`
    expect(left_s).toBeWithin(3500, 3541)
    expect((await desk.admin.post(`/mailboxes/${one.id}/test`)).body.data).toMatchObject({ ok: true, error: null })
    expect(provider.asked).toHaveLength(1)
  })

  test('without an end are used for an hour; the client has its own grant', async () => {
    provider.more = { expires_in: undefined, refresh_token: 'not of this grant' }
    const one = await mailbox({ smtp: smtp({ auth: auth({ grant: 'client_credentials', refresh_token: null }) }) })
    expect((await desk.admin.post(`/mailboxes/${one.id}/test`)).body.data.ok).toBe(true)
    const { grant_type, refresh_token } = provider.asked[0]!
    expect({ grant_type, refresh_token }).toEqual({ grant_type: 'client_credentials', refresh_token: undefined })
    const [row] = await connection().sql<[{ left_s: number; refresh_token: null }]>`
      select extract(epoch from access_token_until - now())::int as left_s, refresh_token
      from mailbox_sign_ins where id = ${one.id}`
    expect(row.left_s).toBeWithin(3590, 3601)
    expect(row.refresh_token).toBeNull()
  })

  test('are fetched by one at a time, and a new refresh token is the next one that is used', async () => {
    const one = await mailbox()
    for (const number of [1, 2, 3]) {
      provider.more = { refresh_token: `refresh-${number}` }
      await endToken(one)
      const tests = await Promise.all(Array.from({ length: 6 }, () => desk.admin.post(`/mailboxes/${one.id}/test`)))
      expect(tests.map(({ body }) => body.data.ok)).toEqual(Array(6).fill(true))
    }
    expect(provider.most_at_once).toBe(1)
    expect(provider.asked.map((form) => form.refresh_token)).toEqual([SECRETS[1]!, 'refresh-1', 'refresh-2'])
  })

  test('that a server refuses are fetched anew once; then it is a fault of the mailbox', async () => {
    const one = await mailbox()
    await desk.admin.post(`/mailboxes/${one.id}/test`)
    provider.tokens.clear()
    const read = await write()
    await drain()
    expect(await read()).toMatchObject({ email_status: 'sent' })
    expect(provider.asked).toHaveLength(2)

    provider.answer = () => Response.json({ access_token: `wrong-${provider.asked.length}` })
    provider.tokens.clear()
    await desk.admin.patch(`/mailboxes/${one.id}`, { smtp: smtp() })
    const waiting = await write()
    await drain()
    expect(await waiting()).toMatchObject({ email_status: 'queued', email_error: expect.stringMatching(/^535/) })
    expect(provider.asked).toHaveLength(4)
    provider.answer = undefined
    await tryNow()
    expect(await waiting()).toMatchObject({ email_status: 'sent', email_error: null })
    expect((await sendingOf(one)).ok).toBe(true)
  })

  test('go by OAUTHBEARER where it is offered', async () => {
    let is_first = true
    const said: string[] = []
    using server = await startRawSmtp({
      tls: true,
      extensions: ['AUTH PLAIN XOAUTH2 OAUTHBEARER'],
      answer: (line) => {
        if (line === 'AQ==') return '535 5.7.8 Over'
        const [, credentials] = /^AUTH OAUTHBEARER (.*)$/.exec(line) ?? []
        if (credentials === undefined) return undefined
        said.push(Buffer.from(credentials, 'base64').toString())
        const is_over = is_first
        is_first = false
        return is_over ? '334 eyJzdGF0dXMiOiJpbnZhbGlkX3Rva2VuIn0=' : '235 2.7.0 Welcome'
      },
    })
    const username = 'a=b,c@example.com'
    const one = await mailbox({ smtp: smtp({ username }, server.port) })
    expect((await desk.admin.post(`/mailboxes/${one.id}/test`)).body.data).toMatchObject({ ok: true })
    const rest = `\x01host=127.0.0.1\x01port=${server.port}\x01auth=Bearer token-`
    expect(said).toEqual([1, 2].map((number) => `n,a=a=3Db=2Cc@example.com,${rest}${number}\x01\x01`))
  })
})

describe('without a token the mailbox is at fault, its mail waits, and the reason is shown:', () => {
  const secrets = SECRETS.join(' ')
  test.each<[string, () => Response | Promise<Response>, RegExp]>([
    [
      'an OAuth error',
      () => Response.json({ error: 'invalid_grant', error_description: `Gone ${secrets}` }, { status: 400 }),
      /^token: .*400 invalid_grant: Gone \*\*\* \*\*\*$/,
    ],
    ['a redirect', () => Response.redirect('https://127.0.0.1:1/', 307), /^token: the server answers 307$/],
    ['a huge answer', () => new Response('x'.repeat(10_000_000)), /^token: the answer is too long$/],
    ['no JSON', () => new Response('hello'), /^token: there is none/],
    ['a token that would write a line', () => Response.json({ access_token: 'a\r\nQUIT' }), /^token: there is none/],
  ])('%s', async (_, answer, error) => {
    provider.answer = answer
    const one = await mailbox()
    const read = await write()
    await drain()
    const email_error = expect.stringMatching(error)
    expect(await read()).toMatchObject({ email_status: 'queued', email_error })
    expect(await sendingOf(one)).toMatchObject({ ok: false, error: email_error, queued: 1 })
    expect((await desk.admin.post(`/mailboxes/${one.id}/test`)).body.data).toMatchObject({
      ok: false,
      error: email_error,
    })
    provider.answer = undefined
    await tryNow()
    expect(await read()).toMatchObject({ email_status: 'sent' })
  })

  test('addresses that are not public are not asked, unless the operator allows their network', async () => {
    using _ = withSettings({ MAIL_ALLOWED_NETWORKS: [] })
    const hosts = ['127.0.0.1', '169.254.169.254', '[::ffff:127.0.0.1]', 'localhost', '10.0.0.1']
    for (const host of hosts) {
      const token_url = `https://${host}:${new URL(provider.url).port}/token`
      const asked = requestToken({ ...auth({ token_url }), grant: 'refresh_token', token_url } as never)
      expect(asked).rejects.toThrow('the server has an address that may not be reached')
      await asked.catch(() => {})
    }
    expect(provider.asked).toHaveLength(0)
  })
})

test('a server that is silent is waited for no longer than is allowed', async () => {
  provider.answer = () => new Promise(() => {})
  const ca = await Bun.file((await issueCertificate()).ca_file).text()
  const allowed = [ipaddr.parseCIDR('127.0.0.0/8')]
  const started = performance.now()
  const asked = ask(provider.url, { method: 'POST', body: '' }, { allowed, ca, most_bytes: 100, timeout_ms: 300 })
  expect(await asked.catch((error) => error.message)).toBe('no answer in time')
  expect(performance.now() - started).toBeLessThan(3000)
})

describe('settings', () => {
  test('show no secret, and neither do audit log and database', async () => {
    const one = await mailbox()
    await desk.admin.post(`/mailboxes/${one.id}/test`)
    const { client_secret: _, refresh_token: __, ...shown } = auth()
    expect(one.smtp.auth).toEqual({ ...shown, has_client_secret: true, has_refresh_token: true })
    await desk.admin.patch(`/mailboxes/${one.id}`, { smtp: smtp({ auth: auth({ client_secret: 'another secret' }) }) })
    const { sql } = connection()
    const audit = await sql`select * from audit_log where organization_id = ${desk.id}`
    const rows = await sql`select * from mailbox_sign_ins`
    const { body } = await desk.admin.get('/mailboxes')
    for (const text of [audit, rows, body].map((all) => JSON.stringify(all))) {
      for (const secret of [...SECRETS, 'another secret', 'token-']) expect(text).not.toContain(`${secret}`)
    }
    expect(JSON.stringify(audit)).toContain('mailbox.updated')
  })

  test('keep the secrets as long as server, user, grant, address and client stay', async () => {
    const one = await mailbox()
    const patch = (fields: Record<string, unknown>) => desk.admin.patch(`/mailboxes/${one.id}`, { smtp: fields })
    const { client_secret: _, refresh_token: __, ...kept } = auth()
    expect((await patch(smtp({ auth: { ...kept, scope: 'other' } }))).body.data.smtp.auth).toMatchObject({
      scope: 'other',
      has_client_secret: true,
      has_refresh_token: true,
    })
    const others = [
      smtp({ auth: { ...kept, token_url: 'https://evil.example/token' } }),
      smtp({ auth: { ...kept, client_id: 'other' } }),
      smtp({ auth: { ...kept, grant: 'client_credentials' } }),
      smtp({ auth: kept, host: 'evil.example' }),
      smtp({ auth: kept, username: 'other' }),
    ]
    for (const other of others) {
      const answer = await patch(other)
      expect(answer).toMatchObject({ status: 422, body: { error: { code: 'VALIDATION_ERROR' } } })
      const paths = answer.body.error.details.errors.map(({ path }: { path: string }) => path)
      expect(paths).toEqual(['/smtp/auth/client_secret', '/smtp/auth/refresh_token'])
    }
    const none = { client_secret: null, refresh_token: null }
    const cleared = await patch(smtp({ auth: { ...kept, client_id: 'other', ...none } }))
    expect(cleared.body.data.smtp.auth).toMatchObject({ has_client_secret: false, has_refresh_token: false })
    const password = await patch({ ...smtp(), auth: null, password: 'now a password' })
    expect(password.body.data.smtp.auth).toBeNull()
    expect(await connection().sql`select 1 from mailbox_sign_ins where id = ${one.id}`).toHaveLength(0)
    expect((await patch(smtp())).body.data.smtp.auth.has_client_secret).toBe(true)
    const [row] = await connection().sql`select smtp_password from mailboxes where id = ${one.id}`
    expect(row!.smtp_password).toBeNull()
  })

  test('are refused with all that is wrong', async () => {
    const body = (fields: Record<string, unknown>) => {
      return desk.admin.post('/mailboxes', { address: `x.${newId()}@desk.example`, smtp: smtp(fields) })
    }
    const pathsOf = async (fields: Record<string, unknown>) => {
      const { status, body: answer } = await body(fields)
      return [status, ...(answer.error?.details.errors ?? []).map(({ path }: { path: string }) => path)]
    }
    const together = { username: null, password: 'p', security: 'none' }
    expect(await pathsOf(together)).toEqual([422, '/smtp/username', '/smtp/password', '/smtp/security'])
    expect((await body({ auth: auth({ token_url: 'http://127.0.0.1/' }) })).body.error.code).toBe('INVALID_URL')
    const wrong = { type: 'basic', grant: 'password', client_id: '', client_secret: 'x'.repeat(4097) }
    const paths = ['type', 'grant', 'client_id', 'client_secret'].map((name) => `/smtp/auth/${name}`)
    expect((await pathsOf({ auth: auth(wrong) })).toSorted()).toEqual([422, ...paths].toSorted())
    expect((await body({ auth: auth({ client_secret: 'x'.repeat(4096) }) })).status).toBe(201)
  })

  test('that a key has set carry no letters, and go with their mailbox', async () => {
    const one = await mailbox()
    const scope = { ...connection(), organization_id: desk.id, actor: SYSTEM }
    expect(await getLetterSmtp(scope, one.id)).not.toBeNull()
    const key = await createProgram(desk.admin, ['mailboxes:write'])
    await key.patch(`/mailboxes/${one.id}`, { smtp: smtp({ auth: auth({ token_url: 'https://evil.example/' }) }) })
    expect(await getLetterSmtp(scope, one.id)).toBeNull()
    await desk.admin.delete(`/mailboxes/${one.id}`)
    expect(await connection().sql`select 1 from mailbox_sign_ins where id = ${one.id}`).toHaveLength(0)
  })
})
