/** Letters of the service hold links that open an account: no mailbox shows them to the people of an organization. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeStoredBytes } from '../../../src/desk/attachments/removals'
import { storage } from '../../../src/desk/attachments/storage'
import { stranger } from '../../support/api'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { lastLetterTo } from '../../support/letters'
import { deliver, drain, importMail, ledgerOf, rawMail } from '../../support/mail'
import { withSettings } from '../../support/settings'
import { buildMail, sendMail } from '../../support/smtp'

let started: StartedDesk

beforeAll(async () => {
  started = await startDesk()
})
afterAll(() => started.stop())

type Letter = { link: string; token: string; raw: Buffer }

async function forgotten(desk: Desk): Promise<Letter> {
  const { email } = desk.agent
  await stranger().post('/auth/password/forgot', { email })
  return sentTo(email)
}

async function invited(desk: Desk): Promise<Letter> {
  const email = `ivy.${newId()}@visitor.example`
  await desk.admin.post('/users', { email, name: 'Ivy' })
  return sentTo(email)
}

async function sentTo(email: string): Promise<Letter> {
  await drain()
  const { link, token } = await lastLetterTo(started.sink, email)
  expect(token).toMatch(/^[\w-]{43}$/)
  return { link, token, raw: started.sink.messages.at(-1)!.raw }
}

/** Delivers to the mailbox, and says what the organization sees of it. */
async function receive(desk: Desk, raw: Uint8Array, from = 'ivy@visitor.example') {
  await deliver(started.port, { from, to: desk.address, raw })
  const [row] = await ledgerOf(desk)
  const original = await desk.admin.get(`/inbound-messages/${row.id}/raw`)
  const { total } = (await desk.admin.get('/tickets')).body.meta
  return { outcome: row.outcome, ticket_id: row.ticket_id, original: original.status, tickets: total }
}

const DROPPED = { outcome: 'own', ticket_id: null, original: 404, tickets: 0 }

function mail(fields: Record<string, string>, body: string): Buffer {
  return rawMail(
    { From: 'ivy@visitor.example', Subject: 'Out of office', Message_ID: `<${newId()}@x>`, ...fields },
    body,
  )
}

function quotedPrintable(text: string): string {
  const lines = text.replaceAll('=', '=3D').match(/.{1,60}/g) ?? []
  return lines.map((line) => line.replace(/(=3?)$/, '$1')).join('=\r\n')
}

const FORMS: [string, (letter: Letter) => Buffer | Promise<Buffer>][] = [
  ['itself', ({ raw }) => raw],
  ['quoted', ({ link }) => mail({ Auto_Submitted: 'auto-replied' }, `I am away.\n\n> Open this link:\n> ${link}`)],
  [
    'rewritten by Proofpoint',
    ({ link }) => {
      const escaped = link.replace(/[-_:?=]/g, (sign) => `-${sign.charCodeAt(0).toString(16).toUpperCase()}`)
      return mail({}, `https://urldefense.proofpoint.com/v2/url?u=${escaped.replaceAll('/', '_')}&d=DwMF&c=x`)
    },
  ],
  ['wrapped', ({ link }) => mail({}, `> ${link.slice(0, -20)}\n> > ${link.slice(-20)}\n> bye`)],
  [
    'wrapped in HTML',
    ({ link }) => mail({ Content_Type: 'text/html' }, `<p>${link.slice(0, -9)}<br>\n${link.slice(-9)}</p>`),
  ],
  ['in HTML alone', ({ link }) => mail({ Content_Type: 'text/html' }, `<a href="${link}">here</a>`)],
  [
    'in HTML as entities',
    ({ link }) => mail({ Content_Type: 'text/html' }, `<a href="${link.replace('=', '&#61;')}">here</a>`),
  ],
  ['in quoted-printable', ({ link }) => mail({ Content_Transfer_Encoding: 'quoted-printable' }, quotedPrintable(link))],
  [
    'in base64',
    ({ link }) => mail({ Content_Transfer_Encoding: 'base64' }, Buffer.from(`See ${link}`).toString('base64')),
  ],
  [
    'in UTF-16',
    ({ link }) =>
      mail(
        { Content_Type: 'text/plain; charset=utf-16le', Content_Transfer_Encoding: 'base64' },
        Buffer.from(`See ${link}`, 'utf16le').toString('base64'),
      ),
  ],
  [
    'behind a gateway that rewrites links',
    ({ link }) => mail({}, `https://safe.example/?url=${encodeURIComponent(link)}&data=05%7C01`),
  ],
  [
    'attached as a message',
    ({ raw }) =>
      mail(
        { Content_Type: 'multipart/mixed; boundary=b' },
        `--b\n\nSee\n--b\nContent-Type: message/rfc822\n\n${raw.toString('latin1')}\n--b--`,
      ),
  ],
  [
    'attached as a file in base64, whose text is base64',
    async ({ link }) => {
      const inner = mail({ Content_Transfer_Encoding: 'base64' }, Buffer.from(link).toString('base64'))
      return buildMail({
        from: 'ivy@visitor.example',
        to: 'x@desk.example',
        subject: 'See',
        text: 'See',
        attachments: [{ filename: 'letter.eml', content: inner, contentType: 'application/octet-stream' }],
      })
    },
  ],
  [
    'returned by a server',
    ({ raw }) =>
      mail(
        { From: 'mailer-daemon@mx.example', Content_Type: 'multipart/report; report-type=delivery-status; boundary=b' },
        `--b\nContent-Type: message/delivery-status\n\nFinal-Recipient: rfc822; x@y.example\nAction: failed\nStatus: 5.1.1\n--b\nContent-Type: message/rfc822\n\n${raw.toString('latin1')}\n--b--`,
      ),
  ],
]

