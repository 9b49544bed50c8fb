/** `cli why`: what became of a mail or an answer, as the service wrote it down. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { holdOutbox, resumeOutbox } from '../../../src/delivery/outbox/hold'
import { WHY_COMMAND } from '../../../src/operate/why/why-command'
import { runCli } from '../../support/backups'
import { type Desk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { deliver, drain, rawMail } from '../../support/mail'
import { sendInSession, startSession } from '../../support/smtp'

const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'
const UUID = '[0-9a-f]{8}-[0-9a-f-]{27}'
const BODY = 'Zanzibar is what nobody may read'

let desk: StartedDesk
beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

/** Runs the command. @returns its lines */
async function why(mail: string, at?: string): Promise<string[]> {
  if (WHY_COMMAND.needs === 'nothing') throw new Error('the command reads the database')
  const printed = await WHY_COMMAND.run({ mail, at }, connection())
  expect(printed).not.toContain('Zanzibar')
  return String(printed).split('\n')
}

/** The printed lines, with the times and ids left out. */
function shapes(lines: string[]): string[] {
  return lines.map(shape)
}

function shape(line: string): string {
  return line.replace(new RegExp(TIME, 'g'), 'TIME').replace(new RegExp(UUID, 'g'), 'ID')
}

function mailOf(message_id: string, fields: Record<string, string> = {}) {
  return rawMail({ From: 'carla@customer.example', Subject: 'Hello', Message_ID: `<${message_id}>`, ...fields }, BODY)
}

async function codeOf(own: Desk): Promise<string> {
  return (await own.agent.get('/tickets?per_page=1')).body.data[0].code
}

describe('mail that came', () => {
  test('is told with its host, the reply, the ticket and the rule, in the order of events', async () => {
    const own = await desk.createDesk()
    const [first, second] = [`${newId()}@customer.example`, `${newId()}@customer.example`]
    await deliver(desk.port, { to: own.address, raw: mailOf(first) })
    await deliver(desk.port, { to: own.address, raw: mailOf(second, { In_Reply_To: `<${first}>` }) })
    const code = await codeOf(own)
    const accepted = expect.stringMatching(
      /^ {2}TIME {2}accepted from 127\.0\.0\.1 \(HELO \S+, no TLS\): 250 Ok: queued as ID$/,
    )
    const title = (id: string) => shape(`Acme (ID): mail <${id}> from carla@customer.example to ${own.address}`)
    const [of_first, of_second] = [
      [title(first), accepted, `  TIME  filed in ${code} (ticket, by the rule new; nobody could tell if From is true)`],
      [
        title(second),
        accepted,
        `  TIME  filed in ${code} (message, by the rule in_reply_to: <${shape(first)}> of the message ID; nobody could tell if From is true)`,
      ],
    ]
    expect(shapes(await why(`<${first}>`))).toEqual(of_first)
    expect(shapes(await why(second))).toEqual(of_second)
    expect(shapes(await why(code.toLowerCase()))).toEqual(expect.arrayContaining([...of_first, ...of_second]))
    expect(shapes(await why('CARLA@customer.example')).slice(-6)).toEqual([...of_first, ...of_second])
    const [, queue_id] = /queued as (\S+)/.exec((await why(first)).join('\n'))!
    expect(await why(queue_id!)).toEqual(await why(first))
  })

  test('and came again, or was sent by the service itself, is told so', async () => {
    const own = await desk.createDesk()
    const id = `${newId()}@customer.example`
    for (let n = 0; n < 2; n++) await deliver(desk.port, { to: own.address, raw: mailOf(id) })
    const lines = shapes(await why(id))
    expect(lines[2]).toMatch(/filed in \S+ \(ticket, by the rule new; nobody could tell if From is true\)/)
    expect(lines[5]).toMatch(/^ {24}a copy of a mail that was filed before: nothing was filed$/)
  })

  test('and is not filed yet is found by its Message-ID and its addresses, with what it waits for', async () => {
    const own = await desk.createDesk()
    const id = `${newId()}@slow.example`
    using dialog = await startSession(desk.port)
    const raw = mailOf(id, { From: `"Slow" <slow.${own.id}@slow.example>` })
    const { code } = await sendInSession(dialog, { from: `slow.${own.id}@slow.example`, to: own.address, raw })
    expect(code).toBe(250)
    const waits = async (mail: string) => shapes(await why(mail)).at(-1)
    const { sql } = connection()
    const grep = 'lines of the log with ID say why'
    const due = `${' '.repeat(24)}not filed yet: due. Is the service running? ${grep}`
    expect([await waits(`<${id}>`), await waits(`slow.${own.id}@slow.example`)]).toEqual([due, due])
    await sql`update outbox set run_at = now() + interval '5 minutes', attempts = 2 where organization_id = ${own.id}`
    expect(await waits(id)).toBe(`${' '.repeat(24)}not filed yet: waits until TIME, after 2 attempts; ${grep}`)
    await sql`update outbox set lease_until = now() + interval '1 minute' where organization_id = ${own.id}`
    expect(await waits(id)).toEndWith('not filed yet: a worker is at it, after 2 attempts')
    await sql`delete from outbox where organization_id = ${own.id}`
    expect(await waits(id)).toContain('no job will file it: this is a fault of the service')
  })

  test('and was refused for good is told with its reply', async () => {
    const own = await desk.createDesk()
    await own.admin.post('/mailboxes', { address: `help@${own.id}.example` })
    using dialog = await startSession(desk.port)
    const from = `refused.${own.id}@customer.example`
    const to = `nobody@${own.id}.example`
    const { code, response } = await sendInSession(dialog, { from, to, raw: mailOf('x@y.example') })
    expect(code).toBe(550)
    let lines: string[] = []
    for (const end = performance.now() + 5000; lines.length === 0 && performance.now() < end; await Bun.sleep(20)) {
      lines = await why(to).catch(() => [])
    }
    expect(shapes(lines)).toEqual([
      `Acme (ID): mail from refused.ID@customer.example to nobody@ID.example`,
      expect.stringMatching(/^ {2}TIME {2}refused from 127\.0\.0\.1 \(HELO \S+, no TLS\): 550 5\.1\.1 /),
    ])
    expect(lines[1]).toContain(response.trim().split('\n')[0]!)
    expect(await why(from)).toEqual(lines)
  })

  test('to several organizations is told of each, and held spam with what files it', async () => {
    const [one, two] = [await desk.createDesk(), await desk.createDesk()]
    const id = `${newId()}@customer.example`
    await one.admin.post('/sender-rules', { sender: `bulk@${one.id}.example`, action: 'block' })
    const raw = mailOf(id, { From: `bulk@${one.id}.example` })
    await deliver(desk.port, { to: [one.address, two.address], raw })
    const lines = await why(id)
    expect(
      lines
        .filter((line) => /^\S/.test(line))
        .map((line) => line.match(UUID)![0])
        .toSorted(),
    ).toEqual([one.id, two.id].toSorted())
    const held = lines.findIndex((line) => line.includes('held as spam'))
    expect(lines[held]).toMatch(/held as spam by a sender rule\. POST \/inbound-messages\/\S+\/release files it$/)
    expect(lines[held - 2]).toContain(one.id)
  })
})

