/** The attachment endpoints: uploads, downloads, limits and removal. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { attachmentUrl, organizationOfUrl } from '../../../src/base/attachment-url'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { log } from '../../../src/base/log'
import { useSecrets } from '../../../src/base/secrets'
import { removeUnusedUploads, storeAttachment } from '../../../src/desk/attachments/commands'
import { removeSoon, removeStoredBytes } from '../../../src/desk/attachments/removals'
import { storage } from '../../../src/desk/attachments/storage'
import { cleanFileName } from '../../../src/http/request/file-name'
import { api, type Client, clientWithKey, createOrganization, startApi, stopApi, stranger } from '../../support/api'
import { createCustomer } from '../../support/customers'
import { createMessage, formOf, insertTicket, uploadFile } from '../../support/factories'
import { statementsWaiting } from '../../support/lock-waits'
import { withSettings } from '../../support/settings'

beforeAll(() => startApi())
afterAll(stopApi)

const NOTHING = '01890000-0000-7000-8000-000000000000'
const HELLO_SHA256 = createHash('sha256').update('hello').digest('hex')

test('an upload answers with the attachment, and GET gives the same', async () => {
  const { agent } = await createOrganization()
  const answer = await agent.post('/attachments', formOf('hello', 'hello.txt'))
  expect(answer.status).toBe(201)
  expect(answer.body.data).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    filename: 'hello.txt',
    content_type: 'text/plain',
    size: 5,
    scan: null,
    url: expect.stringContaining(`${config.BASE_URL}/api/v1/attachments/${answer.body.data.id}/content?`),
  })
  const again = await agent.get(`/attachments/${answer.body.data.id}`)
  expect(again.status).toBe(200)
  expect(again.body).toEqual(answer.body)
})

test('an empty file is a file', async () => {
  const { agent } = await createOrganization()
  const { id, size } = await uploadFile(agent, '', 'empty.txt')
  expect(size).toBe(0)
  const content = await agent.get(`/attachments/${id}/content`)
  expect([content.status, content.text]).toEqual([200, ''])
})

test.each([
  ['plain.txt', 'plain.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\me\\report.pdf', 'report.pdf'],
  ['a\u0000b\r\nc\u007f.txt', 'abc.txt'],
  ['invoice\u202efdp.exe', 'invoicefdp.exe'],
  ['lone\ud800.txt', 'lone.txt'],
  ['  spaced name.txt ', 'spaced name.txt'],
  ['Übersicht 日本 🎉.txt', 'Übersicht 日本 🎉.txt'],
  ['..', 'attachment'],
  ['folder/', 'attachment'],
  ['', 'attachment'],
  [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(251)}.pdf`],
  ['🎉'.repeat(300), '🎉'.repeat(255)],
])('the file name %j is kept as %j', (given, kept) => {
  expect(cleanFileName(given)).toBe(kept)
})

test('an uploaded file loses the path in its name, and a media type that cannot be one', async () => {
  const { agent } = await createOrganization()
  const head = 'Content-Disposition: form-data; name="file"; filename="../a/Bericht é.txt"\r\nContent-Type: wei rd'
  const { body } = await postParts(agent, [`${head}\r\n\r\nhello`])
  expect(body.data).toMatchObject({ filename: 'Bericht é.txt', content_type: 'application/octet-stream', size: 5 })
})

test('parts besides the file are skipped, wherever they stand', async () => {
  const { agent } = await createOrganization()
  const answer = await postParts(agent, [
    'Content-Disposition: form-data; name="note"\r\n\r\nfirst',
    'Content-Disposition: form-data; name="other"; filename="other.txt"\r\n\r\nnot this one',
    'Content-Disposition: form-data; name="file"; filename="hello.txt"\r\n\r\nhello',
    'Content-Disposition: form-data; name="file"; filename="second.txt"\r\n\r\nnot this one either',
  ])
  expect(answer.body.data).toMatchObject({ filename: 'hello.txt', size: 5 })
})

test.each([
  ['a field without a file name', 'Content-Disposition: form-data; name="file"\r\n\r\nhello'],
  ['a file under another name', 'Content-Disposition: form-data; name="upload"; filename="hello.txt"\r\n\r\nhello'],
  ['a form in which no file was chosen', 'Content-Disposition: form-data; name="file"; filename=""\r\n\r\n'],
])('an upload with %s is VALIDATION_ERROR', async (_, part) => {
  const { agent } = await createOrganization()
  const answer = await postParts(agent, [part])
  expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  expect(answer.body.error.details.errors[0].path).toBe('/file')
})

const NOTE = 'Content-Disposition: form-data; name="note"\r\n\r\nnote'
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello'

test('an upload may have 20 parts', async () => {
  const { agent } = await createOrganization()
  const { status, body } = await postParts(agent, [...Array(19).fill(NOTE), FILE])
  expect([status, body.data.filename]).toEqual([201, 'a.txt'])
})

test.each([
  ['21 parts', [FILE, ...Array(20).fill(NOTE)]],
  ['21 parts, the file last', [...Array(20).fill(NOTE), FILE]],
  ['21 files', Array(21).fill(FILE)],
  ['200000 parts without a header', [FILE, ...Array(200_000).fill('')]],
])('an upload of %s is VALIDATION_ERROR and leaves nothing', async (_, parts) => {
  const { agent, id } = await createOrganization()
  const { status, body } = await postParts(agent, parts)
  expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  expect(body.error.details.errors).toEqual([{ path: '', message: 'must have at most 20 parts' }])
  expect(await countAttachments(id)).toBe(0)
  expect(await partialFiles()).toEqual([])
})

test.each([
  ['JSON', 'application/json', '{}'],
  ['no multipart', 'text/plain', 'hello'],
  ['no boundary', 'multipart/form-data', '--x\r\n\r\n'],
  ['an end in the middle of the file', 'multipart/form-data; boundary=x', `${fileHead('x')}hel`],
  ['another boundary', 'multipart/form-data; boundary=y', `${fileHead('x')}hello\r\n--x--\r\n`],
  ['nothing', 'multipart/form-data; boundary=x', ''],
])('an upload that is %s is BAD_REQUEST and leaves nothing', async (_, type, body) => {
  const { agent, id } = await createOrganization()
  const answer = await agent.send('POST', '/attachments', body, { 'content-type': type })
  expect([answer.status, answer.body.error.code]).toEqual([400, 'BAD_REQUEST'])
  expect(await countAttachments(id)).toBe(0)
})

test('an upload above the limit is PAYLOAD_TOO_LARGE while it is still coming, and leaves nothing', async () => {
  const { agent, id } = await createOrganization()
  {
    using _ = withSettings({ ATTACHMENT_MAX_BYTES: 100_000 })
    const { body, pulled } = endlessUpload()
    const response = await api().handle(uploadRequest(agent, body))
    expect([response.status, (await response.json()).error]).toEqual([
      413,
      { code: 'PAYLOAD_TOO_LARGE', message: expect.any(String), details: { limit_bytes: 100_000 } },
    ])
    expect(pulled()).toBeLessThan(2_000_000)
    const exact = await agent.post('/attachments', formOf(new Uint8Array(100_000), 'exact'))
    expect([exact.status, exact.body.data.size]).toEqual([201, 100_000])
    const above = await agent.post('/attachments', formOf(new Uint8Array(100_001), 'above'))
    expect(above.status).toBe(413)
  }
  expect(await countAttachments(id)).toBe(1)
  expect(await partialFiles()).toEqual([])
})

test('an upload that announces too many bytes is refused before any is read', async () => {
  const { agent } = await createOrganization()
  const { body, pulled } = endlessUpload()
  const request = uploadRequest(agent, body, { 'content-length': String(config.ATTACHMENT_MAX_BYTES * 2) })
  const response = await api().handle(request)
  expect(response.status).toBe(413)
  expect(pulled()).toBe(0)
})

test('nothing of an upload is read for someone without a token', async () => {
  const { body, pulled } = endlessUpload()
  const response = await api().handle(uploadRequest(stranger(), body))
  expect([response.status, (await response.json()).error.code]).toEqual([401, 'INVALID_TOKEN'])
  expect(pulled()).toBe(0)
})

test('a client that goes away in the middle of an upload leaves nothing', async () => {
  const { agent, id } = await createOrganization()
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  const socket = connect(server.port!, '127.0.0.1')
  socket.write(
    `POST /api/v1/attachments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${agent.token}\r\n` +
      `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n${fileHead('x')}${'a'.repeat(300_000)}`,
  )
  await until(async () => (await partialFiles()).length === 1)
  socket.destroy()
  await until(async () => (await partialFiles()).length === 0 && (await countAttachments(id)) === 0)
  await server.stop(true)
})

test('the bytes come back as they went in, as a download that no browser runs', async () => {
  const { agent } = await createOrganization()
  const html = '<script>alert(1)</script>'
  const { body } = await agent.post('/attachments', formOf(html, 'Ünïcode "x".html', 'text/html'))
  const content = await agent.get(`/attachments/${body.data.id}/content`)
  expect([content.status, content.text]).toEqual([200, html])
  expect(Object.fromEntries(content.headers)).toMatchObject({
    'content-type': 'text/html',
    'content-length': String(html.length),
    'content-disposition': `attachment; filename="?n?code \\"x\\".html"; filename*=UTF-8''%C3%9Cn%C3%AFcode%20%22x%22.html`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    etag: `"${createHash('sha256').update(html).digest('hex')}"`,
  })
})

test('the url of an attachment works without a token', async () => {
  const { agent } = await createOrganization()
  const { url } = await uploadFile(agent)
  const content = await stranger().get(pathOf(url))
  expect([content.status, content.text]).toEqual([200, 'hello'])
})

test('a url whose signature is wrong, stale or for something else is INVALID_TOKEN, unless a token comes along', async () => {
  const { agent, id: organization_id } = await createOrganization()
  const other = await createOrganization()
  const { id, url } = await uploadFile(agent)
  const another = await uploadFile(agent)
  const hours = 60 * 60 * 1000
  const stale = attachmentUrl(organization_id, id, Date.now() - hours)
  const expires = new URL(url).searchParams.get('expires')!
  for (const bad of [
    `/attachments/${id}/content`,
    pathOf(url).replace(/signature=..../, 'signature=AAAA'),
    pathOf(url).replace(/signature=.*/, 'signature='),
    pathOf(stale),
    pathOf(url).replace(expires, String(Number(expires) + 3600)),
    pathOf(url).replace(expires, 'Infinity'),
    pathOf(url).replace(id, another.id),
    pathOf(url).replace(organization_id, other.id),
  ]) {
    const answer = await stranger().get(bad)
    expect([bad, answer.status, answer.body.error.code]).toEqual([bad, 401, 'INVALID_TOKEN'])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    if (!bad.includes(another.id)) expect((await agent.get(bad)).status).toBe(200)
  }
})

