/** Header injection: hostile names, subjects, ids and file names add no header line to the mail that leaves. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createMessage, createTicket, formOf } from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ address: 'help@desk.example' })
})
beforeEach(() => {
  desk.sink.messages.length = 0
})
afterAll(() => desk.stop())

const CONTACT = 'carla@customer.example'
/** As people type it, and as mail brings it. */
const TYPED = 'x\r\nBcc: evil@evil.example\r\nSubject: Evil\r\n\r\n<evil@evil.example>, "evil" <evil@evil.example>'
const ENCODED = '=?utf-8?q?x=0D=0ABcc:_evil@evil.example=0D=0A=0D=0A=3Cevil@evil.example=3E=00?='
const ENCODED_LF = '=?utf-8?b?eApCY2M6IGV2aWxAZXZpbC5leGFtcGxlCgpoaQ==?='

type Fields = Record<string, string | undefined>

/** The ticket of a message that came in. */
async function arrive(fields: Fields) {
  const mail = { From: CONTACT, To: desk.address, Subject: 'Printer', Message_ID: `<${newId()}@customer.example>` }
  return (await importMail(desk.admin, desk.mailbox_id, rawMail({ ...mail, ...fields }))).ticket_id
}

/** A mail to send: the ticket, and the fields of the answer besides its body. */
type Case = [string, () => Promise<{ ticket_id: string; message?: Record<string, unknown> }>]

const inbound = (name: string, fields: () => Fields): Case => [
  name,
  async () => ({ ticket_id: await arrive(fields()) }),
]

const CASES: Case[] = [
  inbound("a sender's name", () => ({ From: `${ENCODED} <${CONTACT}>` })),
  inbound("a sender's name with bare line feeds", () => ({ From: `"${ENCODED_LF}" <${CONTACT}>` })),
  inbound("a sender's name of lone carriage returns", () => ({ From: `"x\rBcc: evil@evil.example\r\r" <${CONTACT}>` })),
  inbound('a subject', () => ({ Subject: ENCODED })),
  inbound('a subject with bare line feeds', () => ({ Subject: `Printer ${ENCODED_LF}` })),
  inbound('a subject in a folded line', () => ({ Subject: 'x\r\n Bcc: evil@evil.example\r\n\tEvil: 1' })),
  inbound('a subject with separators of Unicode', () => ({
    Subject: '=?utf-8?q?x=E2=80=A8Bcc:_evil@evil.example=C2=85?=',
  })),
  inbound('a Message-ID', () => ({
    Message_ID: `<${newId()}=0D=0ABcc:evil@evil.example>\r\n\tBcc: evil@evil.example`,
  })),
  inbound('a Message-ID of encoded words', () => ({ Message_ID: `<${ENCODED}${newId()}@x>` })),
  inbound('a Message-ID beyond ASCII', () => ({ Message_ID: `<ü\u2028Bcc:evil@evil.example${newId()}>` })),
  inbound('a Message-ID that fills a line', () => ({ Message_ID: `<${newId()}${'x'.repeat(940)}@x>` })),
  inbound('a Message-ID without brackets', () => ({ Message_ID: `${newId()}@x\r\n Bcc: evil@evil.example` })),
  inbound('references', () => ({ References: `<a@b>\r\n\tBcc: evil@evil.example\r\n <${ENCODED}> <c@d\r\n Evil: 1>` })),
  inbound('references beyond ASCII', () => ({
    References: '<ü@ü> <\u2028Bcc:evil@evil.example>',
    In_Reply_To: '<a\0b@c>',
  })),
  inbound("participants' names and addresses", () => ({
    Cc: `${ENCODED} <bob@customer.example>, "${ENCODED_LF}" <dora@customer.example>, <"x\r\n Bcc: evil"@customer.example>`,
  })),
  inbound('an address that is two', () => ({
    From: '=?utf-8?q?a=40b.example=2Cevil=40evil.example?= <carla@customer.example>',
  })),
  [
    'a contact and a subject over the API',
    async () => {
      const answer = await desk.agent.post('/contacts', { name: TYPED, email: `c.${newId()}@customer.example` })
      const contact_id = answer.body.data?.id
      const fields = { subject: TYPED.slice(0, 200), ...(contact_id && { contact_id }) }
      return { ticket_id: (await createTicket(desk.agent, fields)).id }
    },
  ],
  [
    'a participant over the API',
    async () => {
      const ticket_id = await arrive({})
      for (const email of [
        'bob@customer.example',
        'evil@evil.example>\r\nRCPT TO:<evil@evil.example',
        'a@b.example,evil@evil.example',
      ]) {
        await desk.agent.post(`/tickets/${ticket_id}/participants`, { name: TYPED, email })
      }
      return { ticket_id }
    },
  ],
  [
    'the name of a file',
    async () => {
      const files = [
        `${TYPED}.txt`,
        'a"; filename="evil.exe',
        '=?utf-8?q?x=0D=0ABcc:_evil?=',
        `${'ü'.repeat(300)}\r\nBcc: evil`,
      ]
      const uploads = await Promise.all(files.map((name) => desk.agent.post('/attachments', formOf('x', name))))
      const attachment_ids = uploads.flatMap(({ body }) => body.data?.id ?? [])
      return { ticket_id: await arrive({}), message: { attachment_ids } }
    },
  ],
  [
    'the media type of a file',
    async () => {
      const form = formOf('x', 'a.txt', 'text/plain; charset="x\r\nBcc: evil@evil.example"')
      const { data } = (await desk.agent.post('/attachments', form)).body
      return { ticket_id: await arrive({}), message: { attachment_ids: data ? [data.id] : [] } }
    },
  ],
  ['the body', async () => ({ ticket_id: await arrive({}), message: { body: `--b\r\n${TYPED}\r\n.\r\n--b--` } })],
  [
    'the name of the mailbox',
    async () => {
      const own = await desk.admin.post('/mailboxes', {
        address: `m.${newId()}@desk.example`,
        name: TYPED,
        smtp: smtpTo(desk.sink),
      })
      const to = own.status === 201 ? own.body.data.id : desk.mailbox_id
      const raw = rawMail({ From: CONTACT, Subject: 'Printer', Message_ID: `<${newId()}@customer.example>` })
      return { ticket_id: (await importMail(desk.admin, to, raw)).ticket_id }
    },
  ],
]