describe('an answer', () => {
  async function write(own: Desk) {
    const contact = await createContact(own.agent, { email: `ann@${newId()}.example` })
    const ticket = await createTicket(own.agent, { contact_id: contact.id, subject: 'Hello' })
    const { id } = await createMessage(own.agent, ticket.id, { body: BODY })
    return { id: id as string, code: ticket.code as string, email: contact.email as string }
  }

  async function again(own: Desk) {
    await connection().sql`update outbox set run_at = now() where organization_id = ${own.id}`
    await drain()
  }

  test('is told with each attempt, and the reply of the server to each', async () => {
    const own = await desk.createDesk()
    const replies = ['451 4.7.1 Greylisted', '450 4.2.0 Mailbox full']
    desk.sink.answer(({ stage }) => (stage === 'rcpt' ? replies[0] : undefined))
    const { id, code, email } = await write(own)
    await drain()
    desk.sink.answer(({ stage }) => (stage === 'rcpt' ? replies[1] : undefined))
    await again(own)
    const queued = [
      expect.stringMatching(new RegExp(`^Acme \\(ID\\): answer <\\S+> in ${code}$`)),
      shape(`  TIME  queued for ${email}, by the mailbox ${own.address}`),
      `  TIME  tried, and stays queued: ${replies[0]}`,
      `  TIME  tried, and stays queued: ${replies[1]}`,
    ]
    expect(shapes(await why(id))).toEqual([...queued, `${' '.repeat(24)}queued: attempt 3 is due at TIME`])
    holdOutbox()
    expect((await why(id)).at(-1)).toContain('the outbox of this restored service waits for bun run cli outbox resume')
    resumeOutbox()
    desk.sink.answer()
    await again(own)
    const sent = [
      ...queued,
      expect.stringMatching(new RegExp(`^  TIME  taken by the server for ${shape(email)}, which said: 250 `)),
    ]
    expect(shapes(await why(email))).toEqual(sent)
    const [, message_id] = /answer (<\S+>)/.exec((await why(id))[0]!)!
    expect(shapes(await why(message_id!))).toEqual(sent)
    expect(shapes(await why(code))).toEqual(expect.arrayContaining(sent))
  })

  test('that failed says for whom and why; one that a person sends again says so', async () => {
    const own = await desk.createDesk()
    desk.sink.answer(({ stage }) => (stage === 'rcpt' ? '550 5.1.1 Nobody' : undefined))
    const { id, email } = await write(own)
    await drain()
    desk.sink.answer()
    expect(shapes(await why(id)).at(-1)).toBe(shape(`  TIME  failed for good for ${email}: 550 5.1.1 Nobody`))
    const [{ ticket_id }] = await connection().sql<
      [{ ticket_id: string }]
    >`select ticket_id from messages where id = ${id}`
    await own.agent.post(`/tickets/${ticket_id}/messages/${id}/resend`)
    await drain()
    expect(shapes(await why(id)).slice(-2)).toEqual([
      shape(`  TIME  sent again by a person, to ${email}`),
      expect.stringContaining(shape(`  TIME  taken by the server for ${email}`)),
    ])
  })

  test('that waits for its mailbox says since when, why, and when the next try is', async () => {
    const own = await desk.createDesk({ smtp: smtpTo(NO_SERVER) })
    const { id } = await write(own)
    await drain()
    expect(shapes(await why(id)).at(-1)).toMatch(
      /^ {24}waits with all mail of its mailbox, whose server is at fault since TIME: .+; the next try is at TIME$/,
    )
  })

  test('keeps the first and the last of very many attempts', async () => {
    const own = await desk.createDesk()
    let count = 0
    desk.sink.answer(({ stage }) => (stage === 'mail' ? `451 4.7.1 Number ${++count}` : undefined))
    const { id } = await write(own)
    for (let n = 0; n < 25; n++) {
      await connection().sql`update outbox set attempts = 0 where organization_id = ${own.id}`
      await connection().sql`update lane_faults set try_at = now() where organization_id = ${own.id}`
      await again(own)
    }
    desk.sink.answer()
    const tried = (await why(id)).filter((line) => line.includes('tried'))
    expect(tried).toHaveLength(20)
    expect([tried[0], tried.at(-1)]).toEqual([
      expect.stringContaining('Number 1'),
      expect.stringContaining(`Number ${count}`),
    ])
  })
})