test('a url is the same for some minutes, works for most of an hour and for no longer', async () => {
  const { id } = await createOrganization()
  const noon = Date.UTC(2026, 0, 31, 12)
  const minute = 60_000
  const url = attachmentUrl(id, NOTHING, noon)
  expect(attachmentUrl(id, NOTHING, noon + 4 * minute)).toBe(url)
  expect(organizationOfUrl(url, noon + 54 * minute)).toBe(id)
  expect(organizationOfUrl(url, noon + 60 * minute)).toBeUndefined()
})

test('a url that was signed with the previous secret key still works', async () => {
  const { id } = await createOrganization()
  const url = attachmentUrl(id, NOTHING)
  useSecrets('a new secret key for this test', 'a secret key that only tests use')
  const by_previous = organizationOfUrl(url)
  useSecrets('a new secret key for this test')
  const by_other = organizationOfUrl(url)
  useSecrets('a secret key that only tests use')
  expect([by_previous, by_other]).toEqual([id, undefined])
})

test.each([
  [`"${HELLO_SHA256}"`, 304],
  [`W/"${HELLO_SHA256}"`, 304],
  [`"other", "${HELLO_SHA256}"`, 304],
  ['*', 304],
  ['"other"', 200],
])('If-None-Match: %s answers %i', async (tag, status) => {
  const { agent } = await createOrganization()
  const { id } = await uploadFile(agent)
  const content = await agent.get(`/attachments/${id}/content`, { 'if-none-match': tag })
  expect([content.status, content.text]).toEqual([status, status === 304 ? '' : 'hello'])
  expect(content.headers.get('etag')).toBe(`"${HELLO_SHA256}"`)
})

