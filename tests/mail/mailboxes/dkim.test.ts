/** DKIM (RFC 6376): the keys of mailboxes, and signatures that another implementation verifies. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ipaddr from 'ipaddr.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { decrypt, useSecrets } from '../../../src/base/secrets'
import { dkimRecord } from '../../../src/mail/mailboxes/dkim'
import { type CustomerReply, composeReply } from '../../../src/mail/outbound/compose'
import { closeTransports, sendMail } from '../../../src/mail/outbound/transport'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createContact, createMessage, createTicket, uploadFile } from '../../support/factories'
import { drain } from '../../support/mail'
import { until } from '../../support/service'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { type SmtpSink, startSmtpSink } from '../../support/smtp'

/** The key that `startApi` sets. */
const SECRET = 'a secret key that only tests use'
const RECORD = /^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]+=*$/
/** Short, because making a key takes long. */
const { privateKey: KEY, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const SIGNER = { domain: 'acme.test', selector: 's1', private_key: pemOf(KEY) }

let settings: ChangedSettings
let sink: SmtpSink
/** Nothing else puts files there. */
const folder = mkdtempSync(path.join(tmpdir(), 'dkim-'))
const { TMPDIR } = process.env

beforeAll(async () => {
  process.env.TMPDIR = folder
  settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  await startApi()
  sink = await startSmtpSink()
})
beforeEach(() => {
  sink.answer()
  sink.messages.length = 0
})
afterAll(async () => {
  settings.restore()
  closeTransports()
  sink[Symbol.dispose]()
  if (TMPDIR === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = TMPDIR
  rmSync(folder, { recursive: true })
  await stopApi()
})

describe('the key of a mailbox', () => {
  const dkim = { domain: 'acme.example', selector: 'desk' }

  test('is made with 2048 bits, and shows its DNS record', async () => {
    const { admin } = await createOrganization()
    const mailbox = await createMailbox(admin, { dkim: { domain: ' ACME.example ', selector: ' desk ' } })
    expect(mailbox.dkim).toEqual({
      ...dkim,
      dns_record: { name: 'desk._domainkey.acme.example', value: expect.stringMatching(RECORD) },
    })
    expect(publicKeyOf(mailbox).asymmetricKeyDetails).toMatchObject({ modulusLength: 2048 })
    const other = await createMailbox(admin, { dkim })
    expect(other.dkim.dns_record.value).not.toBe(mailbox.dkim.dns_record.value)
  })

  test('is refused with the path of what is wrong, on create and update', async () => {
    const { admin } = await createOrganization()
    const { id, ...mailbox } = await createMailbox(admin, { address: `${newId()}@b.example` })
    const good = { domain: 'b.example', selector: 'desk', private_key: pemOf(KEY) }
    const { privateKey: short } = generateKeyPairSync('rsa', { modulusLength: 896 })
    const { privateKey: curve } = generateKeyPairSync('ed25519')
    const locked = KEY.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    const wrong: [path: string, dkim: unknown][] = [
      ['/dkim', 'b.example'],
      ['/dkim/selector', { ...good, selector: undefined }],
      ...['', 'a b', 'a;p=', '-a', 'a..b', 'ä', 'x'.repeat(64)].map((selector) => at('selector', selector)),
      ...['', 'example', 'other.example', 'a.b.example', 'xb.example', 'b.example/'].map((domain) =>
        at('domain', domain),
      ),
      ...['', 'secret', pemOf(short), pemOf(curve), locked, publicKey.export({ type: 'spki', format: 'pem' })].map(
        (private_key) => at('private_key', private_key.toString()),
      ),
    ]
    for (const [path, dkim] of wrong) {
      const created = await admin.post('/mailboxes', { address: `${newId()}@b.example`, dkim })
      expectError(created, 422, 'VALIDATION_ERROR')
      expect(created.body.error.details.errors[0].path).toBe(path)
      const updated = await admin.patch(`/mailboxes/${id}`, { dkim })
      expectError(updated, 422, 'VALIDATION_ERROR')
      expect(updated.body.error.details.errors[0].path).toStartWith('/dkim')
    }
    expect((await admin.get('/mailboxes')).body.data).toEqual([{ id, ...mailbox }])

    function at(field: string, value: string): [string, unknown] {
      return [`/dkim/${field}`, { ...good, [field]: value }]
    }
  })

  test('takes a key in either form and derives its public key', async () => {
    const { admin } = await createOrganization()
    const forms = [pemOf(KEY), `\n${KEY.export({ type: 'pkcs1', format: 'pem' })}`.replaceAll('\n', '\r\n')]
    for (const private_key of forms) {
      const mailbox = await createMailbox(admin, { dkim: { ...dkim, private_key } })
      expect(publicKeyOf(mailbox).equals(publicKey)).toBe(true)
    }
  })

  test('signs for the domain of the address or one above it, international ones too', async () => {
    const { admin } = await createOrganization()
    const address = (domain: string) => `${newId()}@${domain}`
    const above = await createMailbox(admin, { address: address('mail.acme.example'), dkim })
    expect(above.dkim.domain).toBe('acme.example')
    const idn = { ...dkim, domain: 'bücher.example' }
    const mailbox = await createMailbox(admin, { address: address('Bücher.example'), dkim: idn })
    expect(mailbox.dkim).toMatchObject({
      domain: 'xn--bcher-kva.example',
      dns_record: { name: 'desk._domainkey.xn--bcher-kva.example' },
    })
  })

  test('never shows the private key, and encrypts it at rest', async () => {
    const { admin, scope } = await createOrganization()
    const private_key = pemOf(KEY)
    const body = { address: `${newId()}@acme.example`, dkim: { ...dkim, private_key } }
    const created = await admin.post('/mailboxes', body)
    const path = `/mailboxes/${created.body.data.id}`
    const answers = [created, await admin.get(path), await admin.get('/mailboxes'), await admin.patch(path, body)]
    for (const { status, text } of answers) {
      expect(status).toBeLessThan(300)
      expect(text).not.toMatch(/private/i)
    }
    const [row] = await scope.sql<{ dkim_private_key: string; everything: string }[]>`
      select dkim_private_key, mailboxes::text as everything from mailboxes where id = ${created.body.data.id}`
    expect(row!.everything).not.toContain('PRIVATE')
    expect(
      decrypt(row!.dkim_private_key, {
        column: 'mailboxes.dkim_private_key',
        organization_id: scope.organization_id,
        id: created.body.data.id,
      }),
    ).toBe(private_key)
  })

  test('keeps the key as long as its record stays where it is', async () => {
    const { admin } = await createOrganization()
    const { id, dkim: first } = await createMailbox(admin, { dkim: { ...dkim, private_key: pemOf(KEY) } })
    const after = async (changes: object) => {
      const { status, body } = await admin.patch(`/mailboxes/${id}`, changes)
      expect(status).toBe(200)
      return body.data.dkim
    }
    expect(await after({ name: 'Signer' })).toEqual(first)
    expect(await after({ dkim })).toEqual(first)
    expect(await after({ dkim: { ...dkim, private_key: null } })).toEqual(first)
    const second = await after({ dkim: { ...dkim, selector: 'next' } })
    expect(second.dns_record.name).toBe('next._domainkey.acme.example')
    expect(second.dns_record.value).not.toBe(first.dns_record.value)
    expect((await after({ dkim: { ...dkim, private_key: pemOf(KEY) } })).dns_record).toEqual(first.dns_record)
    expect(await after({ dkim: null })).toBeNull()
  })

  test('does not stay behind when the address moves to another domain', async () => {
    const { admin } = await createOrganization()
    const { id } = await createMailbox(admin, { dkim })
    const address = `${newId()}@other.example`
    const answer = await admin.patch(`/mailboxes/${id}`, { address })
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe('/dkim/domain')
    expect((await admin.patch(`/mailboxes/${id}`, { address, dkim: null })).status).toBe(200)
  })

  test('is read with the previous secret key, and says so when it cannot be read', async () => {
    const { admin } = await createOrganization()
    const { id, dkim: made } = await createMailbox(admin, { dkim })
    const read = async () => (await admin.get(`/mailboxes/${id}`)).body.data.dkim
    try {
      useSecrets('another secret key', SECRET)
      expect(await read()).toEqual(made)
      await connection().sql`update mailboxes set dkim_private_key = 'unreadable' where id = ${id}`
      expect(await read()).toEqual({ ...dkim, dns_record: null })
      const again = (await admin.patch(`/mailboxes/${id}`, { dkim })).body.data.dkim
      expect(again.dns_record.value).toMatch(RECORD)
    } finally {
      useSecrets(SECRET)
    }
  })
})

test('writes of others do not wait for the keys that one organization makes', async () => {
  const [busy, other] = [(await createOrganization()).admin, (await createOrganization()).admin]
  const domain = `${newId()}.example`
  const { id } = (await busy.post('/mailboxes', { address: `support@${domain}` })).body.data
  let changed = 0
  const changes = Array.from({ length: 20 }, async (_, number) => {
    const answer = await busy.patch(`/mailboxes/${id}`, { dkim: { domain, selector: `s${number}` } })
    changed++
    return answer.status
  })
  await createContact(other)
  // Twenty that wait for each other with a connection each leave none of the five to others until 15 are changed.
  expect(changed).toBeLessThan(10)
  expect(new Set(await Promise.all(changes))).toEqual(new Set([200]))
})

describe('a signature', () => {
  test('of an answer verifies with the record that the mailbox shows, whoever holds the secret key by then', async () => {
    const { admin, agent } = await createOrganization('Größe & Co')
    const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
    const address = `help.${newId()}@mail.bücher.example`
    const mailbox = await createMailbox(admin, {
      address,
      smtp,
      dkim: { domain: 'bücher.example', selector: 'd.2026' },
    })
    const contact = await createContact(agent, { name: 'Jörg "J" 王' })
    const ticket = await createTicket(agent, { contact_id: contact.id, subject: `Größe ${'报告书'.repeat(40)}` })
    const file = await uploadFile(agent, 'a\r\nb\n.\n', 'Übersicht.txt')
    try {
      useSecrets('another secret key', SECRET)
      await createMessage(agent, ticket.id, { body: '<p>Ünd <b>so</b></p>', attachment_ids: [file.id] })
      await drain()
    } finally {
      useSecrets(SECRET)
    }
    const [mail] = await sink.waitFor(1)
    const [result, ...more] = await verify(mail!.raw, mailbox.dkim.dns_record)
    expect(more).toHaveLength(0)
    expect(result).toMatchObject({
      signingDomain: 'xn--bcher-kva.example',
      selector: 'd.2026',
      status: { result: 'pass' },
    })
    const signed = ['from', 'to', 'subject', 'date', 'message-id', 'reply-to', 'mime-version', 'content-type']
    const names = result!.signingHeaders?.keys.toLowerCase().split(/[:\s]+/)
    expect(names).toEqual(expect.arrayContaining(signed))

    const changed = Buffer.from(mail!.raw.toString('latin1').replace('\r\nSubject: ', '\r\nSubject: x'), 'latin1')
    expect((await verify(changed, mailbox.dkim.dns_record))[0]?.status.result).toBe('fail')
    const longer = Buffer.concat([mail!.raw, Buffer.from('More\r\n')])
    expect((await verify(longer, mailbox.dkim.dns_record))[0]?.status).toMatchObject({
      comment: 'body hash did not verify',
    })
  })

  test('is there only when the mailbox has a key', async () => {
    await send({ dkim: null })
    expect((await sink.waitFor(1))[0]!.raw.toString()).not.toMatch(/dkim/i)
  })

  test('holds for every form of text', async () => {
    const texts = [
      '',
      ' ',
      'a\n\n\n',
      'a\r\n \t \r\n',
      '.\n..\n',
      'x'.repeat(5000),
      'ä'.repeat(3000),
      'a\rb',
      'a\r\rb\n\r',
      'a \tb  c',
      '\u00a0',
    ]
    for (const text of texts)
      await send({ text, html: `<p>${text}</p>`, subject: text, from: { name: text, address: 'a@acme.test' } })
    const record = dkimRecord(SIGNER.domain, SIGNER.selector, SIGNER.private_key)
    for (const { raw } of await sink.waitFor(texts.length)) {
      expect((await verify(raw, record)).map(({ status }) => status.result)).toEqual(['pass'])
    }
  })

  test('of a large message waits in a file and not in memory, and nothing stays behind', async () => {
    const record = dkimRecord(SIGNER.domain, SIGNER.selector, SIGNER.private_key)
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>()
    sink.answer(({ stage }) => (stage === 'rcpt' ? held : undefined))
    const sending = send({ attachments: [large()] })
    await until('the message waits in a file', () => readdirSync(folder).length === 1)
    release(undefined)
    await sending
    const [mail] = await sink.waitFor(1)
    expect((await verify(mail!.raw, record))[0]?.status.result).toBe('pass')
    await until('the file is gone', () => readdirSync(folder).length === 0)

    sink.answer(({ stage }) => (stage === 'rcpt' ? '550 5.1.1 No' : undefined))
    expect((await send({ attachments: [large()] })).rejected).toMatchObject([{ address: 'ann@customer.test' }])
    await until('the file of a refused message is gone', () => readdirSync(folder).length === 0)
  })

  test('of what cannot be read to its end is none: the server gets no message', async () => {
    const content = async function* () {
      yield Buffer.alloc(3_000_000)
      throw new Error('storage gone')
    }
    const sending = send({ attachments: [{ filename: 'a', content_type: 'image/png', content }] })
    await expect(sending).rejects.toMatchObject({ verdict: 'own' })
    await until('the file is gone', () => readdirSync(folder).length === 0)
    expect(sink.messages).toHaveLength(0)
  })
})

function large() {
  const content = async function* () {
    for (let i = 0; i < 40; i++) yield Buffer.alloc(100_000, i)
  }
  return { filename: 'large.bin', content_type: 'image/png', content }
}

function send(changes: Partial<CustomerReply>) {
  const reply: CustomerReply = {
    from: { name: 'Support', address: 'a@acme.test' },
    to: [{ address: 'ann@customer.test' }],
    subject: 'Printer',
    code: 'ACME-1',
    message_id: `${newId()}@acme.test`,
    text: 'Try again.',
    html: '<p>Try again.</p>',
    dkim: SIGNER,
    ...changes,
  }
  const allowed = [ipaddr.parseCIDR('127.0.0.0/8')]
  return sendMail({ host: '127.0.0.1', port: sink.port, security: 'none' }, composeReply(reply), { allowed })
}

/** Verifies the signatures with mailauth, and a DNS that has one record. */
async function verify(raw: Buffer, record: { name: string; value: string }) {
  const resolver = async (name: string) => {
    if (name !== record.name) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return [[record.value.slice(0, 200), record.value.slice(200)]]
  }
  return (await dkimVerify(raw, { resolver })).results
}

async function createMailbox(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/mailboxes', { address: `${newId()}@acme.example`, ...fields })
  if (answer.status !== 201) throw new Error(`creating a mailbox answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

function publicKeyOf(mailbox: { dkim: { dns_record: { value: string } } }): KeyObject {
  const key = Buffer.from(mailbox.dkim.dns_record.value.replace(/^.*p=/, ''), 'base64')
  return createPublicKey({ key, format: 'der', type: 'spki' })
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}
