/** Mail that a relay, rspamd or a rule of the organization calls spam is held until somebody releases it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { toNetwork } from '../../../src/base/address/networks'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { readRelayVerdict } from '../../../src/mail/spam/relay-verdict'
import { type Answer, expectError } from '../../support/api'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { startDns, type TestDns } from '../../support/dns'
import { someoneWaits } from '../../support/lock-waits'
import { deliver, importMail, ledgerOf, rawMail } from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'

let desk: StartedDesk
let other: Desk
let dns: TestDns
let settings: ChangedSettings

beforeAll(async () => {
  dns = await startDns({
    'passes.example': { TXT: ['v=spf1 ip4:198.51.100.0/24 -all'] },
    '_dmarc.passes.example': { TXT: ['v=DMARC1; p=reject'] },
  })
  settings = withSettings({ DNS_SERVERS: [dns.address], SMTP_TRUSTED_RELAYS: [toNetwork('127.0.0.1/32')!] })
  desk = await startDesk({ smtp: null })
  other = await desk.createDesk({ smtp: null })
})
afterAll(async () => {
  settings.restore()
  await desk.stop()
  dns[Symbol.dispose]()
})

type Fields = Record<string, string | string[] | undefined>

const Received =
  'from mx.example (mx.example [198.51.100.7]) by relay.example with ESMTP; Tue, 24 Nov 2026 10:00:00 +0000'

/** Mail with the fields of a judge above the Received of the relay, as a filter behind it puts them. */
function mail(fields: Fields = {}, body = 'Buy now'): Buffer {
  const judged = Object.entries(fields).filter(([name]) => name.startsWith('X_Spam'))
  return rawMail(
    {
      ...Object.fromEntries(judged),
      Received,
      From: 'spam@bulk.example',
      Subject: 'S',
      Message_ID: `<${newId()}@x.example>`,
      ...fields,
    },
    body,
  )
}

/** Delivers by the trusted relay; gives the ledger row. */
async function sent(fields: Fields = {}, { to = desk.address, from = 'bounce@mailer.example', body = 'Buy now' } = {}) {
  await deliver(desk.port, { from, to, raw: mail(fields, body) })
  return (await ledgerOf(desk))[0]
}

const SPAM = { X_Spam_Status: 'Yes, score=7.3 required=5.0 tests=BAYES_99' }

async function rowsOf(table: string): Promise<number> {
  const [row] = await connection().sql<{ n: number }[]>`
    select count(*) as n from ${connection().sql(table)} where organization_id = ${desk.id}`
  return row!.n
}

test.each([
  [[['x-spam-flag', 'YES']], { is_spam: true, score: null }],
  [[['x-spam-flag', ' no ']], { is_spam: false, score: null }],
  [[['x-spam-status', 'No, score=-1.9 required=5.0']], { is_spam: false, score: -1.9 }],
  [[['x-spam-status', 'Yes, hits=12 required=5']], { is_spam: true, score: 12 }],
  [[['x-spamd-result', 'default: True [16.21 / 15.00];\r\n\tR_DKIM_NA(0.00)[]']], { is_spam: true, score: 16.21 }],
  [[['x-spamd-result', 'default: False [-0.50 / 15.00]']], { is_spam: false, score: -0.5 }],
  [
    [
      ['x-spam-flag', 'YES'],
      ['x-spam-status', 'Yes, score=9'],
    ],
    { is_spam: true, score: 9 },
  ],
  [
    [
      ['x-spam-flag', 'YES'],
      ['x-spam-status', 'No, score=-9'],
    ],
    { is_spam: true, score: null },
  ],
  [
    [
      ['x-spam-flag', 'maybe'],
      ['x-spam-flag', 'YES'],
    ],
    null,
  ],
  [[['subject', 'x-spam-flag: YES']], null],
])('the fields %j of a relay say %j', (fields, said) => {
  expect(readRelayVerdict(fields.map(([key, value]) => ({ key: key!, value: value! })) as never)).toEqual(said)
})