test.each([
  ['bytes=0-1', 206, 'he', 'bytes 0-1/5'],
  ['bytes=3-', 206, 'lo', 'bytes 3-4/5'],
  ['bytes=-2', 206, 'lo', 'bytes 3-4/5'],
  ['bytes=1-99', 206, 'ello', 'bytes 1-4/5'],
  ['bytes=5-', 416, '', 'bytes */5'],
  ['bytes=-10', 206, 'hello', 'bytes 0-4/5'],
  ['bytes=-99999999999999999999', 206, 'hello', 'bytes 0-4/5'],
  ['bytes=0-99999999999999999999', 206, 'hello', 'bytes 0-4/5'],
  ['Bytes=4-', 206, 'o', 'bytes 4-4/5'],
  ['bytes=99999999999999999999-', 416, '', 'bytes */5'],
  ['bytes=-0', 416, '', 'bytes */5'],
  ['bytes=3-1', 200, 'hello', null],
  ['bytes=9-7', 200, 'hello', null],
  ['bytes=0-0,2-3', 200, 'hello', null],
  ['bytes=0-1,3-1', 200, 'hello', null],
  ['bytes=x-y', 200, 'hello', null],
  ['bytes=-', 200, 'hello', null],
  ['bytes=1--2', 200, 'hello', null],
  ['lines=0-1', 200, 'hello', null],
  ['lines=9-', 200, 'hello', null],
])('Range: %s answers %i with %j', async (range, status, text, content_range) => {
  const { agent } = await createOrganization()
  const { id } = await uploadFile(agent)
  const content = await agent.get(`/attachments/${id}/content`, { range })
  expect([content.status, content.text, content.headers.get('content-range')]).toEqual([status, text, content_range])
})

