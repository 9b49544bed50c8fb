/** The words of people become visible in mail that looks like a report, an echo of ours or a second delivery. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/base/db/columns'
import { bounceAddress, replyAddress } from '../../../src/desk/messages/anchors'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { tries } from '../../support/sampled'

const CONTACT = 'carla@customer.example'
const DATE = 'Sat, 21 Nov 2026 10:00:00 +0000'
const LIST = { List_Id: '<team.lists.example>' }

let started: StartedDesk
let desk: Desk

beforeAll(async () => {
  started = await startDesk()
})
beforeEach(async () => {
  started.sink.messages.length = 0
  desk = await started.createDesk()
})
afterAll(() => started.stop())

type Fields = Record<string, string | undefined>

/** Delivers over SMTP. @param from the envelope sender @returns the ledger row */
async function receive(fields: Fields, body?: string, from = CONTACT, to = desk.address) {
  const header = { From: CONTACT, To: to, Subject: 'Pump', Message_ID: `<${newId()}@customer.example>`, Date: DATE }
  await deliver(started.port, { from, to, raw: rawMail({ ...header, ...fields }, body) })
  return (await ledgerOf(desk))[0]
}

/** A ticket of the contact that an answer of ours has resolved. */
async function resolve(text = 'Turn the blue valve.\n\nYour team') {
  const { ticket_id } = await receive({})
  const { id, email_message_id } = await createMessage(desk.agent, ticket_id, { body: text })
  await drain()
  await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
  return { ticket_id, id, ours: `<${email_message_id}>`, tagged: replyAddress(desk.address, ticket_id) }
}

async function bodiesOf(ticket_id: string): Promise<string[]> {
  const { messages } = await readTicket(desk.agent, ticket_id)
  return messages.map(({ body }: { body: string }) => body.trim())
}

async function ticketCount(): Promise<number> {
  return (await desk.agent.get('/tickets')).body.meta.total
}

test.each<[string, Fields]>([
  ['a fax', { From: 'Fax 4711 <fax@gateway.example>', Subject: 'Fax of +49 30 4711, 2 pages' }],
  ['a form', { From: 'Website <www@firm.example>', Subject: 'Contact form' }],
  ['a person', {}],
])('mail of %s with the null sender opens a ticket', async (_, fields) => {
  const row = await receive(fields, 'Please call me back.', '')
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  const { messages } = await readTicket(desk.agent, row.ticket_id)
  expect(messages[0]).toMatchObject({ auto_reply: false, body: expect.stringContaining('call me back') })
})

test('an answer with the null sender joins its ticket and reopens it, and nothing answers it', async () => {
  const { ticket_id, ours, tagged } = await resolve()
  started.sink.messages.length = 0
  const row = await receive({ In_Reply_To: ours, Subject: 'Re: Pump' }, 'It still leaks.', '', tagged)
  expect(row).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id })
  const ticket = await readTicket(desk.agent, ticket_id)
  expect([ticket.status, ticket.messages.at(-1).auto_reply]).toEqual(['open', false])
  expect(started.sink.messages).toEqual([])
})

test.each<[string, Fields]>([
  ['its header', { Auto_Submitted: 'auto-replied' }],
  ['its subject', { Subject: 'Automatic reply: Pump' }],
])('mail with the null sender whose automatic nature %s says reopens nothing', async (_, fields) => {
  const { ticket_id, ours } = await resolve()
  expect(await receive({ In_Reply_To: ours, ...fields }, 'Away', '')).toMatchObject({ outcome: 'message', ticket_id })
  const ticket = await readTicket(desk.agent, ticket_id)
  expect([ticket.status, ticket.messages.at(-1).auto_reply]).toEqual(['resolved', true])
})

test('what comes with the null sender to a bounce address, or from a mail system, is a report', async () => {
  const { id, ours } = await resolve()
  const expected = { outcome: 'bounce', message_id: id }
  expect(await receive({}, 'Gone', '', bounceAddress(desk.address, id))).toMatchObject(expected)
  expect(await receive({ From: 'mailer-daemon@mx.example', In_Reply_To: ours }, 'Gone', '')).toMatchObject(expected)
  expect(await receive({ From: 'postmaster@mx.example' }, 'Gone', '')).toMatchObject({ outcome: 'unmatched_bounce' })
  expect(await ticketCount()).toBe(1)
})