describe('spam by the word of a trusted relay', () => {
  test('is held: no ticket, contact or file, and its row says so, once however often it comes', async () => {
    const before = [await rowsOf('tickets'), await rowsOf('contacts'), await rowsOf('attachments')]
    const fields = { ...SPAM, Message_ID: `<${newId()}@x.example>` }
    const row = await sent(fields)
    expect(row).toMatchObject({ outcome: 'spam', spam_score: 7.3, spam_by: 'relay', ticket_id: null, rule: null })
    expect(row.from.email).toBe('spam@bulk.example')
    expect(await sent(fields)).toMatchObject({ outcome: 'duplicate' })
    expect([await rowsOf('tickets'), await rowsOf('contacts'), await rowsOf('attachments')]).toEqual(before)
    expect((await ledgerOf(desk, '&outcome=spam')).map(({ id }: { id: string }) => id)).toContain(row.id)
  })

  test('is filed when the policy is to mark it; what is no spam is filed with its score', async () => {
    await desk.admin.patch('/organization', { spam_policy: 'mark' })
    expect(await sent(SPAM)).toMatchObject({ outcome: 'ticket', spam_score: 7.3, spam_by: 'relay' })
    await desk.admin.patch('/organization', { spam_policy: 'hold' })
    const fields = { X_Spam_Status: 'No, score=0.5 required=5.0' }
    expect(await sent(fields)).toMatchObject({ outcome: 'ticket', spam_score: 0.5, spam_by: 'relay' })
  })

  test('counts only above the Received of the relay: what the sender wrote is below', async () => {
    const forged = {
      X_Spam_Flag: 'NO',
      X_Spam_Status: 'No, score=-9 required=5.0',
      X_Spamd_Result: 'default: True [9 / 5]',
    }
    for (const [name, value] of Object.entries(forged)) {
      const raw = Buffer.from(
        mail()
          .toString()
          .replace('\r\nFrom:', `\r\n${name.replaceAll('_', '-')}: ${value}\r\nFrom:`),
      )
      expect(raw.toString()).toContain(name.replaceAll('_', '-'))
      await deliver(desk.port, { from: 'bounce@mailer.example', to: desk.address, raw })
      expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', spam_score: null, spam_by: null })
    }
    const of = (received: string[], place: number) => {
      const fields = received.map((value) => `Received: ${value}\r\n`)
      fields.splice(place, 0, 'X-Spam-Status: Yes, score=7.3 required=5.0\r\n')
      return Buffer.from(`${fields.join('')}${mail({ Received: [] }).toString()}`)
    }
    const behind = 'from localhost (localhost [127.0.0.1]) by relay.example with ESMTP; Tue, 24 Nov 2026 10:00:00 +0000'
    const before = 'from laptop (laptop [198.51.100.9]) by mx.example with ESMTP; Tue, 24 Nov 2026 10:00:00 +0000'
    for (const [place, by] of [
      [1, 'relay'],
      [2, null],
      [3, null],
    ] as const) {
      const raw = of([behind, Received, before], place)
      await deliver(desk.port, { from: 'bounce@mailer.example', to: desk.address, raw })
      expect([place, (await ledgerOf(desk))[0].spam_by]).toEqual([place, by])
    }
  })

  test('counts only when a trusted relay brings it', async () => {
    using _ = withSettings({ SMTP_TRUSTED_RELAYS: [] })
    expect(await sent(SPAM)).toMatchObject({ outcome: 'ticket', spam_score: null, spam_by: null })
    expect(await importMail(desk.admin, desk.mailbox_id, mail(SPAM))).toMatchObject({
      outcome: 'ticket',
      spam_by: null,
    })
  })

  test('holds no answer with an anchor of ours, and no contact whose sender is proven', async () => {
    const { ticket_id } = await sent({ From: 'ann@plain.example' })
    const to = replyAddress(desk.address, ticket_id)
    expect(await sent(SPAM, { to, body: 'Yes' })).toMatchObject({ outcome: 'message', ticket_id, spam_by: 'relay' })
    expect(await sent({ ...SPAM, From: 'ann@plain.example' })).toMatchObject({ outcome: 'spam' })
    const proven = { From: 'pat@passes.example' }
    const from = 'pat@passes.example'
    expect(await sent({ ...proven, ...SPAM }, { from })).toMatchObject({ outcome: 'spam', sender_verified: true })
    expect(await sent(proven, { from })).toMatchObject({ outcome: 'ticket', sender_verified: true })
    expect(await sent({ ...proven, ...SPAM }, { from, body: 'More' })).toMatchObject({ outcome: 'ticket' })
  })
})