test('a range of an empty file: there is no first byte, and the last ones are all there are', async () => {
  const { agent } = await createOrganization()
  const { id } = await uploadFile(agent, '', 'empty.txt')
  for (const [range, status, content_range] of [
    ['bytes=0-', 416, 'bytes */0'],
    ['bytes=0-0', 416, 'bytes */0'],
    ['bytes=-0', 416, 'bytes */0'],
    ['bytes=-5', 200, null],
  ] as const) {
    const content = await agent.get(`/attachments/${id}/content`, { range })
    expect([range, content.status, content.headers.get('content-range')]).toEqual([range, status, content_range])
  }
})

test('a range of another version of the bytes answers with all of them', async () => {
  const { agent } = await createOrganization()
  const { id } = await uploadFile(agent)
  const get = (tag: string) => agent.get(`/attachments/${id}/content`, { range: 'bytes=0-1', 'if-range': tag })
  expect((await get(`"${HELLO_SHA256}"`)).text).toBe('he')
  expect((await get('"other"')).text).toBe('hello')
})

test('HEAD answers as GET, without the bytes', async () => {
  const { agent } = await createOrganization()
  const { id } = await uploadFile(agent)
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  const headers = { authorization: `Bearer ${agent.token}` }
  const url = `http://127.0.0.1:${server.port}/api/v1/attachments/${id}/content`
  // A range is for GET alone (RFC 9110, section 14.2).
  const response = await fetch(url, { method: 'HEAD', headers: { ...headers, range: 'bytes=0-1' } })
  expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '5', ''])
  await server.stop(true)
})

