/** Mail that providers bring over HTTPS. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { freeBytes } from '../../../src/base/disk/free-space'
import { log } from '../../../src/base/log'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { holdBody, releaseBody } from '../../../src/http/request/arriving-body'
import { forgetTakenRequests } from '../../../src/mail/inlets/taken-requests'
import { type Answer, expectError, stranger } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { startDns } from '../../support/dns'
import {
  basic,
  cloudmailinPost,
  mailgunForm,
  mailgunPost,
  multipart,
  openInlet,
  type Post,
  postmarkPost,
  rawPost,
  sendgridKeys,
  sendgridPost,
} from '../../support/inlets'
import { createMailbox, deliver, drain, ledgerOf, MAX_BYTES, rawMail } from '../../support/mail'
import { until } from '../../support/service'
import { withSettings } from '../../support/settings'

let desk: StartedDesk
let other: Desk
let settings: ReturnType<typeof withSettings>
const IP = '198.51.100.7'
const KEY = 'the signing key of the account'
const FROM = 'bounces@mailer.example'
const keys = sendgridKeys()

beforeAll(async () => {
  settings = withSettings({ SMTP_MAX_BYTES: MAX_BYTES })
  desk = await startDesk({ smtp: null })
  other = await desk.createDesk({ smtp: null })
})
afterAll(async () => {
  settings.restore()
  await desk.stop()
})

function mail(fields: Record<string, string> = {}, body = 'Hello'): Buffer {
  return rawMail(
    { From: 'Carla <carla@c.example>', Subject: 'S', Message_ID: `<${newId()}@x.example>`, ...fields },
    body,
  )
}

const newMailbox = () => createMailbox(desk.admin, { address: `i.${newId().slice(-12)}@desk.example` })

function post(path: string, { body, headers }: Post, more: Record<string, string> = {}): Promise<Answer> {
  return stranger().send('POST', path, body, { ...headers, ...more })
}

async function rowOf(answer: Answer) {
  expect([answer.status, answer.text]).toEqual([200, expect.stringMatching(/^{"data":{"id":"[0-9a-f-]{36}"}}$/)])
  await drain()
  return (await desk.admin.get(`/inbound-messages/${answer.body.data.id}`)).body.data
}

/** The way of each provider, with a mailbox of its own. */
async function way(provider: string) {
  const { id, address } = await newMailbox()
  const tagged = address.replace('@', '+t@')
  type At = (raw: Uint8Array, timestamp?: number) => Post
  const ways: Record<string, { key?: string; post: At; query?: string }> = {
    raw: { key: 'u:p', post: rawPost, query: `?${new URLSearchParams({ from: FROM, to: tagged, ip: IP })}` },
    postmark: { key: 'u:p', post: (raw) => postmarkPost(raw, tagged) },
    cloudmailin: { key: 'u:p', post: (raw) => cloudmailinPost(raw, { to: tagged, from: FROM, ip: IP }) },
    mailgun: { key: KEY, post: (raw, timestamp) => mailgunPost(raw, { to: tagged, from: FROM, key: KEY, timestamp }) },
    sendgrid: {
      key: keys.public_key,
      post: (raw, timestamp) =>
        sendgridPost(raw, { to: tagged, from: FROM, ip: IP, private_key: keys.private_key, timestamp }),
    },
  }
  const { key, query = '', post: make } = ways[provider]!
  const path = await openInlet(desk.admin, id, { provider, signing_key: key })
  const headers = key === 'u:p' ? basic(key) : {}
  return {
    id,
    address,
    tagged,
    path,
    send: (raw: Uint8Array) => post(path + query, make(raw), headers),
    make: (raw: Uint8Array) => make(raw),
    at: make,
    query,
  }
}