test.each(FORMS)('a letter with a link that is valid is dropped with its original: %s', async (_, form) => {
  const desk = await started.createDesk()
  for (const letter of [await forgotten(desk), await invited(desk)]) {
    const raw = await form(letter)
    expect(await receive(desk, raw)).toEqual(DROPPED)
    // The same once more is no duplicate whose original is kept.
    expect(await receive(desk, raw, '')).toEqual(DROPPED)
  }
})

test('the bytes of a dropped letter are removed, also those of an import', async () => {
  const desk = await started.createDesk()
  const { raw } = await forgotten(desk)
  await sendMail({ port: started.port, from: 'ivy@visitor.example', to: desk.address, raw })
  const keys = async () =>
    (
      await connection().sql<{ storage_key: string | null }[]>`
      select storage_key from inbound_messages where organization_id = ${desk.id}`
    ).flatMap(({ storage_key }) => storage_key ?? [])
  const [key] = await keys()
  const [pending] = await ledgerOf(desk)
  expect((await desk.admin.get(`/inbound-messages/${pending.id}/raw`)).status).toBe(404)
  await drain()
  expect(await importMail(desk.admin, desk.mailbox_id, raw)).toMatchObject({ outcome: 'own', ticket_id: null })
  expect(await keys()).toEqual([])
  await removeStoredBytes(connection())
  expect(storage().read(key!)).rejects.toThrow()
})

test('a letter of one organization is dropped by the mailbox of another', async () => {
  const [desk, other] = [await started.createDesk(), await started.createDesk()]
  const { raw } = await forgotten(desk)
  expect(await receive(other, raw)).toEqual(DROPPED)
})

test('a letter is known by its link at whatever page the operator has set', async () => {
  using _ = withSettings({ INVITATION_URL: 'https://intra.firm.example/join#start' })
  const desk = await started.createDesk()
  const { link } = await invited(desk)
  expect(link).toMatch(/^https:\/\/intra\.firm\.example\/join\?token=.*#start$/)
  expect(await receive(desk, mail({}, `Away.\n> ${link}`))).toEqual(DROPPED)
})

test('mail with a link that opens nothing is filed like any other', async () => {
  const desk = await started.createDesk()
  const { token, link } = await forgotten(desk)
  await stranger().post('/auth/password/reset', { token, new_password: 'a new password' })
  const used = mail({}, `This link does not work: ${link}`)
  const foreign = mail({}, `https://shop.example/?token=${'x'.repeat(43)}`)
  for (const raw of [used, foreign]) {
    expect(await receive(desk, raw)).toMatchObject({ outcome: 'ticket', original: 200 })
  }
})