test('attachments of a deleted ticket are gone, also for who holds their url', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const { id, url } = await uploadFile(agent)
  await createMessage(agent, ticket.id, { attachment_ids: [id] })
  expect((await agent.get(`/attachments/${id}`)).status).toBe(200)
  await scope.sql`update tickets set deleted_at = now() where id = ${ticket.id}`
  for (const answer of [await agent.get(`/attachments/${id}`), await stranger().get(pathOf(url))]) {
    expect([answer.status, answer.body.error.code]).toEqual([404, 'ATTACHMENT_NOT_FOUND'])
  }
})

test('uploads that no message used within 24 hours are removed with their bytes, others stay', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const [unused, used, fresh] = [await uploadFile(agent), await uploadFile(agent), await uploadFile(agent)]
  await createMessage(agent, ticket.id, { attachment_ids: [used.id] })
  const [old_unused, old_used] = [await makeOld(unused.id), await makeOld(used.id)]
  await removeUnusedUploads(connection())
  await removeStoredBytes(connection())
  expect((await agent.get(`/attachments/${old_unused}`)).status).toBe(404)
  expect((await agent.get(`/attachments/${old_used}/content`)).text).toBe('hello')
  expect((await agent.get(`/attachments/${fresh.id}/content`)).text).toBe('hello')
  expect(await isStored(unused.id)).toBe(false)
})