describe.each(['raw', 'postmark', 'cloudmailin', 'mailgun', 'sendgrid'])('%s', (provider) => {
  test('brings an email byte by byte, with its envelope, once however often it is posted', async () => {
    const { send, tagged, id } = await way(provider)
    // JSON holds no other bytes than UTF-8.
    const raw = Buffer.concat([mail(), Buffer.from('Grüße', provider === 'postmark' ? 'utf8' : 'latin1')])
    const row = await rowOf(await send(raw))
    const told = provider === 'postmark' ? { envelope_from: null } : { envelope_from: FROM }
    const has_ip = provider !== 'postmark' && provider !== 'mailgun'
    expect(row).toMatchObject({
      ...told,
      mailbox: { id },
      recipients: [tagged],
      remote_address: has_ip ? IP : null,
      outcome: 'ticket',
      size: raw.length,
    })
    const original = await desk.admin.get(`/inbound-messages/${row.id}/raw`)
    expect(original.text).toBe(raw.toString())
    expect(await rowOf(await send(raw))).toMatchObject({ outcome: 'duplicate' })
  })

  test('is refused without its signature or with a wrong one, and leaves nothing', async () => {
    const { path, make, query } = await way(provider)
    const { body, headers } = make(mail())
    const before = await countRows()
    const wrong: Post[] =
      provider === 'mailgun'
        ? [
            mailgunPost(mail(), { to: 'a@b.example', from: FROM, key: 'another key' }),
            mailgunPost(mail(), { to: 'a@b.example', from: FROM, key: KEY, signature: '' }),
            mailgunPost(mail(), { to: 'a@b.example', from: FROM, key: KEY, timestamp: Date.now() / 1000 - 86_500 }),
            multipart([['body-mime', mail()]]),
          ]
        : provider === 'sendgrid'
          ? [
              { body: Buffer.concat([body as Uint8Array, Buffer.from('\r\n')]), headers },
              { body, headers: { ...headers, 'x-twilio-email-event-webhook-timestamp': '1600112502' } },
              { body, headers: { ...headers, 'x-twilio-email-event-webhook-signature': 'AAAA' } },
              { body, headers: { 'content-type': headers['content-type']! } },
            ]
          : [
              { body, headers },
              { body, headers: { ...headers, ...basic('u:q') } },
            ]
    for (const one of wrong) expectError(await post(path + query, one), 401, 'INVALID_SIGNATURE')
    expect(await countRows()).toBe(before)
  })

  test('must have an original that is neither missing, empty nor too large', async () => {
    const { send, path, make } = await way(provider)
    expectError(await send(Buffer.alloc(0)), 422, 'VALIDATION_ERROR')
    expectError(await send(Buffer.alloc(MAX_BYTES + 1, 'a')), 413, 'PAYLOAD_TOO_LARGE')
    const { headers, body } = make(mail())
    const long = { ...headers, ...basic('u:p'), 'content-length': String(2 * MAX_BYTES + 1) }
    expectError(await post(path, { body, headers: long }), 413, 'PAYLOAD_TOO_LARGE')
  })
})

describe.each(['mailgun', 'sendgrid'])('a signed request of %s', (provider) => {
  test('is taken once: again it has the same id, and another mail under it is refused', async () => {
    const { path, make } = await way(provider)
    const request = make(mail({}, `Hello\r\n${INNER}`))
    const first = await post(path, request)
    expect(first.status).toBe(200)
    const before = await countRows()
    const again = await post(path, request)
    expect([again.status, again.body]).toEqual([200, first.body])
    expectError(await post(path, asAnother(provider, request)), 401, 'INVALID_SIGNATURE')
    expect(await countRows()).toBe(before)
    expect((await post(path, make(mail()))).status).toBe(200)
  })

  test('is taken once of several at the same time', async () => {
    const { path, make } = await way(provider)
    const request = make(mail())
    const before = await countRows()
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(path, request)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]!.status).toBe(200)
    expect(await countRows()).toBe(before + 1)
  })

  test('is good for 24 hours, and some minutes before its time, and remembered for an hour more', async () => {
    const { path, at } = await way(provider)
    const now = Math.floor(Date.now() / 1000)
    for (const timestamp of [now - 86_500, now + 600]) {
      expectError(await post(path, at(mail(), timestamp)), 401, 'INVALID_SIGNATURE')
    }
    for (const timestamp of [now - 86_000, now + 60]) {
      expect((await post(path, at(mail(), timestamp))).status).toBe(200)
    }
    const { sql } = connection()
    // A cluster takes no sum of a time with a zone and an interval: it depends on the session.
    const sooner = (by: string) => sql`
      update taken_requests set expires_at = (expires_at at time zone 'UTC' - ${by}::interval) at time zone 'UTC'`
    await sooner('24 hours 59 minutes')
    const [kept] = await sql`select count(*)::int as n from taken_requests`
    expect(await forgetTakenRequests(connection())).toBe(0)
    await sooner('1 minute')
    expect(await forgetTakenRequests(connection())).toBe(kept!.n)
  })
})

