import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { findMailboxesByAddress, getMailboxSmtp } from '../../../src/mail/mailboxes/queries'
import { closeTransports } from '../../../src/mail/outbound/transport'
import { type Answer, type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { withSettings } from '../../support/settings'
import { startSmtpSink } from '../../support/smtp'

beforeAll(() => startApi())
afterAll(async () => {
  closeTransports()
  await stopApi()
})

const SMTP = { host: 'mail.acme.example', port: 587, security: 'starttls', username: 'ann' }
const PASSWORD = 'a mailbox password'

describe('creating', () => {
  test('a mailbox is returned with every field', async () => {
    const { admin, agent } = await createOrganization()
    const address = addressOf('Support')
    const fields = { name: ' Acme support ', active: true, is_default: true, plus_addressing: false, verp: true }
    const smtp = { ...SMTP, password: PASSWORD, nonsense: 1 }
    const answer = await admin.post('/mailboxes', { address: ` ${address} `, ...fields, smtp })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      address,
      ...fields,
      name: 'Acme support',
      smtp: { ...SMTP, auth: null },
      dkim: null,
      verp: true,
      signature: null,
      signature_format: null,
      quote: 'last',
      team_id: null,
      from_name: null,
      inlet: null,
      domain_verified: false,
      sending: { ok: true, error: null, failing_since: null, queued: 0 },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect((await agent.get(`/mailboxes/${answer.body.data.id}`)).body).toEqual(answer.body)
  })

  test('needs no more than an address: such a mailbox only receives', async () => {
    const { admin } = await createOrganization()
    const nothing = { name: null, smtp: null, active: null, plus_addressing: null, dkim: null, verp: null }
    const mailbox = await createMailbox(admin, nothing)
    const defaults = { name: null, active: true, is_default: true, plus_addressing: true, smtp: null }
    expect(mailbox).toMatchObject({ ...defaults, dkim: null, verp: false })
  })

  test.each([
    [{ address: 'nonsense' }, 'INVALID_EMAIL', '/address'],
    [{ address: 'support+tag@acme.example' }, 'INVALID_EMAIL', '/address'],
    [{ address: 7 }, 'INVALID_EMAIL', '/address'],
    [{ address: `a@${'b'.repeat(255)}.com` }, 'VALIDATION_ERROR', '/address'],
    [{ name: 'n'.repeat(256) }, 'VALIDATION_ERROR', '/name'],
    [{ smtp: 'mail.acme.example' }, 'VALIDATION_ERROR', '/smtp'],
    [{ smtp: { ...SMTP, host: '' } }, 'VALIDATION_ERROR', '/smtp/host'],
    [{ smtp: { ...SMTP, host: 'a b' } }, 'VALIDATION_ERROR', '/smtp/host'],
    [{ smtp: { ...SMTP, host: 'http://mail/' } }, 'VALIDATION_ERROR', '/smtp/host'],
    [{ smtp: { ...SMTP, port: 0 } }, 'VALIDATION_ERROR', '/smtp/port'],
    [{ smtp: { ...SMTP, port: 65_536 } }, 'VALIDATION_ERROR', '/smtp/port'],
    [{ smtp: { ...SMTP, port: 25.5 } }, 'VALIDATION_ERROR', '/smtp/port'],
    [{ smtp: { ...SMTP, security: 'ssl' } }, 'VALIDATION_ERROR', '/smtp/security'],
    [{ smtp: { ...SMTP, username: 'u'.repeat(256) } }, 'VALIDATION_ERROR', '/smtp/username'],
    [{ smtp: { ...SMTP, password: 'p'.repeat(256) } }, 'VALIDATION_ERROR', '/smtp/password'],
    [{ smtp: { host: 'h', port: 25 } }, 'VALIDATION_ERROR', '/smtp/security'],
  ])('is refused with %j', async (fields, code, path) => {
    const { admin } = await createOrganization()
    const mailbox = await createMailbox(admin)
    for (const answer of [
      await admin.post('/mailboxes', { address: 'a@b.com', ...fields }),
      await admin.patch(`/mailboxes/${mailbox.id}`, { name: 'Changed', ...fields }),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
    expect((await admin.get('/mailboxes')).body.data).toEqual([mailbox])
  })

  test('an address is used once in the whole service, without regard to case', async () => {
    const { admin } = await createOrganization()
    const other = await createOrganization()
    const { address } = await createMailbox(admin)
    for (const client of [admin, other.admin]) {
      const answer = await client.post('/mailboxes', { address: address.toUpperCase() })
      expectError(answer, 422, 'EMAIL_ALREADY_EXISTS')
      expect(answer.body.error.details.errors[0].path).toBe('/address')
    }
  })

  test('many at once leaves one default', async () => {
    const { admin } = await createOrganization()
    await Promise.all(Array.from({ length: 5 }, () => createMailbox(admin, { is_default: true })))
    expect(await defaultsOf(admin)).toHaveLength(1)
  })
})

describe('reading', () => {
  test('mailboxes are listed newest first, paged', async () => {
    const { admin, agent } = await createOrganization()
    const created = []
    for (let i = 0; i < 3; i++) created.push((await createMailbox(admin)).id)
    const answer = await agent.get('/mailboxes')
    expect(answer.body.meta).toEqual({ total: 3, page: 1, per_page: 20, next_cursor: null })
    expect(idsOf(answer)).toEqual([...created].reverse())
    const second = await agent.get('/mailboxes?page=2&per_page=2')
    expect([second.body.meta, idsOf(second)]).toEqual([
      { total: 3, page: 2, per_page: 2, next_cursor: null },
      [created[0]],
    ])
  })
})

describe('the default', () => {
  test('is the first mailbox until another is chosen', async () => {
    const { admin } = await createOrganization()
    const first = await createMailbox(admin, { is_default: false })
    const second = await createMailbox(admin)
    expect([first.is_default, second.is_default]).toEqual([true, false])
    const third = await createMailbox(admin, { is_default: true })
    expect(await defaultsOf(admin)).toEqual([third.id])
    await admin.patch(`/mailboxes/${second.id}`, { is_default: true })
    expect(await defaultsOf(admin)).toEqual([second.id])
  })

  test('is active while any mailbox is', async () => {
    const { admin } = await createOrganization()
    const first = await createMailbox(admin)
    const { id } = await createMailbox(admin, { active: false })
    const fault = { code: 'VALIDATION_ERROR', details: { errors: [{ path: '/is_default' }] } }
    for (const answer of [
      await admin.patch(`/mailboxes/${id}`, { is_default: true }),
      await admin.post('/mailboxes', { address: 'idle@desk.example', active: false, is_default: true }),
    ]) {
      expect(answer.status).toBe(422)
      expect(answer.body.error).toMatchObject(fault)
    }
    expect(await defaultsOf(admin)).toEqual([first.id])
  })

  test('cannot be given away without a successor', async () => {
    const { admin } = await createOrganization()
    const { id } = await createMailbox(admin)
    await createMailbox(admin)
    const answer = await admin.patch(`/mailboxes/${id}`, { is_default: false })
    expect([answer.status, answer.body.data.is_default]).toEqual([200, true])
  })

  test.each(['deleted', 'deactivated'])('that is %s is followed by the oldest active one', async (how) => {
    const { admin } = await createOrganization()
    const first = await createMailbox(admin)
    await createMailbox(admin, { active: false })
    const third = await createMailbox(admin)
    await createMailbox(admin)
    const path = `/mailboxes/${first.id}`
    if (how === 'deleted') await admin.delete(path)
    else await admin.patch(path, { active: false })
    expect(await defaultsOf(admin)).toEqual([third.id])
  })

  test('is each organization’s own', async () => {
    const { admin } = await createOrganization()
    const other = await createOrganization()
    const mine = await createMailbox(admin)
    const theirs = await createMailbox(other.admin, { is_default: true })
    expect([await defaultsOf(admin), await defaultsOf(other.admin)]).toEqual([[mine.id], [theirs.id]])
  })
})

describe('updating', () => {
  test('changes what is given and nothing else', async () => {
    const { admin } = await createOrganization()
    const mailbox = await createMailbox(admin, { name: 'Support', smtp: { ...SMTP, password: PASSWORD } })
    const path = `/mailboxes/${mailbox.id}`
    const before = { ...mailbox, updated_at: expect.any(String) }
    for (const changes of [
      { address: addressOf('changed') },
      { name: 'Help' },
      { plus_addressing: false },
      { verp: true },
      { smtp: { host: '192.0.2.1', port: 25, security: 'none', username: null, auth: null } },
      { active: false },
    ]) {
      Object.assign(before, changes)
      const answer = await admin.patch(path, changes.smtp ? { smtp: { ...changes.smtp, password: null } } : changes)
      expect([answer.status, answer.body.data]).toEqual([200, before])
    }
    expect((await admin.patch(path, { name: ' ', smtp: null })).body.data).toMatchObject({ name: null, smtp: null })
  })

  test('to an address that is used is refused', async () => {
    const { admin } = await createOrganization()
    const other = await createOrganization()
    const taken = await createMailbox(other.admin)
    const { id, address } = await createMailbox(admin)
    const answer = await admin.patch(`/mailboxes/${id}`, { address: taken.address.toUpperCase(), active: false })
    expectError(answer, 422, 'EMAIL_ALREADY_EXISTS')
    expect((await admin.get(`/mailboxes/${id}`)).body.data).toMatchObject({ address, active: true })
    expect((await admin.patch(`/mailboxes/${id}`, { address: address.toUpperCase() })).status).toBe(200)
  })
})

describe('the password', () => {
  test('is never shown', async () => {
    const { admin } = await createOrganization()
    const smtp = { ...SMTP, password: PASSWORD }
    const created = await admin.post('/mailboxes', { address: addressOf('secret'), smtp })
    const path = `/mailboxes/${created.body.data.id}`
    const answers = [created, await admin.get(path), await admin.get('/mailboxes'), await admin.patch(path, { smtp })]
    for (const answer of answers) {
      expect(answer.status).toBeLessThan(300)
      expect(answer.text).not.toContain('password')
      expect(answer.text).not.toContain(PASSWORD)
    }
  })

  test('is encrypted at rest', async () => {
    const { admin, scope } = await createOrganization()
    const first = await createMailbox(admin, { smtp: { ...SMTP, password: PASSWORD } })
    const second = await createMailbox(admin, { smtp: { ...SMTP, password: PASSWORD } })
    const rows = await scope.sql<{ smtp_password: string; everything: string }[]>`
      select smtp_password, mailboxes::text as everything from mailboxes where organization_id = ${scope.organization_id}`
    expect(rows).toHaveLength(2)
    for (const { smtp_password, everything } of rows) {
      expect(smtp_password).toMatch(/^[\w-]{8}\.[\w-]{40,}$/)
      expect(everything).not.toContain(PASSWORD)
      expect(everything).not.toContain(Buffer.from(PASSWORD).toString('base64url'))
    }
    expect(rows[0]!.smtp_password).not.toBe(rows[1]!.smtp_password)
    for (const { id } of [first, second]) expect((await getMailboxSmtp(scope, id))?.password).toBe(PASSWORD)
  })

  test('stays while host, port, security and username do, and goes with null or with the settings', async () => {
    const { admin, scope } = await createOrganization()
    const { id } = await createMailbox(admin, { smtp: { ...SMTP, password: PASSWORD } })
    const passwordAfter = async (smtp: object | null) => {
      expect((await admin.patch(`/mailboxes/${id}`, { smtp })).status).toBe(200)
      return (await getMailboxSmtp(scope, id))?.password
    }
    expect(await passwordAfter(SMTP)).toBe(PASSWORD)
    expect(await passwordAfter({ ...SMTP, host: ` ${SMTP.host} ` })).toBe(PASSWORD)
    expect(await passwordAfter({ ...SMTP, password: ' another ' })).toBe(' another ')
    expect(await passwordAfter({ ...SMTP, host: 'other.acme.example', password: PASSWORD })).toBe(PASSWORD)
    expect(await passwordAfter({ ...SMTP, password: null })).toBeNull()
    expect(await passwordAfter({ ...SMTP, port: 2525 })).toBeNull()
    await passwordAfter({ ...SMTP, password: PASSWORD })
    expect(await passwordAfter(null)).toBeUndefined()
    expect(await passwordAfter(SMTP)).toBeNull()
  })

  test.each([
    [{ host: '127.0.0.1' }],
    [{ port: 2525 }],
    [{ security: 'tls' }],
    [{ username: 'bob' }],
    [{ username: null }],
    [{ username: undefined }],
  ])('is needed again with %j, so that no other server gets it', async (change) => {
    const { admin, scope } = await createOrganization()
    const mailbox = await createMailbox(admin, { smtp: { ...SMTP, password: PASSWORD } })
    const path = `/mailboxes/${mailbox.id}`
    const answer = await admin.patch(path, { name: 'Changed', smtp: { ...SMTP, ...change } })
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe('/smtp/password')
    expect((await admin.get(path)).body.data).toEqual(mailbox)
    expect(await getMailboxSmtp(scope, mailbox.id)).toEqual({ ...SMTP, password: PASSWORD } as never)
    expect((await admin.patch(path, { smtp: { ...SMTP, ...change, password: null } })).status).toBe(200)
    expect((await getMailboxSmtp(scope, mailbox.id))?.password).toBeNull()
  })

  test('goes over no public network in plain text', async () => {
    const { admin } = await createOrganization()
    const { id } = await createMailbox(admin)
    const plain = { ...SMTP, security: 'none', password: PASSWORD }
    for (const host of ['192.0.2.1', 'mail.acme.example', 'name-of-nobody.invalid']) {
      for (const answer of [
        await admin.post('/mailboxes', { address: addressOf('plain'), smtp: { ...plain, host } }),
        await admin.patch(`/mailboxes/${id}`, { smtp: { ...plain, host } }),
      ]) {
        expectError(answer, 422, 'VALIDATION_ERROR')
        expect(answer.body.error.details.errors[0].path).toBe('/smtp/security')
      }
    }
    for (const smtp of [
      { ...plain, host: '127.0.0.1' },
      { ...plain, host: 'localhost' },
      { ...plain, password: null },
    ]) {
      expect([smtp, (await admin.patch(`/mailboxes/${id}`, { smtp })).status]).toEqual([smtp, 200])
    }
  })
})

describe('testing', () => {
  test('connects and signs in, and sends nothing', async () => {
    const { admin } = await createOrganization()
    using sink = await startSmtpSink({ auth: { user: 'ann', pass: PASSWORD } })
    const { id } = await createMailbox(admin, { smtp: smtpOf(sink, { username: 'ann', password: PASSWORD }) })
    const answer = await admin.post(`/mailboxes/${id}/test`)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({ ok: true, error: null, response_time_ms: expect.any(Number) })
    expect([sink.connections(), sink.messages.length]).toEqual([1, 0])
  })

  test('tells why it did not work', async () => {
    const { admin } = await createOrganization()
    using sink = await startSmtpSink({ auth: { user: 'ann', pass: PASSWORD } })
    const { id } = await createMailbox(admin, { smtp: smtpOf(sink, { username: 'ann', password: 'wrong password' }) })
    const answer = await admin.post(`/mailboxes/${id}/test`)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toMatchObject({ ok: false, error: expect.stringContaining('535 5.7.8') })
    expect(answer.text).not.toContain('wrong password')
  })

  test('a server that lets nobody sign in is not what the mailbox needs', async () => {
    const { admin } = await createOrganization()
    using sink = await startSmtpSink()
    const { id } = await createMailbox(admin, { smtp: smtpOf(sink, { username: 'ann', password: PASSWORD }) })
    const { ok, error } = (await admin.post(`/mailboxes/${id}/test`)).body.data
    expect([ok, error]).toEqual([false, expect.stringContaining('500')])
  })

  test('trusts no certificate of an unknown authority', async () => {
    const { admin } = await createOrganization()
    using sink = await startSmtpSink({ tls: 'tls' })
    const { id } = await createMailbox(admin, { smtp: smtpOf(sink, { security: 'tls' }) })
    expect((await admin.post(`/mailboxes/${id}/test`)).body.data).toMatchObject({
      ok: false,
      error: expect.stringMatching(/certificate/i),
    })
  })

  test('reaches no address that is not public, unless the operator allows it', async () => {
    const { admin } = await createOrganization()
    using sink = await startSmtpSink()
    const { id } = await createMailbox(admin, { smtp: smtpOf(sink) })
    const settings = withSettings({ MAIL_ALLOWED_NETWORKS: [] })
    const refused = await admin.post(`/mailboxes/${id}/test`)
    settings.restore()
    expect(refused.body.data.ok).toBe(false)
    expect(sink.connections()).toBe(0)
    expect((await admin.post(`/mailboxes/${id}/test`)).body.data.ok).toBe(true)
  })

  test('a mailbox that only receives says so', async () => {
    const { admin } = await createOrganization()
    const { id } = await createMailbox(admin)
    const answer = await admin.post(`/mailboxes/${id}/test`)
    expect([answer.status, answer.body.data.ok]).toEqual([200, false])
    expect(answer.body.data.error).toContain('only receives')
  })
})

describe('the mailbox of an address', () => {
  test('is found in any case and with a tag, while it is active', async () => {
    const { admin, id, scope } = await createOrganization()
    const mailbox = await createMailbox(admin)
    const found = { organization_id: id, id: mailbox.id, address: mailbox.address, is_active: true }
    const find = async (address: string) => (await findMailboxesByAddress(scope.sql, [address]))[0]
    const [local, domain] = mailbox.address.split('@')
    for (const address of [mailbox.address, mailbox.address.toUpperCase(), `${local}+a.b@${domain}`]) {
      expect(await find(address)).toMatchObject(found)
    }
    expect(await find(`x${mailbox.address}`)).toBeNull()
    await admin.patch(`/mailboxes/${mailbox.id}`, { active: false })
    expect(await find(mailbox.address)).toMatchObject({ is_active: false })
  })
})

describe('deleting', () => {
  test('answers 204, and the address is free again', async () => {
    const { admin } = await createOrganization()
    const { id, address } = await createMailbox(admin)
    const answer = await admin.delete(`/mailboxes/${id}`)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expectError(await admin.get(`/mailboxes/${id}`), 404, 'MAILBOX_NOT_FOUND')
    expect((await createMailbox(admin, { address })).is_default).toBe(true)
  })
})

async function createMailbox(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/mailboxes', { address: addressOf('support'), ...fields })
  if (answer.status !== 201) throw new Error(`creating a mailbox answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

function addressOf(name: string): string {
  return `${name}.${newId()}@acme.example`
}

function smtpOf({ port }: { port: number }, fields: Record<string, unknown> = {}) {
  return { host: '127.0.0.1', port, security: 'none', ...fields }
}

async function defaultsOf(client: Client): Promise<string[]> {
  const mailboxes: { id: string; is_default: boolean }[] = (await client.get('/mailboxes')).body.data
  return mailboxes.filter(({ is_default }) => is_default).map(({ id }) => id)
}

function idsOf(answer: Answer): string[] {
  return answer.body.data.map(({ id }: { id: string }) => id)
}