describe('limits of uploads:', () => {
  const upload = (client: Client, content = 'hello') => client.post('/attachments', formOf(content, 'hello.txt'))

  test('a user may have 100 uploads that no message uses, others and the next day are not concerned', async () => {
    const { agent, admin, scope } = await createOrganization()
    await scope.sql`
      insert into attachments (organization_id, id, uploader_id, filename, content_type, size, digest, storage_key)
      select ${scope.organization_id}, gen_random_uuid(), ${agent.user_id}, 'planted', 'text/plain', 1, '',
        'attachments/' || gen_random_uuid()
      from generate_series(1, 98) i`
    const answers = await Promise.all(Array.from({ length: 5 }, () => upload(agent)))
    expect(answers.map(({ status }) => status).filter((status) => status === 201).length).toBeLessThanOrEqual(2)
    while ((await upload(agent)).status === 201);
    const refused = await upload(agent)
    expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMITED'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await upload(admin)).status).toBe(201)
    const { id } = (await agent.get('/tickets')).body.data[0] ?? (await insertTicket(scope))
    const [{ id: unused }] = await scope.sql<[{ id: string }]>`
      select id from attachments where uploader_id = ${agent.user_id} and filename = 'planted' limit 1`
    await createMessage(agent, id, { attachment_ids: [unused], send_email: false })
    expect((await upload(agent)).status).toBe(201)
    expect((await upload(agent)).status).toBe(429)
  })

  test.each(['customer', 'member', 'key'])(
    'unused bytes of a %s have a quota, also of uploads at once',
    async (kind) => {
      const { agent, admin } = await createOrganization()
      using _ = withSettings({ ATTACHMENT_MAX_BYTES: 1024 })
      const most = kind === 'customer' ? 4 : 20
      const key = (await admin.post('/api-keys', { name: 'Files', permissions: ['messages:write'] })).body.data.key
      const client = kind === 'customer' ? await createCustomer(admin) : kind === 'key' ? clientWithKey(key) : agent
      const send = (size: number) =>
        client.post(kind === 'customer' ? '/my/attachments' : '/attachments', formOf('x'.repeat(size), 'x.txt'))
      const together = await Promise.all(Array.from({ length: most + 4 }, () => send(1000)))
      const stored = together.filter(({ status }) => status === 201)
      expect(stored.length).toBeLessThanOrEqual(most)
      expect(together.every(({ status }) => status === 201 || status === 429)).toBe(true)
      for (let left = most - stored.length; left > 0; left--) expect((await send(1000)).status).toBe(201)
      const refused = await send(1000)
      expect([refused.status, refused.body.error.code]).toEqual([429, 'RATE_LIMITED'])
      expect(refused.body.error.details.reason).toContain(`${most * 1024} bytes`)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await admin.post('/attachments', formOf('x', 'x.txt'))).status).toBe(201)
    },
  )

  test('an organization that has used its quota is 413, another one is not', async () => {
    const [full, other] = [await createOrganization(), await createOrganization()]
    using _ = withSettings({ ATTACHMENT_QUOTA_BYTES: 1500, ATTACHMENT_MAX_BYTES: 1024 })
    expect((await upload(full.agent, 'x'.repeat(700))).status).toBe(201)
    const refused = await upload(full.admin)
    expect([refused.status, refused.body.error]).toMatchObject([
      413,
      { code: 'PAYLOAD_TOO_LARGE', details: { quota_bytes: 1500, used_bytes: 700 } },
    ])
    expect((await upload(other.agent)).status).toBe(201)
  })

  test('many at once do not take more than the quota together', async () => {
    const { agent, scope } = await createOrganization()
    using _ = withSettings({ ATTACHMENT_QUOTA_BYTES: 3000, ATTACHMENT_MAX_BYTES: 1024 })
    await Promise.all(Array.from({ length: 10 }, () => upload(agent, 'x'.repeat(1000))))
    const [row] = await scope.sql<{ bytes: number }[]>`
      select coalesce(sum(size), 0) as bytes from attachments where organization_id = ${scope.organization_id}`
    expect(row!.bytes).toBeLessThanOrEqual(3000)
  })

  test('the announced length of one upload takes no more of the quota of others than a file may have', async () => {
    const { agent, admin } = await createOrganization()
    using _ = withSettings({ ATTACHMENT_QUOTA_BYTES: 100_000, ATTACHMENT_MAX_BYTES: 1024 })
    const announced = Array.from({ length: 10 }, () =>
      api().handle(uploadRequest(agent, endlessUpload().body, { 'content-length': '9000000000000000' })),
    )
    const beside = await Promise.all(Array.from({ length: 10 }, () => upload(admin, 'x')))
    expect(beside.map(({ status }) => status)).toEqual(beside.map(() => 201))
    expect((await Promise.all(announced)).map(({ status }) => status)).toEqual(announced.map(() => 413))
  })

  test('while the disk is nearly full an upload is 503, leaves nothing, and the log says why', async () => {
    const { agent, scope } = await createOrganization()
    {
      using _ = withSettings({ SMTP_MAX_BYTES: Number.MAX_SAFE_INTEGER })
      using error = spyOn(log, 'error').mockImplementation(() => {})
      const answer = await upload(agent)
      expect([answer.status, answer.body.error.code, answer.headers.get('retry-after')]).toEqual([
        503,
        'SERVICE_UNAVAILABLE',
        '5',
      ])
      const reason = 'There is not enough storage at the moment'
      expect(error.mock.calls.map(([line]) => line)).toEqual([expect.objectContaining({ reason })])
    }
    expect(await scope.sql`select from attachments where organization_id = ${scope.organization_id}`).toHaveLength(0)
    expect((await upload(agent)).status).toBe(201)
  })
})