/** A form within an email, which has another one. */
const INNER =
  '--inner\r\nContent-Disposition: form-data; name="email"\r\n\r\nFrom: x@y.example\r\n\r\nOh\r\n--inner--\r\n'

/** The request with another mail: a signature of SendGrid covers the body, but not how it is read. */
function asAnother(provider: string, { body, headers }: Post): Post {
  if (provider === 'sendgrid')
    return { body, headers: { ...headers, 'content-type': 'multipart/form-data; boundary=inner' } }
  return {
    body: Buffer.from(
      Buffer.from(body as Uint8Array)
        .toString('latin1')
        .replace('Hello', 'Howdy'),
      'latin1',
    ),
    headers,
  }
}

async function countRows(): Promise<number> {
  const [row] = await connection().sql<{ n: number }[]>`select count(*) as n from inbound_messages`
  return row!.n
}

describe('an inlet', () => {
  test('is opened and closed by a key only when it may write inbound messages too', async () => {
    const { id } = await newMailbox()
    const path = `/mailboxes/${id}/inlet`
    const input = { provider: 'raw', signing_key: 'user:password' }
    const writer = await createProgram(desk.admin, ['mailboxes:read', 'mailboxes:write'])
    expectError(await writer.post(path, input), 403, 'FORBIDDEN')
    expect((await writer.get(`/mailboxes/${id}`)).body.data.inlet).toBeNull()
    const both = await createProgram(desk.admin, ['mailboxes:write', 'inbound_messages:write'])
    expect((await both.post(path, input)).status).toBe(201)
    expectError(await writer.delete(path), 403, 'FORBIDDEN')
    expectError(await (await createProgram(desk.admin, ['inbound_messages:write'])).delete(path), 403, 'FORBIDDEN')
    expect((await both.delete(path)).status).toBe(204)
  })

  test.each(['raw', 'cloudmailin'])(
    'of %s without a key proves no sender by the address that it is told',
    async (provider) => {
      using dns = await startDns({
        'passes.example': { TXT: [`v=spf1 ip4:${IP} -all`] },
        '_dmarc.passes.example': { TXT: ['v=DMARC1; p=reject'] },
      })
      using _ = withSettings({ DNS_SERVERS: [dns.address] })
      for (const signing_key of ['u:p', undefined]) {
        const { id, address } = await newMailbox()
        const path = await openInlet(desk.admin, id, { provider, signing_key })
        const [raw, from] = [mail({ From: 'pat@passes.example' }), 'pat@passes.example']
        const query = provider === 'raw' ? `?${new URLSearchParams({ from, to: address, ip: IP })}` : ''
        const posted = provider === 'raw' ? rawPost(raw) : cloudmailinPost(raw, { to: address, from, ip: IP })
        const row = await rowOf(await post(path + query, posted, signing_key ? basic(signing_key) : {}))
        const wanted = signing_key
          ? { sender_verified: true, remote_address: IP, authentication: { spf: 'pass' } }
          : { sender_verified: null, remote_address: null, authentication: { spf: 'none' } }
        expect(row).toMatchObject(wanted)
      }
    },
  )

  test('is opened and closed by who may write mailboxes; the URL is told once, and the key never', async () => {
    const { id } = await newMailbox()
    const path = `/mailboxes/${id}/inlet`
    const input = { provider: 'raw', signing_key: 'user:password' }
    const opened = await desk.admin.post(path, input, { 'idempotency-key': 'x' })
    expect(opened.body.data).toEqual({ provider: 'raw', url: expect.stringMatching(/\/api\/v1\/inbound\/[\w-]{43}$/) })
    const again = await desk.admin.post(path, input, { 'idempotency-key': 'x' })
    expect(again.body.data.url).not.toBe(opened.body.data.url)
    const shown = await desk.admin.get(`/mailboxes/${id}`)
    expect(shown.body.data.inlet).toEqual({ provider: 'raw', has_signing_key: true })
    expect((await desk.admin.delete(path)).status).toBe(204)
    expect((await desk.admin.get(`/mailboxes/${id}`)).body.data.inlet).toBeNull()
    const entries = (await desk.admin.get(`/audit-log?resource_id=${id}`)).text
    expect(entries.match(/"inlet"/g)!.length).toBeGreaterThanOrEqual(3)
    expect(entries).not.toContain('password"')
  })

  test.each([
    ['an unknown provider', '/provider', { provider: 'outlook' }],
    ['a key without a colon', '/signing_key', { provider: 'raw', signing_key: 'no colon' }],
    ['no key of Mailgun', '/signing_key', { provider: 'mailgun' }],
    ['no public key', '/signing_key', { provider: 'sendgrid', signing_key: 'AAAA' }],
    ['no key of SendGrid', '/signing_key', { provider: 'sendgrid' }],
    ['a long key', '/signing_key', { provider: 'raw', signing_key: `a:${'b'.repeat(4096)}` }],
  ])('is refused with %s', async (_what, path, input) => {
    const { id } = await newMailbox()
    const answer = await desk.admin.post(`/mailboxes/${id}/inlet`, input)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe(path)
  })

  test('works 24 hours more when another follows, with its own provider, and not when it is closed', async () => {
    const { id } = await newMailbox()
    const former = await openInlet(desk.admin, id, { provider: 'postmark' })
    const present = await openInlet(desk.admin, id, { provider: 'raw' })
    expect((await post(former, postmarkPost(mail(), 'x@y.example'))).status).toBe(200)
    expect((await post(present, rawPost(mail()))).status).toBe(200)
    // As 24 hours later.
    await connection()
      .sql`update inlets set ends_at = ${'2026-01-01T00:00:00Z'} where mailbox_id = ${id} and ends_at is not null`
    expectError(await post(former, postmarkPost(mail(), 'x@y.example')), 404, 'MAILBOX_NOT_FOUND')
    await desk.admin.delete(`/mailboxes/${id}/inlet`)
    expectError(await post(present, rawPost(mail())), 404, 'MAILBOX_NOT_FOUND')
  })

  test('is closed while its mailbox is off, or may not use its address, and when it is deleted', async () => {
    const { id } = await newMailbox()
    const path = await openInlet(desk.admin, id, { provider: 'raw' })
    await desk.admin.patch(`/mailboxes/${id}`, { active: false })
    expectError(await post(path, rawPost(mail())), 404, 'MAILBOX_NOT_FOUND')
    await desk.admin.patch(`/mailboxes/${id}`, { active: true })
    using _ = withSettings({ MAILBOX_DOMAIN_CHECK: 'on' } as never)
    expectError(await post(path, rawPost(mail())), 404, 'MAILBOX_NOT_FOUND')
    expect((await desk.admin.delete(`/mailboxes/${id}`)).status).toBe(204)
    expectError(await post(path, rawPost(mail())), 404, 'MAILBOX_NOT_FOUND')
  })

  test('has no limit of requests, but guesses of tokens have', async () => {
    const { id } = await newMailbox()
    const path = await openInlet(desk.admin, id, { provider: 'raw' })
    const guess = () => post(`/inbound/${'x'.repeat(43)}`, rawPost(mail()))
    using _ = withSettings({ RATE_LIMIT_PER_MINUTE: 100 })
    const codes = await Promise.all(Array.from({ length: 102 }, async () => (await guess()).status))
    expect(codes.filter((code) => code === 429).length).toBeGreaterThanOrEqual(1)
    expect((await post(path, rawPost(Buffer.alloc(0)))).status).toBe(422)
  })

  test('never shows its token to logs, and no text of it is stored', async () => {
    const { id } = await newMailbox()
    const lines: string[] = []
    const write = (...given: unknown[]) => void lines.push(JSON.stringify(given))
    const spied = ['debug', 'info', 'warn', 'error'].map((level) => [level, Reflect.get(log, level)] as const)
    for (const [level] of spied) Reflect.set(log, level, write)
    const path = await openInlet(desk.admin, id, { provider: 'postmark', signing_key: 'user:pass-word' })
    for (const body of ['{', '[]', JSON.stringify({ RawEmail: 'x' })]) {
      await post(path, { body, headers: { 'content-type': 'application/json' } }, basic('user:pass-word'))
    }
    for (const [level, own] of spied) Reflect.set(log, level, own)
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.join('\n')).not.toMatch(new RegExp(`${path.split('/').at(-1)}|pass-word`))
    const [row] = await connection().sql<{ text: string }[]>`
      select row_to_json(i)::text as text from inlets i where mailbox_id = ${id}`
    expect(row!.text).not.toMatch(new RegExp(`${path.split('/').at(-1)}|pass-word`))
  })
})