test('words under our Message-ID or Reply-To are filed, and the copied id leads nowhere', async () => {
  const { ticket_id, ours, tagged } = await resolve()
  const copies: Fields[] = [
    { Message_ID: ours },
    { Message_ID: ours, From: 'eve@attacker.example' },
    { Reply_To: tagged },
    { Message_ID: ours, From: desk.address },
  ]
  for (const fields of copies) {
    const row = await receive(fields, 'Please call 4711.', 'eve@attacker.example')
    expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
    expect(await bodiesOf(row.ticket_id)).toEqual(['Please call 4711.'])
  }
  expect(await bodiesOf(ticket_id)).toHaveLength(2)
  const answer = await receive({ In_Reply_To: ours, From: 'dora@customer.example' }, 'Done')
  expect(answer).toMatchObject({ outcome: 'message', ticket_id })
})

test('an answer that copies our Message-ID and quotes our text joins its ticket', async () => {
  const { ticket_id, ours } = await resolve()
  const body = 'It still leaks.\n\n> Turn the blue valve.\n>\n> Your team'
  const row = await receive({ Message_ID: ours, References: ours, ...LIST }, body)
  expect(row).toMatchObject({ outcome: 'message', rule: 'references', ticket_id })
  expect((await readTicket(desk.agent, ticket_id)).status).toBe('open')
})

test.each<[string, (ids: { ours: string; tagged: string }) => Fields, string, string]>([
  ['in other lines', ({ ours }) => ({ Message_ID: ours }), 'Turn the\nblue valve. \n\n\nYour team ', 'own'],
  ['with words around it', ({ ours }) => ({ Message_ID: ours }), 'Hi!\n\nTurn the blue valve.\n\nYour team', 'ticket'],
  [
    'with the footer of a list',
    ({ tagged }) => ({ Reply_To: tagged, ...LIST }),
    '[Team]\nTurn the blue valve.\n\nYour team\n_____\nTeam list',
    'own',
  ],
  ['cut', ({ tagged }) => ({ Reply_To: tagged, ...LIST }), 'Turn the blue valve.', 'ticket'],
])('our text that comes back %s is our own mail only as a whole', async (_, fields, body, outcome) => {
  const sent = await resolve()
  expect(await receive(fields(sent), body, 'echo@relay.example')).toMatchObject({ outcome })
})

test('our text with words around it is our own mail when it comes from our mailbox', async () => {
  const { ours } = await resolve()
  const body = 'External mail!\n\nTurn the blue valve.\n\nYour team'
  expect(await receive({ Message_ID: ours, From: desk.address }, body)).toMatchObject({ outcome: 'own' })
})

test.each([DATE, undefined])(
  'another text under the same Message-ID, dated %s, joins the ticket of the first',
  async (date) => {
    const again = { Message_ID: '<again@customer.example>', Date: date }
    const { ticket_id } = await receive(again, 'The pump leaks.')
    await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
    expect(await receive(again, ' The pump\nleaks.\n')).toMatchObject({ outcome: 'duplicate', ticket_id: null })
    const row = await receive(again, 'And it smokes.')
    expect(row).toMatchObject({ outcome: 'message', rule: 'message_id', ticket_id })
    expect(await receive(again, 'And it smokes.')).toMatchObject({ outcome: 'duplicate' })
    expect(await bodiesOf(ticket_id)).toEqual(['The pump leaks.', 'And it smokes.'])
    expect((await readTicket(desk.agent, ticket_id)).status).toBe('open')
  },
)

test('what a scanner sends under one Message-ID with the same words is a duplicate only with the same files', async () => {
  const scan = (content: string) => {
    const header = { Message_ID: '<1@scanner.example>', Content_Type: 'multipart/mixed; boundary=b' }
    const file = `Content-Disposition: attachment; filename=scan.pdf\n\n${content}`
    return receive(header, `--b\n\nScanned document\n--b\n${file}\n--b--`)
  }
  const { ticket_id } = await scan('first page')
  expect(await scan('second page')).toMatchObject({ outcome: 'message', ticket_id })
  for (const content of ['first page', 'second page'])
    expect(await scan(content)).toMatchObject({ outcome: 'duplicate' })
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages).toMatchObject(Array(2).fill({ attachments: [{ filename: 'scan.pdf' }] }))
})

/** Repeats the Message-ID with `count` texts. @returns their rows, in order */
async function repeat(count: number, fields: Fields = {}, words = 'Text') {
  const rows = []
  for (let number = 0; number < count; number++) {
    rows.push(await receive({ Message_ID: '<again@customer.example>', ...fields }, `${words} ${number}`))
  }
  return rows
}