test('bytes that a crash left without a row are removed after an hour, not before', async () => {
  const { scope } = await createOrganization()
  const crash = Promise.withResolvers<never>()
  const dying = async function* () {
    yield Buffer.from('half')
    await crash.promise
  }
  const stored = storeAttachment(scope, { filename: 'a', content_type: 'text/plain', body: dying() })
  const [row] = await until(() => scope.sql<{ storage_key: string }[]>`select storage_key from storage_removals`)
  await storage().put(row!.storage_key, Buffer.from('whole'))
  const id = row!.storage_key.replace('attachments/', '')
  expect(await removeStoredBytes(connection())).toBe(0)
  expect(await isStored(id)).toBe(true)
  await scope.sql`update storage_removals set due_at = now() where storage_key = ${row!.storage_key}`
  expect(await removeStoredBytes(connection())).toBe(1)
  expect(await isStored(id)).toBe(false)
  crash.reject(new Error('crashed'))
  await expect(stored).rejects.toThrow('crashed')
})

test('an upload whose bytes were removed before it ended fails', async () => {
  const { scope, id } = await createOrganization()
  const slow = async function* () {
    yield Buffer.from('half')
    await scope.sql`delete from storage_removals`
  }
  await expect(storeAttachment(scope, { filename: 'a', content_type: 'text/plain', body: slow() })).rejects.toThrow()
  expect(await countAttachments(id)).toBe(0)
})

test('bytes that two transactions hand over in different orders end in no deadlock', async () => {
  const [a, m, z] = Array.from({ length: 3 }, () => `attachments/${newId()}`)
  let runs = 0
  const handOver = (keys: string[]) =>
    transact(connection(), ({ sql }) => {
      runs++
      return removeSoon(
        sql,
        keys.map((storage_key) => ({ storage_key })),
      )
    })
  const handed = await transact(connection(), async ({ sql }) => {
    await removeSoon(sql, [{ storage_key: m! }])
    const both = [handOver([a!, m!, z!]), handOver([z!, m!, a!])]
    await until(async () => (await statementsWaiting(connection().sql)).length === 2)
    return { both }
  })
  await Promise.all(handed.both)
  expect(runs).toBe(2)
  await connection().sql`delete from storage_removals where storage_key in (${a!}, ${m!}, ${z!})`
})

test('bytes that cannot be removed now are kept in mind, and do not stop the others', async () => {
  const { agent, scope } = await createOrganization()
  const { id } = await uploadFile(agent)
  const stuck = `attachments/${newId()}`
  mkdirSync(path.join(config.DATA_DIR, 'attachments', stuck))
  await scope.sql`delete from attachments where organization_id = ${scope.organization_id} and id = ${id}`
  await scope.sql`
    insert into storage_removals (storage_key, due_at)
    values (${stuck}, now() - interval '1 minute'), (${`attachments/${id}`}, now())`
  expect(await removeStoredBytes(connection())).toBe(1)
  expect(await isStored(id)).toBe(false)
  const left = await scope.sql`select storage_key, due_at > now() as is_later from storage_removals`
  expect([...left]).toEqual([{ storage_key: stuck, is_later: true }])
  await scope.sql`delete from storage_removals`
})

test('eight files of 25 MiB at once go in and out unchanged, without being held in memory', async () => {
  const size = 25 * 1024 * 1024
  await using server = await startServer()
  await server.exchange(1024)
  const before = await server.peak_bytes()
  await Promise.all(Array.from({ length: 8 }, () => server.exchange(size)))
  if (process.platform === 'linux') expect((await server.peak_bytes()) - before).toBeLessThan(4 * size)
})

// Uploads by hand.