describe('what is posted', () => {
  let path: string
  let mailbox: { id: string; address: string }

  beforeAll(async () => {
    mailbox = await newMailbox()
    path = await openInlet(desk.admin, mailbox.id, { provider: 'cloudmailin' })
  })

  const sent = (raw: Uint8Array, to: string, ip = IP) => post(path, cloudmailinPost(raw, { to, from: FROM, ip }))

  test('is for the mailbox of the token, whatever address it names', async () => {
    const row = await rowOf(await sent(mail(), other.address))
    expect(row).toMatchObject({ mailbox: { id: mailbox.id }, recipients: [mailbox.address] })
    expect(await ledgerOf(other)).toEqual([])
  })

  test('finds its ticket by the tag of the recipient, at whichever address, and no other organization’s', async () => {
    const { ticket_id } = await rowOf(await sent(mail(), mailbox.address))
    const tagged = replyAddress(mailbox.address, ticket_id)
    expect(await rowOf(await sent(mail({}, 'One'), tagged))).toMatchObject({ ticket_id, rule: 'reply_tag' })
    const hash = tagged.replace(/^[^+]*/, '451d9b70cf9364d23ff6f9d51d870251569e')
    const row = await rowOf(await sent(mail({}, 'Two'), hash))
    expect(row).toMatchObject({ ticket_id, rule: 'reply_tag', recipients: [tagged] })
    const theirs = await openInlet(other.admin, other.mailbox_id, { provider: 'raw' })
    const answer = await post(`${theirs}?to=${encodeURIComponent(tagged)}`, rawPost(mail({}, 'Three')))
    await drain()
    const found = (await other.admin.get(`/inbound-messages/${answer.body.data.id}`)).body.data
    expect(found).toMatchObject({ outcome: 'ticket', rule: 'new' })
  })

  test('proves no sender by fields that anybody can write, even from the address of a trusted relay', async () => {
    using _ = withSettings({ SMTP_TRUSTED_RELAYS: [], TRUSTED_AUTHSERV_ID: 'mx.desk.example' })
    const results = 'mx.desk.example; dmarc=pass (p=reject) header.from=c.example; spf=pass smtp.mailfrom=c.example'
    const { toNetwork } = await import('../../../src/base/address/networks')
    using __ = withSettings({ SMTP_TRUSTED_RELAYS: [toNetwork('203.0.113.0/24')!] })
    const row = await rowOf(await sent(mail({ Authentication_Results: results }), mailbox.address, '203.0.113.5'))
    expect(row).toMatchObject({ sender_verified: null, remote_address: null, authentication: { spf: 'none' } })
  })

  test('is not cut or moved by line breaks and nonsense in the envelope', async () => {
    const answer = await post(
      path,
      multipart([
        ['envelope[to]', `${mailbox.address}\r\nBcc: x@y.example`],
        ['envelope[from]', 'a@b.example>\r\nRCPT TO:<x@y.example'],
        ['envelope[remote_ip]', '127.0.0.1\r\nX: y'],
        ['envelope[helo_domain]', 'h\u0000\r\nX: y'],
        ['message', mail()],
      ]),
    )
    const row = await rowOf(answer)
    expect(row).toMatchObject({ remote_address: null, recipients: [mailbox.address] })
  })

  test('is one mail when it also comes over SMTP, and when two come at once', async () => {
    const raw = mail()
    const answers = await Promise.all([sent(raw, mailbox.address), sent(raw, mailbox.address)])
    await deliver(desk.port, { to: mailbox.address, raw })
    const ids = answers.map(({ body }) => body.data.id)
    const outcomes = (await ledgerOf(desk)).slice(0, 3).map((row: { outcome: string }) => row.outcome)
    expect(new Set(ids).size).toBe(2)
    expect(outcomes.toSorted()).toEqual(['duplicate', 'duplicate', 'ticket'])
  })

  test.each([
    ['a form that breaks off', () => ({ ...cut(multipart([['message', mail()]])) }), 400, 'BAD_REQUEST'],
    ['no boundary', () => ({ body: 'x', headers: { 'content-type': 'multipart/form-data; x=y' } }), 400, 'BAD_REQUEST'],
    ['no form', () => ({ body: 'x', headers: { 'content-type': 'text/plain' } }), 400, 'BAD_REQUEST'],
    [
      'two emails',
      () =>
        multipart([
          ['message', mail()],
          ['message', mail()],
        ]),
      422,
      'VALIDATION_ERROR',
    ],
    ['no email', () => multipart([['plain', 'x']]), 422, 'VALIDATION_ERROR'],
    [
      'a long field',
      () =>
        multipart([
          ['envelope[to]', 'x'.repeat(70_000)],
          ['message', mail()],
        ]),
      422,
      'VALIDATION_ERROR',
    ],
    ['thousands of parts', () => multipart(Array.from({ length: 5000 }, () => ['x', 'y'])), 422, 'VALIDATION_ERROR'],
  ])('%s is refused, and changes nothing', async (_what, make, status, code) => {
    const before = await countRows()
    expectError(await post(path, make() as Post), status, code)
    expect(await countRows()).toBe(before)
  })

  test('of Mailgun may be a form of both kinds, byte by byte', async () => {
    const { id, address } = await newMailbox()
    const way = await openInlet(desk.admin, id, { provider: 'mailgun', signing_key: KEY })
    expect(way).toEndWith('mime')
    const raw = Buffer.concat([mail(), Buffer.from([0xfc, 0x80, 0x00, 0x26, 0x3d])])
    const row = await rowOf(await post(way, mailgunForm(raw, { to: address, from: '', key: KEY })))
    expect(row).toMatchObject({ size: raw.length, envelope_from: null })
  })

  test('is refused 503 while bodies of others fill the memory, and taken afterwards', async () => {
    const raw = await openInlet(desk.admin, mailbox.id, { provider: 'raw' })
    const before = await countRows()
    const all = String(config.MAX_BODY_BYTES_IN_FLIGHT)
    const other = new Request('http://other.example', { method: 'POST', headers: { 'content-length': all } })
    holdBody(other, null, 'whole')
    const refused = await post(raw, rawPost(mail()))
    releaseBody(other)
    expectError(refused, 503, 'SERVICE_UNAVAILABLE')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await countRows()).toBe(before)
    expect((await post(raw, rawPost(mail()))).status).toBe(200)
  })

  test('is refused 503 when the disk is full', async () => {
    const raw = await openInlet(desk.admin, mailbox.id, { provider: 'raw' })
    const before = await countRows()
    const full = withSettings({ DATA_DIR: '/proc' })
    // The finding of the system about the other disk holds for a moment.
    await until('it is asked again', async () => (await freeBytes()) === 0)
    const refused = await post(raw, rawPost(mail()))
    full.restore()
    expectError(refused, 503, 'SERVICE_UNAVAILABLE')
    expect(refused.text).toContain('Not enough storage')
    await until('it is asked again', async () => (await freeBytes()) > 0)
    expect(await countRows()).toBe(before)
    expect((await post(raw, rawPost(mail()))).status).toBe(200)
  })

  test('with a wrong type of body, or too many values, is told so', async () => {
    const postmark = await openInlet(desk.admin, mailbox.id, { provider: 'postmark' })
    expectError(await post(postmark, rawPost(mail())), 400, 'BAD_REQUEST')
    const deep = `{"a":${'['.repeat(50)}${']'.repeat(50)}}`
    const json = { 'content-type': 'application/json' }
    expectError(await post(postmark, { body: deep, headers: json }), 422, 'VALIDATION_ERROR')
    expectError(await post(postmark, { body: '{"RawEmail":5}', headers: json }), 422, 'VALIDATION_ERROR')
  })
})

function cut({ body, headers }: Post): Post {
  return { body: (body as Uint8Array).subarray(0, -20), headers }
}