describe('the command', () => {
  test('shows the newest, and with --at those next to a time', async () => {
    const own = await desk.createDesk()
    const from = `often@${own.id}.example`
    const ids = Array.from({ length: 7 }, (_, n) => `${n}.${own.id}@customer.example`)
    for (const id of ids) await deliver(desk.port, { to: own.address, raw: mailOf(id, { From: from }) })
    const shown = async (at?: string) => (await why(from, at)).flatMap((line) => /mail <(\d)\./.exec(line)?.[1] ?? [])
    expect(await shown()).toEqual(['2', '3', '4', '5', '6'])
    expect((await why(from)).at(-1)).toBe('There are more; these are the newest: --at TIME shows those of a day.')
    expect(await shown(new Date(Date.now() - 3_600_000).toISOString())).toEqual(['0', '1', '2', '3', '4'])
    const long_ago = new Date(Date.now() - 3 * 86_400_000).toISOString()
    await expect(why(from, long_ago)).rejects.toThrow(`within a day of ${long_ago}`)
    // A time alone shows whatever came and went next to it.
    const around = await why(new Date().toISOString())
    expect(around.at(-1)).toBe('There are more; these are those next to that time.')
    expect(around.join('\n')).toContain(`mail <6.${own.id}@customer.example>`)
    await expect(why(long_ago)).rejects.toThrow(`nothing is known of the time ${long_ago}`)
  })

  test('ends with 1 and what was looked for when nothing is known, and names wrong options', async () => {
    const env = {
      DATABASE_URL: desk.database.url,
      SECRET_KEY: 'a secret key that only tests use',
      DATA_DIR: '/nonexistent/why',
    }
    const { code, stdout, stderr } = await runCli(['why', '<nothing@nowhere.example>'], env)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toStartWith('deskwire: nothing is known of the Message-ID nothing@nowhere.example: neither among')
    await expect(why('nobody@nowhere.example')).rejects.toThrow(
      'the Message-ID nobody@nowhere.example or the address nobody@nowhere.example: neither',
    )
    await expect(why('TKT-99999999')).rejects.toThrow('nothing is known of the ticket TKT-99999999')
    await expect(why('  ')).rejects.toThrow('MAIL must be')
    await expect(why('x@y.example', 'yesterday')).rejects.toThrow('--at must be a time with offset')
  })

  test('prints no words of strangers that could move the cursor or turn the text around', async () => {
    const own = await desk.createDesk()
    const id = `${newId()}@customer.example`
    await deliver(desk.port, { to: own.address, raw: mailOf(id) })
    await connection().sql`
      update inbound_messages set helo = ${'\u001b[2J\u202e evil\r\nAcme (x): forged'} where organization_id = ${own.id}`
    const lines = await why(id)
    expect(lines).toHaveLength(3)
    expect(lines.join('\n')).not.toMatch(/[^\P{C}\n]/u)
    expect(lines[1]).toContain('?[2J? evil??Acme (x): forged')
  })

  test('tells of mail and answers whose ticket or message was removed', async () => {
    const own = await desk.createDesk()
    const id = `${newId()}@customer.example`
    await deliver(desk.port, { to: own.address, raw: mailOf(id) })
    const [ticket] = (await own.agent.get('/tickets')).body.data
    await own.admin.delete(`/tickets/${ticket.id}`)
    expect((await why(id)).at(-1)).toContain(`filed in ${ticket.code}, which was deleted since, (ticket`)
    await connection().sql`delete from tickets where organization_id = ${own.id}`
    expect((await why(id)).at(-1)).toMatch(/a ticket that was removed since .*and that message was removed since$/)
  })
})