function fileHead(boundary: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n`
}

function postParts(client: Client, parts: string[]) {
  const body = `${parts.map((part) => `--xyz\r\n${part}\r\n`).join('')}--xyz--\r\n`
  return client.send('POST', '/attachments', body, { 'content-type': 'multipart/form-data; boundary=xyz' })
}

function uploadRequest(client: Client, body: ReadableStream, headers: Record<string, string> = {}): Request {
  const init: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers: {
      ...(client.token && { authorization: `Bearer ${client.token}` }),
      'content-type': 'multipart/form-data; boundary=x',
      ...headers,
    },
    body,
    duplex: 'half',
  }
  return new Request('http://localhost/api/v1/attachments', init)
}

/** A file that never ends, and how many bytes of it were asked for. */
function endlessUpload() {
  let count = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = count === 0 ? Buffer.from(fileHead('x')) : new Uint8Array(16_384)
        count += chunk.length
        controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
  return { body, pulled: () => count }
}

// Stored bytes.

async function countAttachments(organization_id: string): Promise<number> {
  const { sql } = connection()
  const [row] = await sql<{ count: number }[]>`
    select (select count(*) from attachments where organization_id = ${organization_id})
      + (select count(*) from storage_removals) as count`
  return row!.count
}

async function partialFiles(): Promise<string[]> {
  // The folder is made with the first upload.
  const names = await readdir(path.join(config.DATA_DIR, 'attachments', 'attachments')).catch(() => [])
  return names.filter((name) => name.endsWith('.partial'))
}

async function isStored(id: string): Promise<boolean> {
  const stream = await storage()
    .open(`attachments/${id}`)
    .catch(() => undefined)
  await stream?.cancel()
  return stream !== undefined
}

/** Gives an attachment the id of one that was uploaded two days ago. */
async function makeOld(id: string): Promise<string> {
  const { sql } = connection()
  const time = (Date.now() - 48 * 60 * 60 * 1000).toString(16).padStart(12, '0')
  const old = `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}`
  await sql`update attachments set id = ${old} where id = ${id}`
  return old
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname.replace('/api/v1', '') + search
}

/** The first result that is true and, if a list, not empty. */
async function until<T>(look: () => T | Promise<T>): Promise<T> {
  for (;;) {
    const result = await look()
    if (Array.isArray(result) ? result.length > 0 : result) return result
    await Bun.sleep(5)
  }
}

// The API in a process of its own.

async function startServer() {
  const script = path.join(import.meta.dir, '../../support/api-server.ts')
  // Garbage is collected as in the service, not as in tests.
  const env = { ...process.env, BUN_JSC_forceRAMSize: String(512 * 1024 * 1024) }
  const child = Bun.spawn([process.execPath, script], { env, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const { value } = await child.stdout.getReader().read()
  const { port, token } = JSON.parse(Buffer.from(value!).toString())
  const base = `http://127.0.0.1:${port}/api/v1/attachments`
  const headers = { authorization: `Bearer ${token}` }
  return {
    /** Uploads random bytes, downloads them, and compares. */
    async exchange(size: number) {
      const sent = createHash('sha256')
      const init = { method: 'POST', headers: { ...headers, 'content-type': 'multipart/form-data; boundary=x' } }
      const response = await fetch(base, { ...init, body: randomUpload(size, sent) as unknown as BodyInit })
      const { data } = await response.json()
      expect([response.status, data.size]).toEqual([201, size])
      const received = createHash('sha256')
      const content = await fetch(`${base}/${data.id}/content`, { headers })
      for await (const chunk of content.body!) received.update(chunk)
      expect(received.digest('hex')).toBe(sent.digest('hex'))
    },
    /** The most memory that the process ever had. */
    async peak_bytes(): Promise<number> {
      if (process.platform !== 'linux') return 0
      const status = await Bun.file(`/proc/${child.pid}/status`).text()
      return Number(/VmHWM:\s*(\d+) kB/.exec(status)?.[1]) * 1024
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await child.exited
    },
  }
}

async function* randomUpload(size: number, hash: ReturnType<typeof createHash>) {
  yield Buffer.from(fileHead('x'))
  for (let left = size; left > 0; left -= 65_536) {
    const chunk = crypto.getRandomValues(new Uint8Array(Math.min(left, 65_536)))
    hash.update(chunk)
    yield chunk
  }
  yield Buffer.from('\r\n--x--\r\n')
}