describe('a release', () => {
  const release = (id: string, client = desk.admin): Promise<Answer> => client.post(`/inbound-messages/${id}/release`)

  test('files what is held, unjudged, with its files; an answer to it finds it', async () => {
    const message_id = `${newId()}@x.example`
    const content = { MIME_Version: '1.0', Content_Type: 'multipart/mixed; boundary=b', Message_ID: `<${message_id}>` }
    const body = '--b\n\nHello\n--b\nContent-Disposition: attachment; filename=a.txt\n\nfile\n--b--'
    const { id } = await sent({ ...SPAM, ...content }, { body })
    const answer = await release(id)
    expect([answer.status, answer.body.data]).toEqual([
      200,
      expect.objectContaining({ id, outcome: 'ticket', rule: 'new', spam_score: 7.3, spam_by: 'relay' }),
    ])
    const { data } = (await desk.admin.get(`/tickets/${answer.body.data.ticket_id}/messages`)).body
    expect(data[0].attachments.map(({ filename }: { filename: string }) => filename)).toEqual(['a.txt'])
    expectError(await release(id), 422, 'NOT_HELD')
    const entries = (await desk.admin.get(`/audit-log?resource_id=${id}`)).body.data
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(['inbound_message.released'])
    const reply = await sent({ In_Reply_To: `<${message_id}>` })
    expect(reply).toMatchObject({ outcome: 'message', ticket_id: answer.body.data.ticket_id })
  })

  test('of two at once one files it', async () => {
    const { id } = await sent(SPAM)
    const tickets = await rowsOf('tickets')
    const answers = await Promise.all([release(id), release(id)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422])
    expect(await rowsOf('tickets')).toBe(tickets + 1)
  })

  test('files mail whose mailbox is deleted at the same time', async () => {
    const mailbox = (await desk.admin.post('/mailboxes', { address: `${newId()}@desk.example` })).body.data
    const { id } = await sent(SPAM, { to: mailbox.address })
    let releasing: Promise<Answer> | undefined
    await transact(connection(), async ({ sql }) => {
      await sql`delete from mailboxes where organization_id = ${desk.id} and id = ${mailbox.id}`
      releasing = release(id)
      await someoneWaits()
    })
    const answer = await releasing!
    expect([answer.status, answer.body.data]).toMatchObject([200, { outcome: 'ticket', mailbox: { id: null } }])
  })

  test('is of what is held, with its original', async () => {
    const { id } = await sent(SPAM)
    expectError(await release((await sent()).id), 422, 'NOT_HELD')
    await connection().sql`update inbound_messages set storage_key = null where id = ${id}`
    expectError(await release(id), 422, 'NOT_HELD')
  })
})