/** In the order in which people read a header; nothing else may be in it. */
const FIELDS = [
  'From',
  'Reply-To',
  'To',
  'Cc',
  'Subject',
  'Message-ID',
  'In-Reply-To',
  'References',
  'Date',
  'MIME-Version',
]
const ALLOWED = [...FIELDS, 'Content-Type', 'Content-Transfer-Encoding']

test.each(CASES)('%s adds nothing to the mail that leaves', async (_, prepare) => {
  const { ticket_id, message } = await prepare()
  const { email_recipients } = await createMessage(desk.agent, ticket_id, message)
  await drain()
  expect(desk.sink.messages).toHaveLength(1)
  const { raw, to } = desk.sink.messages[0]!
  const wanted: string[] = email_recipients.map(({ email }: { email: string }) => email)
  expect(to).toEqual(wanted.filter((address) => !/[^\x21-\x7e]|"/.test(address)))
  expect(to.join()).not.toContain('evil')
  expect(
    Math.max(
      ...raw
        .toString('latin1')
        .split('\r\n')
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(998)
  const names = headerOf(raw).map((line) => line.slice(0, line.indexOf(':')))
  expect(names.filter((name) => !ALLOWED.includes(name))).toEqual([])
  expect(new Set(names).size).toBe(names.length)
  const mail = await simpleParser(raw)
  const shown = [mail.from, mail.to, mail.cc, mail.replyTo].flat().flatMap((list) => list?.value ?? [])
  expect(shown.map(({ address }) => address).filter((address) => address?.includes('evil'))).toEqual([])
  expect(mail.from!.value).toHaveLength(1)
  expect(mail.subject).toMatch(new RegExp(`^Re: .*\\[${(await readTicket(desk.agent, ticket_id)).code}\\]$`))
  expect(mail.text!.trim().length).toBeGreaterThan(0)
  for (const line of headerOf(raw).filter((line) => /^(References|In-Reply-To):/.test(line))) {
    expect(line).toMatch(/^[\w-]+:( <[!-;=?-~]+>)+$/)
  }
  expect(mail.messageId).toMatch(/^<[0-9a-z]{1,48}@desk\.example>$/)
})

/** The header's lines, unfolded. */
function headerOf(raw: Buffer): string[] {
  const header = raw.toString('latin1').split('\r\n\r\n')[0]!
  expect(header).not.toMatch(/[^\r]\n|\r[^\n]|[^\t\r\n -~]/)
  return header.replace(/\r\n[ \t]/g, ' ').split('\r\n')
}