const HELD = { outcome: 'spam', spam_by: 'repeat', ticket_id: null, message_id: null }

describe('of other texts under Message-IDs that a sender repeats', () => {
  test('twenty in an hour join the ticket, the rest is held, and known words stay duplicates', async () => {
    const rows = await repeat(23)
    expect(rows.map(({ outcome }) => outcome)).toEqual(['ticket', ...Array(20).fill('message'), 'spam', 'spam'])
    expect(rows.map(({ spam_by }) => spam_by)).toEqual([...Array(21).fill(null), 'repeat', 'repeat'])
    expect(rows[22]).toMatchObject(HELD)
    expect((await repeat(23)).map(({ outcome }) => outcome)).toEqual(Array(23).fill('duplicate'))
    expect(await ticketCount()).toBe(1)
    expect(await bodiesOf(rows[0].ticket_id)).toHaveLength(21)
    expect(await receive({}, 'New words')).toMatchObject({ outcome: 'ticket' })
  })

  test('all count together, whatever the id and the case of From; others and other organizations do not', async () => {
    await repeat(20)
    const other_id = { Message_ID: '<2@customer.example>', From: CONTACT.toUpperCase() }
    expect((await repeat(3, other_id)).map(({ outcome }) => outcome)).toEqual(['ticket', 'message', 'spam'])
    const eve = await repeat(2, { From: 'eve@attacker.example' })
    expect(eve.map(({ outcome }) => outcome)).toEqual(['ticket', 'message'])
    desk = await started.createDesk()
    expect((await repeat(2)).map(({ outcome }) => outcome)).toEqual(['ticket', 'message'])
  })

  test('those of a sender who is forged, or allowed, and those of an hour ago', async () => {
    const { sql, organization_id } = desk.scope
    await desk.admin.patch('/organization', { spam_policy: 'mark' })
    await desk.admin.post('/sender-rules', { sender: CONTACT, action: 'allow' })
    const last = (await repeat(22)).at(-1)
    expect(last).toMatchObject(HELD)
    await sql`
      update inbound_fingerprints set fingerprint = regexp_replace(fingerprint, ' 01..', ' 0190')
      where organization_id = ${organization_id} and fingerprint like 'repeat:%'`
    expect(await receive({ Message_ID: '<again@customer.example>' }, 'Later')).toMatchObject({ outcome: 'message' })
  })

  test('what is held is filed once when it is released, with its files, and does not count', async () => {
    const [first] = await repeat(21)
    const header = { Message_ID: '<again@customer.example>', Content_Type: 'multipart/mixed; boundary=b' }
    const body = '--b\n\nOne more\n--b\nContent-Disposition: attachment; filename=scan.pdf\n\npage\n--b--'
    const held = await receive(header, body)
    expect(held).toMatchObject(HELD)
    const answers = await Promise.all([1, 2].map(() => desk.admin.post(`/inbound-messages/${held.id}/release`)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422])
    const released = answers.find(({ status }) => status === 200)!.body.data
    const becomes = { outcome: 'message', rule: 'message_id', spam_by: 'repeat', ticket_id: first.ticket_id }
    expect(released).toMatchObject({ id: held.id, ...becomes })
    const { messages } = await readTicket(desk.agent, first.ticket_id)
    expect(messages).toHaveLength(22)
    expect(messages[21]).toMatchObject({ body: 'One more', attachments: [{ filename: 'scan.pdf' }] })
    expect(await receive(header, body)).toMatchObject({ outcome: 'duplicate' })
  })

  test('what a dry run would hold is held for the same reason', async () => {
    await repeat(21)
    const raw = rawMail({ From: CONTACT, Date: DATE, Message_ID: '<again@customer.example>' }, 'One more')
    const [mailbox] = (await desk.admin.get('/mailboxes')).body.data
    const path = `/inbound-messages?mailbox_id=${mailbox.id}&dry_run=true`
    const answer = await desk.admin.send('POST', path, raw, { 'content-type': 'message/rfc822' })
    expect(answer.body.data).toMatchObject({ ...HELD, id: null })
  })
})