describe('sender rules', () => {
  const put = (sender: string, action: string, client = desk.admin) => client.post('/sender-rules', { sender, action })

  test('are listed, replaced and removed by who may write inbound messages', async () => {
    const made = await put('Ann@Rules.example', 'block')
    expect([made.status, made.body.data]).toEqual([
      201,
      { id: expect.any(String), sender: 'Ann@Rules.example', action: 'block', created_at: expect.any(String) },
    ])
    const again = await put('ann@rules.EXAMPLE', 'allow')
    expect([again.status, again.body.data]).toEqual([
      200,
      { ...made.body.data, sender: 'ann@rules.EXAMPLE', action: 'allow' },
    ])
    expect((await desk.admin.get('/sender-rules')).body.data).toContainEqual(again.body.data)
    const path = `/sender-rules/${made.body.data.id}`
    expect((await desk.admin.delete(path)).status).toBe(204)
    expectError(await desk.admin.delete(path), 404, 'SENDER_RULE_NOT_FOUND')
    const { data } = (await desk.admin.get(`/audit-log?resource_id=${made.body.data.id}`)).body
    const actions = ['sender_rule.deleted', 'sender_rule.created', 'sender_rule.created']
    expect(data.map(({ action }: { action: string }) => action)).toEqual(actions)
    for (const sender of ['no domain', 'a@b@c', '', 'x'.repeat(255)]) {
      expectError(await put(sender, 'block'), 422, 'VALIDATION_ERROR')
    }
    expectError(await put('a.example', 'drop'), 422, 'VALIDATION_ERROR')
  })

  test('that block an address are made by every member; domains, allowing and lifting stay with admins', async () => {
    const blocked = await put('Pest@members.example', 'block', desk.agent)
    expect([blocked.status, blocked.body.data.action]).toEqual([201, 'block'])
    expect((await put('pest@members.example', 'block', desk.agent)).status).toBe(200)
    expect(await sent({ From: 'pest@members.example' })).toMatchObject({ outcome: 'spam', spam_by: 'sender_rule' })
    const [entry] = (await desk.admin.get(`/audit-log?resource_id=${blocked.body.data.id}`)).body.data
    expect(entry.actor).toEqual(expect.objectContaining({ type: 'user', id: desk.agent.user_id }))

    expect((await put('friend@members.example', 'allow')).status).toBe(201)
    const before = (await desk.admin.get('/sender-rules')).body.data
    for (const [sender, action] of [
      ['members.example', 'block'],
      ['pest@members.example', 'allow'],
      ['other@members.example', 'allow'],
      ['friend@members.example', 'block'],
    ] as const) {
      expectError(await put(sender, action, desk.agent), 403, 'FORBIDDEN')
    }
    expect((await desk.admin.get('/sender-rules')).body.data).toEqual(before)
  })

  test('block by From or the envelope, a domain with those below it; an address comes before its domain', async () => {
    await put('bücher.example', 'block')
    await put('good@xn--bcher-kva.example', 'allow')
    const held = { outcome: 'spam', spam_by: 'sender_rule', spam_score: null }
    expect(await sent({ From: 'x@a.xn--bcher-kva.example' })).toMatchObject(held)
    expect(await sent({}, { from: 'x@xn--bcher-kva.example' })).toMatchObject(held)
    expect(await sent({ From: 'x@notxn--bcher-kva.example' })).toMatchObject({ outcome: 'ticket' })
    const allowed = { ...SPAM, From: 'good@xn--bcher-kva.example' }
    expect(await sent(allowed)).toMatchObject({ outcome: 'ticket', spam_by: 'sender_rule', spam_score: 7.3 })
    expect(await importMail(other.admin, other.mailbox_id, mail({ From: 'x@xn--bcher-kva.example' }))).toMatchObject({
      outcome: 'ticket',
    })
  })

  test('block answers too, whatever the policy, but no member; and allow no forged sender', async () => {
    const writer = { From: 'x@answers.example' }
    const { ticket_id } = await sent(writer)
    await put('answers.example', 'block')
    await desk.admin.patch('/organization', { spam_policy: 'mark' })
    const to = replyAddress(desk.address, ticket_id)
    expect(await sent(writer, { to, body: 'Answer' })).toMatchObject({ outcome: 'spam', spam_by: 'sender_rule' })
    await desk.admin.patch('/organization', { spam_policy: 'hold' })
    await put('deskwire.example', 'block')
    expect(await sent({ From: desk.admin.email })).toMatchObject({ outcome: 'ticket' })
    await put('passes.example', 'allow')
    const forged = await sent({ ...SPAM, Received: SPOOFED, From: 'pat@passes.example' })
    expect(forged).toMatchObject({ sender_verified: false, outcome: 'spam', spam_by: 'relay' })
  })
})

const SPOOFED = 'from mx.evil (mx.evil [203.0.113.9]) by relay.example with ESMTP; Tue, 24 Nov 2026 10:00:00 +0000'

describe('of copies under one Message-ID', () => {
  const from = 'pat@passes.example'
  const dated = { From: from, Date: 'Sat, 21 Nov 2026 10:00:00 +0000' }

  test('those of a forger use up nothing of the proven sender', async () => {
    for (let number = 0; number < 22; number++) {
      const fields = { ...dated, Received: SPOOFED, Message_ID: '<forged@passes.example>' }
      const row = await sent(fields, { from, body: `Text ${number}` })
      if (number === 21) expect(row).toMatchObject({ outcome: 'spam', spam_by: 'repeat', sender_verified: false })
    }
    const rows = []
    for (const body of ['Page 1', 'Page 2']) {
      rows.push(await sent({ ...dated, Message_ID: '<scan@passes.example>' }, { from, body }))
    }
    expect(rows).toMatchObject([{ outcome: 'ticket', sender_verified: true }, { outcome: 'message' }])
  })

  test('one that is held hides none that is not, and a further one that would be held', async () => {
    const fields = { ...dated, From: 'carla@customer.example', Message_ID: '<twice@customer.example>' }
    const outcomes = []
    for (const judged of [SPAM, SPAM, {}, {}, SPAM]) outcomes.push((await sent({ ...judged, ...fields })).outcome)
    expect(outcomes).toEqual(['spam', 'duplicate', 'ticket', 'duplicate', 'duplicate'])
  })
})

describe('rspamd', () => {
  async function judgedBy(answer: (request: Request) => Response | Promise<Response>, fields: Fields = {}) {
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
    using _ = withSettings({ RSPAMD_URL: `http://127.0.0.1:${server.port}` })
    try {
      return await sent(fields)
    } finally {
      await server.stop(true)
    }
  }

  test.each([
    ['add header', 8, 'spam'],
    ['rewrite subject', 9, 'spam'],
    ['reject', 20, 'spam'],
    ['greylist', 5, 'ticket'],
    ['soft reject', 5, 'ticket'],
    ['no action', -1.5, 'ticket'],
  ])('its action %p with %p becomes %s', async (action, score, outcome) => {
    const asked: (string | null)[][] = []
    const row = await judgedBy(({ method, url, headers }) => {
      asked.push([method, new URL(url).pathname, ...['rcpt', 'ip', 'from'].map((name) => headers.get(name))])
      return Response.json({ action, score, required_score: 15, symbols: {} })
    })
    expect(row).toMatchObject({ outcome, spam_score: score, spam_by: 'rspamd' })
    expect(asked).toEqual([['POST', '/checkv2', desk.address, '198.51.100.7', 'bounce@mailer.example']])
  })

  test('is not asked when a relay has said it', async () => {
    const row = await judgedBy(() => Response.json({ action: 'reject', score: 99 }), { X_Spam_Flag: 'NO' })
    expect(row).toMatchObject({ outcome: 'ticket', spam_by: 'relay' })
  })

  test.each<[string, () => Response | Promise<Response>]>([
    ['answers 500', () => new Response('x', { status: 500 })],
    ['answers no JSON', () => new Response('<html>')],
    ['answers something else', () => Response.json([])],
    ['sends us elsewhere', () => Response.redirect('http://127.0.0.1:1/')],
    [
      'answers without end',
      () => new Response(new ReadableStream({ pull: (it) => it.enqueue(new Uint8Array(65_536)) })),
    ],
    ['skips it', () => Response.json({ is_skipped: true, action: 'no action', score: 0 })],
  ])('that %s says nothing, and mail is filed', async (_what, answer) => {
    expect(await judgedBy(answer)).toMatchObject({ outcome: 'ticket', spam_by: null, spam_score: null })
  })

  test('that is away or silent says nothing within some 5 seconds', async () => {
    using _ = withSettings({ RSPAMD_URL: 'http://127.0.0.1:1' })
    expect(await sent()).toMatchObject({ outcome: 'ticket', spam_by: null })
    const began = performance.now()
    expect(await judgedBy(() => new Promise(() => {}))).toMatchObject({ outcome: 'ticket', spam_by: null })
    expect(performance.now() - began).toBeLessThan(9000)
  }, 15_000)
})