test.each([
  ['first', LIST, {}],
  ['second', {}, LIST],
])('a copy with the footer of a list that comes %s is a duplicate', async (_, one, two) => {
  const again = { Message_ID: '<again@customer.example>' }
  const texts = ['The pump leaks.\n--\nTeam list', 'The pump leaks.']
  const [first, second] = one === LIST ? texts : texts.toReversed()
  expect(await receive({ ...again, ...one }, first)).toMatchObject({ outcome: 'ticket' })
  expect(await receive({ ...again, ...two }, second)).toMatchObject({ outcome: 'duplicate' })
})

test('who forges the copy of a list under a known Message-ID hides no words', async () => {
  const again = { Message_ID: '<again@customer.example>' }
  await receive({ ...again, ...LIST }, 'Nothing.', 'eve@attacker.example')
  expect(await receive(again, 'The pump leaks.')).toMatchObject({ outcome: 'message', rule: 'message_id' })
})

test('who copies the Message-ID of another person gets into no ticket', async () => {
  const again = { Message_ID: '<again@customer.example>' }
  const { ticket_id } = await receive(again, 'The pump leaks.')
  for (const fields of [{}, LIST]) {
    const words = fields === LIST ? 'Buy this.' : 'Click here.'
    const row = await receive({ ...again, From: 'eve@attacker.example', ...fields }, words)
    expect(row.ticket_id).not.toBe(ticket_id)
    expect(await bodiesOf(row.ticket_id)).toContain(words)
  }
  expect(await bodiesOf(ticket_id)).toEqual(['The pump leaks.'])
})

test('what seems to be a report under the Message-ID of a mail, even with its text, hides nothing', async () => {
  const again = { Message_ID: '<again@customer.example>', ...LIST }
  const status = 'Final-Recipient: rfc822; x@y.example\nAction: failed\nStatus: 5.1.1\n'
  const body = `--b\n\nThe pump leaks.\n--b\nContent-Type: message/delivery-status\n\n${status}\n--b--`
  const report = { Content_Type: 'multipart/report; report-type=delivery-status; boundary=b' }
  expect(await receive({ ...again, ...report }, body)).toMatchObject({ outcome: 'unmatched_bounce' })
  expect(await receive(again, 'The pump leaks.')).toMatchObject({ outcome: 'ticket' })
})

test('however mail of ours comes back, nothing is sent by itself, and each circle ends', async () => {
  const ways = ['as it was', 'new id', 'list', 'footer', 'answer', 'null sender', 'report', 'copied id'] as const
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...ways), { minLength: 6, maxLength: 10 }), async (path) => {
      desk = await started.createDesk()
      const { ours, tagged } = await resolve()
      const sent = started.sink.messages.length
      let body = 'Turn the blue valve.\n\nYour team'
      let fields: Fields = { Message_ID: ours, Reply_To: tagged, From: desk.address, To: CONTACT }
      for (const way of path) {
        if (way === 'new id') fields = { ...fields, Message_ID: `<${newId()}@relay.example>` }
        if (way === 'list') fields = { ...fields, ...LIST }
        if (way === 'footer') body += '\n_____\nSent on by a machine'
        if (way === 'answer') fields = { ...fields, From: CONTACT, In_Reply_To: ours, Reply_To: undefined }
        if (way === 'report') fields = { ...fields, From: 'mailer-daemon@mx.example' }
        if (way === 'copied id') fields = { ...fields, Message_ID: ours, From: CONTACT }
        for (let round = 0; round < 2; round++) await receive(fields, body, way === 'null sender' ? '' : CONTACT)
      }
      expect(started.sink.messages).toHaveLength(sent)
      // Each change of text or id makes at most one message more, and what comes again none.
      expect((await bodiesOfAll()).length).toBeLessThanOrEqual(2 + path.length)
    }),
    { numRuns: tries(6) },
  )
})

/** The messages of all tickets, notes too. */
async function bodiesOfAll(): Promise<string[]> {
  const { data } = (await desk.agent.get('/tickets?per_page=100')).body
  return (await Promise.all(data.map(({ id }: { id: string }) => bodiesOf(id)))).flat()
}

test('a copy in a forged name that came first does not hide the message itself', async () => {
  const again = { Message_ID: '<again@customer.example>' }
  const forged = await receive(again, 'The pump leaks.')
  const { sql, organization_id } = desk.scope
  await sql`
    update inbound_messages set sender_verified = false
    where organization_id = ${organization_id} and id = ${forged.id}`
  expect(await receive(again, 'The pump leaks.')).toMatchObject({ outcome: 'ticket', rule: 'new' })
  expect(await receive(again, 'The pump leaks.')).toMatchObject({ outcome: 'duplicate' })
})
