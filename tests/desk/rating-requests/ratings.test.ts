/** Ratings: who is asked, when and in which language, and who rates a ticket. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import type { ParsedMail } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { ratingLink } from '../../../src/desk/ratings/rating-link'
import { api, type Client, expectError } from '../../support/api'
import { createCustomer, tokenOf } from '../../support/customers'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import {
  createCompany,
  createContact,
  createTicket,
  hearEvents,
  joinTicket,
  writtenEvents,
} from '../../support/factories'
import { deliver, rawMail, readTicket } from '../../support/mail'
import { lettersTo, passTime } from '../../support/member-letters'
import { withSettings } from '../../support/settings'

let started: StartedDesk
let settings: Disposable
let desk: Desk

beforeAll(async () => {
  started = await startDesk()
  settings = withSettings({ TRUSTED_PROXIES: [ipaddr.parseCIDR('127.0.0.0/8')] })
})
beforeEach(async () => {
  desk = await started.createDesk()
})
afterAll(() => {
  settings[Symbol.dispose]()
  return started.stop()
})

/** A ticket that came by mail, in a status. */
async function ticketOf(body = 'It drips', status = 'resolved', fields: Record<string, string> = {}) {
  const email = `kim.${newId()}@kunde.example`
  const raw = rawMail({ From: `Kim <${email}>`, To: desk.address, Subject: 'Pump', ...fields }, body)
  await deliver(started.port, { from: email, to: desk.address, raw })
  const [found] = (await desk.agent.get('/tickets')).body.data
  if (status !== 'open') await desk.agent.patch(`/tickets/${found.id}`, { status })
  return { ...found, id: found.id as string, email }
}

const ask = (id: string, client: Client = desk.agent) => client.post(`/tickets/${id}/rating-request`)

/** A ticket whose contact was asked, and the path of its link. */
async function askedTicket() {
  const ticket = await ticketOf()
  expect((await ask(ticket.id)).status).toBe(200)
  const [letter] = await lettersTo(started, ticket.email)
  return { ...ticket, letter: letter!, path: pathOf(letter!) }
}

function pathOf({ text }: ParsedMail, score = 'good'): string {
  const [, path = ''] = new RegExp(`(/rate/[\\w-]{64})\\?score=${score}`).exec(text ?? '') ?? []
  expect(path).not.toBe('')
  return path
}

let addresses = 0

/** An address that nobody has sent from. */
const newAddress = () => `10.0.${Math.floor(++addresses / 200)}.${1 + (addresses % 200)}`

/** A request of a browser, each from an address of its own. */
async function browse(path: string, form?: Record<string, string>, ip = newAddress()) {
  const headers = { 'x-forwarded-for': ip, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) }
  const body = form && new URLSearchParams(form).toString()
  const response = await api().handle(
    new Request(`http://localhost${path}`, { method: form ? 'POST' : 'GET', headers, body }),
  )
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The entries of the timeline about ratings. */
async function toldOf(id: string): Promise<{ type: string }[]> {
  const { data } = (await desk.agent.get(`/tickets/${id}/activity?per_page=100`)).body
  return data.filter(({ type }: { type: string }) => type.startsWith('rat'))
}

const ratingOf = async (id: string) => (await readTicket(desk.agent, id)).rating

test('the contact of a resolved ticket is asked by a mail, once, and rates by a form behind its link', async () => {
  await hearEvents(desk.scope, ['ticket.rated', 'ticket.updated'])
  const ticket = await ticketOf()
  expectError(await ask((await ticketOf('Hello', 'open')).id), 422, 'INVALID_STATUS')
  const asked = await ask(ticket.id)
  expect([asked.status, asked.body.data]).toMatchObject([200, { id: ticket.id, status: 'resolved', rating: null }])
  expectError(await ask(ticket.id), 422, 'RATING_REQUESTED')
  const [letter, ...others] = await lettersTo(started, ticket.email)
  expect(others).toEqual([])
  expect(letter!.subject).toBe(`How was our help? [${ticket.code}]`)
  expect(letter!.headers.get('auto-submitted')).toBe('auto-generated')
  expect(letter!.text).toContain(`“Pump” (${ticket.code})`)
  expectError(await ask(ticket.id), 422, 'RATING_REQUESTED')
  const path = pathOf(letter!)
  expect(pathOf(letter!, 'bad')).toBe(path)

  const page = await browse(`${path}?score=bad`)
  expect([page.status, await ratingOf(ticket.id)]).toEqual([200, null])
  expect(page.text).toContain('value="bad" required checked')
  expect(page.text).not.toMatch(/<script|value="good" required checked/)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")

  const before = await readTicket(desk.agent, ticket.id)
  const sent = await browse(path, { score: 'bad', comment: ' <b>Slow</b>\r\nvery ' })
  expect([sent.status, sent.text]).toEqual([200, expect.stringContaining('Thank you!')])
  const rating = { score: 'bad', comment: '<b>Slow</b>\nvery', rated_at: expect.any(String) }
  const after = await readTicket(desk.agent, ticket.id)
  expect(after).toMatchObject({ rating, status: 'resolved' })
  expect(after.messages).toEqual(before.messages)
  const events = (await writtenEvents(desk.scope)).filter(({ event }) => event === 'ticket.rated')
  expect(events.map(({ data }) => data)).toMatchObject([{ id: ticket.id, rating }])
  expect(await toldOf(ticket.id)).toMatchObject([
    { type: 'rating_requested', actor: { type: 'user' }, data: {} },
    { type: 'rated', actor: { type: 'contact', name: 'Kim' }, data: { score: 'bad' } },
  ])
  expect((await desk.agent.get('/tickets?rating=bad')).body.data).toMatchObject([{ id: ticket.id }])
  expect((await desk.agent.get('/tickets?rating=good')).body.data).toEqual([])
})

test('an answer to the mail is a message of the ticket, also when only its id is left', async () => {
  const { id, email, letter } = await askedTicket()
  for (const [to, reply_to] of [
    [letter.replyTo!.value[0]!.address!, undefined],
    [desk.address, letter.messageId],
  ] as const) {
    const raw = rawMail({ From: email, To: to, Subject: 'Danke', In_Reply_To: reply_to, Message_ID: `<${newId()}@x>` })
    await deliver(started.port, { from: email, to, raw })
  }
  const { messages, status } = await readTicket(desk.agent, id)
  expect([messages.length, status]).toEqual([3, 'open'])
})

test('who writes German is asked in German, also when the newest mail is on another ticket', async () => {
  const { id, email, code } = await ticketOf('Hallo, die Pumpe ist undicht und ich bitte um Hilfe.')
  await ask(id)
  const [letter] = await lettersTo(started, email)
  expect(letter!.subject).toBe(`Wie war unsere Hilfe? [${code}]`)
  expect((await browse(pathOf(letter!))).text).toContain('Wie war unsere Hilfe?')
  const contact_id = (await readTicket(desk.agent, id)).contact.id
  const other = await createTicket(desk.agent, { contact_id, description: undefined })
  await desk.agent.patch(`/tickets/${other.id}`, { status: 'closed' })
  await ask(other.id)
  expect((await lettersTo(started, email))[0]!.subject).toBe(`Wie war unsere Hilfe? [${other.code}]`)
})

test('without a contact or a mailbox that can send nobody is asked', async () => {
  const { id } = await ticketOf()
  const { contact } = await readTicket(desk.agent, id)
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { active: false })
  expectError(await ask(id), 422, 'EMAIL_SEND_FAILED')
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { active: true })
  await desk.agent.delete(`/contacts/${contact.id}`)
  expectError(await ask(id), 422, 'EMAIL_SEND_FAILED')
})

describe('after a while', () => {
  const after = (minutes: number | null) => desk.admin.patch('/organization', { ask_rating_after_minutes: minutes })

  test('the service asks, once, when the ticket was resolved and not before', async () => {
    expectError(await after(-1), 422, 'VALIDATION_ERROR')
    await after(60)
    const { id, email } = await ticketOf()
    expect(await lettersTo(started, email)).toEqual([])
    await passTime(desk)
    expect(await lettersTo(started, email)).toHaveLength(1)
    expect(await toldOf(id)).toMatchObject([{ type: 'rating_requested', actor: { type: 'system' } }])
    for (const status of ['open', 'resolved']) await desk.agent.patch(`/tickets/${id}`, { status })
    await passTime(desk)
    expect(await lettersTo(started, email)).toEqual([])
  })

  test('0 asks at once; a ticket that is closed and was not resolved is not asked about', async () => {
    await after(0)
    expect(await lettersTo(started, (await ticketOf()).email)).toHaveLength(1)
    const closed = await ticketOf('Hello', 'closed')
    expect(await lettersTo(started, closed.email)).toEqual([])
  })

  test.each(['the team', 'a customer'])('opening by %s takes it back, resolving asks anew', async (who) => {
    await after(60)
    const { id, email, code } = await ticketOf()
    const raw = rawMail({ From: email, To: desk.address, Subject: `[${code}]`, Message_ID: `<${newId()}@x>` })
    if (who === 'the team') await desk.agent.patch(`/tickets/${id}`, { status: 'open' })
    else await deliver(started.port, { from: email, to: desk.address, raw })
    expect((await readTicket(desk.agent, id)).status).toBe('open')
    await passTime(desk)
    expect(await lettersTo(started, email)).toEqual([])
    await desk.agent.patch(`/tickets/${id}`, { status: 'resolved' })
    await passTime(desk)
    expect(await lettersTo(started, email)).toHaveLength(1)
  })

  test('who asks meanwhile does not wait, and the contact is asked once', async () => {
    await after(60)
    const { id, email } = await ticketOf()
    expect((await ask(id)).status).toBe(200)
    expect(await lettersTo(started, email)).toHaveLength(1)
    await passTime(desk)
    expect(await lettersTo(started, email)).toEqual([])
  })

  test('switched off meanwhile it asks nobody, and whoever asks then is heard', async () => {
    await after(60)
    const { id, email } = await ticketOf()
    await after(null)
    await passTime(desk)
    expect(await lettersTo(started, email)).toEqual([])
    expect((await ask(id)).status).toBe(200)
    expect(await lettersTo(started, email)).toHaveLength(1)
  })

  test.each<[string, Record<string, string>]>([
    ['machines', { Auto_Submitted: 'auto-generated' }],
    ['lists', { List_Id: 'Pumps <pumps.lists.example>' }],
  ])('a ticket on which %s alone wrote is not asked about, but by whoever wants to', async (_, fields) => {
    await after(0)
    const { id, email } = await ticketOf('It drips', 'resolved', fields)
    expect(await lettersTo(started, email)).toEqual([])
    expect((await ask(id)).status).toBe(200)
    expect(await lettersTo(started, email)).toHaveLength(1)
  })

  test('a contact whose tickets are resolved all the time is asked 20 times in 24 hours', async () => {
    await after(0)
    const { contact, email } = await ticketOf()
    const { sql } = desk.scope
    for (let count = 1; count < 20; count++) {
      const { id } = await createTicket(desk.agent, { contact_id: contact.id })
      await desk.agent.patch(`/tickets/${id}`, { status: 'resolved' })
    }
    expect(await lettersTo(started, email)).toHaveLength(20)
    const { id } = await createTicket(desk.agent, { contact_id: contact.id })
    await desk.agent.patch(`/tickets/${id}`, { status: 'resolved' })
    expect(await lettersTo(started, email)).toEqual([])
    await sql`update rating_requests set sent_at = now() - interval '25 hours' where organization_id = ${desk.id}`
    for (const status of ['open', 'resolved']) await desk.agent.patch(`/tickets/${id}`, { status })
    expect(await lettersTo(started, email)).toHaveLength(1)
  })

  test('a merge and an erasure take back what waits', async () => {
    await after(60)
    const [one, other] = [await ticketOf(), await ticketOf()]
    const target = await ticketOf('Hello', 'open')
    await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [one.id] })
    const { contact } = await readTicket(desk.agent, other.id)
    expect((await desk.admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
    await passTime(desk)
    expect([...(await lettersTo(started, one.email)), ...(await lettersTo(started, other.email))]).toEqual([])
    const { sql } = desk.scope
    expect(await sql`select from rating_requests where organization_id = ${desk.id}`).toHaveLength(0)
    expect(await sql`select from letters where organization_id = ${desk.id}`).toHaveLength(0)
  })
})

describe('an attack on links:', () => {
  const over = (answer: { status: number; text: string }) =>
    expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('This link is not good any more')])

  test('a forged token, one of a request that is none, and one that was changed open nothing', async () => {
    const { id, path } = await askedTicket()
    const changed = [...path]
      .map((letter, at) => (at === path.length - 1 ? (letter === 'A' ? 'B' : 'A') : letter))
      .join('')
    const unknown = new URL(ratingLink({ organization_id: desk.id, id: newId() })).pathname
    const elsewhere = new URL(ratingLink({ organization_id: newId(), id: newId() })).pathname
    for (const bad of [changed, unknown, elsewhere, '/rate/x', `/rate/${'A'.repeat(64)}`, `${path}A`]) {
      over(await browse(bad))
      over(await browse(bad, { score: 'bad' }))
    }
    expect(await ratingOf(id)).toBeNull()
  })

  test('who opens the link, asks for its head, or sends an empty or wrong form rates nothing', async () => {
    const { id, path } = await askedTicket()
    const head = await api().handle(new Request(`http://localhost${path}?score=good`, { method: 'HEAD' }))
    expect(head.status).toBe(200)
    for (const form of [{}, { score: '' }, { score: 'best' }, { comment: 'Hi' }] as Record<string, string>[]) {
      const answer = await browse(`${path}?score=good`, form)
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('Please choose')])
    }
    const json = await api().handle(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"score":"good"}',
      }),
    )
    expect(json.status).toBeGreaterThanOrEqual(400)
    expect(await ratingOf(id)).toBeNull()
  })

  test('a greedy comment is refused and shown again as text, a form of megabytes is not read', async () => {
    const { id, path } = await askedTicket()
    const long = await browse(path, { score: 'good', comment: `</textarea><script>${'x'.repeat(1000)}` })
    expect([long.status, long.text]).toEqual([422, expect.stringContaining('&lt;/textarea&gt;&lt;script&gt;')])
    expect(long.text).not.toContain('<script')
    over(await browse(path, { score: 'good', comment: 'x'.repeat(1_000_000) }))
    expect(await ratingOf(id)).toBeNull()
    const fits = '😀'.repeat(1000)
    expect((await browse(path, { score: 'good', comment: `\0${fits.slice(2)}` })).status).toBe(200)
    expect((await ratingOf(id)).comment).toBe(`\ufffd${fits.slice(2)}`)
  })

  test('the same form again changes nothing, another one counts instead, 16 at once leave one', async () => {
    const { id, path } = await askedTicket()
    await hearEvents(desk.scope, ['ticket.rated'])
    for (let n = 0; n < 2; n++) await browse(path, { score: 'good', comment: '' })
    expect(await ratingOf(id)).toMatchObject({ score: 'good', comment: null })
    await Promise.all(Array.from({ length: 16 }, (_, n) => browse(path, { score: 'bad', comment: String(n % 2) })))
    const rating = await ratingOf(id)
    const events = await writtenEvents(desk.scope)
    expect(events[0]).toMatchObject({ data: { rating: { score: 'good' } } })
    expect(events.at(-1)).toMatchObject({ data: { rating } })
    for (const [at, { data }] of events.slice(1).entries()) {
      expect(data.rating.comment).not.toBe(events[at]!.data.rating.comment)
    }
  })

  test.each([
    [
      'after 30 days',
      ({ id }) => desk.scope.sql`
      update rating_requests set sent_at = ${new Date(Date.now() - 30 * 86_400_000).toISOString()}
      where organization_id = ${desk.id} and ticket_id = ${id}`,
    ],
    ['once the ticket is deleted', ({ id }) => desk.agent.delete(`/tickets/${id}`)],
    [
      'once the ticket is merged',
      async ({ id }) => {
        const target = await createTicket(desk.agent)
        await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [id] })
      },
    ],
    [
      'once the contact is erased',
      async ({ id }) => {
        const { contact } = await readTicket(desk.agent, id)
        await desk.admin.post(`/contacts/${contact.id}/erase`)
      },
    ],
    [
      'once the contact is deleted and another one has the ticket',
      async ({ id }) => {
        const { contact } = await readTicket(desk.agent, id)
        await desk.agent.delete(`/contacts/${contact.id}`)
        await desk.agent.patch(`/tickets/${id}`, { contact_id: (await createContact(desk.agent)).id })
      },
    ],
  ] as [string, (ticket: { id: string }) => PromiseLike<unknown>][])('a link ends %s', async (_, end) => {
    const ticket = await askedTicket()
    await browse(ticket.path, { score: 'good', comment: 'Fine words' })
    await end(ticket)
    over(await browse(ticket.path))
    over(await browse(ticket.path, { score: 'bad' }))
    const [row] = await desk.scope.sql`
      select rating_score from tickets where organization_id = ${desk.id} and id = ${ticket.id}`
    expect(row).toEqual({ rating_score: 'good' })
  })

  test('a contact that was merged into another one still rates', async () => {
    const { id, path } = await askedTicket()
    const { contact } = await readTicket(desk.agent, id)
    const other = await createContact(desk.agent)
    expect((await desk.agent.post(`/contacts/${other.id}/merge`, { source_ids: [contact.id] })).status).toBe(200)
    expect((await browse(path, { score: 'bad' })).status).toBe(200)
    expect(await ratingOf(id)).toMatchObject({ score: 'bad' })
  })

  test('a merge keeps the rating of the target', async () => {
    const [source, target] = [await askedTicket(), await askedTicket()]
    await browse(source.path, { score: 'bad' })
    await browse(target.path, { score: 'good' })
    await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })
    expect(await ratingOf(target.id)).toMatchObject({ score: 'good' })
    expect((await browse(target.path, { score: 'bad' })).status).toBe(200)
  })

  test('an address that asks too often waits, and nobody else', async () => {
    const { path } = await askedTicket()
    const answers = []
    for (let n = 0; n < 11; n++) answers.push(await browse(path, { score: 'good', comment: String(n) }, '10.9.9.9'))
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(200), 429])
    expect([answers.at(-1)!.headers.get('retry-after'), answers.at(-1)!.text]).toEqual([
      expect.stringMatching(/^\d+$/),
      expect.stringContaining('Please try again'),
    ])
    expect((await browse(path)).status).toBe(200)
  })

  test('nobody in copy is asked, and no address of ours', async () => {
    const cc = `lee.${newId()}@kunde.example`
    const { id, email } = await ticketOf('It drips', 'resolved', { Cc: cc })
    await joinTicket(desk.scope, id, [{ email: cc, name: null }], 'confirmed')
    await ask(id)
    expect([(await lettersTo(started, email)).length, (await lettersTo(started, cc)).length]).toEqual([1, 0])
    const own = await createContact(desk.agent, { email: `sales.${newId()}@desk.example` })
    const ticket = await createTicket(desk.agent, { contact_id: own.id })
    await desk.admin.post('/mailboxes', { address: own.email })
    await desk.agent.patch(`/tickets/${ticket.id}`, { status: 'closed' })
    await ask(ticket.id)
    expect(await lettersTo(started, own.email)).toEqual([])
  })

  test('another organization and a key without the right ask nobody', async () => {
    const { id, email } = await ticketOf()
    const other = await started.createDesk()
    expectError(await ask(id, other.admin), 404, 'TICKET_NOT_FOUND')
    expect(await lettersTo(started, email)).toEqual([])
  })
})

describe('on the portal', () => {
  const put = (customer: Client, id: string, body: unknown) => customer.put(`/my/tickets/${id}/rating`, body)

  test('the contact of a ticket rates it when it is done, and sees that alone', async () => {
    const company = await createCompany(desk.agent)
    const carla = await createCustomer(desk.admin, { company_id: company.id, scope: 'company' })
    const colleague = await createCustomer(desk.admin, { company_id: company.id, scope: 'company' })
    const stranger = await createCustomer(desk.admin)
    const { id } = await createTicket(desk.agent, { contact_id: carla.contact.id })
    expectError(await put(carla, id, { score: 'good' }), 422, 'INVALID_STATUS')
    await desk.agent.patch(`/tickets/${id}`, { status: 'closed' })
    for (const other of [colleague, stranger])
      expectError(await put(other, id, { score: 'bad' }), 404, 'TICKET_NOT_FOUND')
    for (const wrong of [
      {},
      { score: 'great' },
      { score: 'good', comment: 'x'.repeat(1001) },
      { score: 'good', comment: 1 },
    ]) {
      expectError(await put(carla, id, wrong), 422, 'VALIDATION_ERROR')
    }
    expect(await ratingOf(id)).toBeNull()
    const rating = { score: 'good', comment: 'Fast', rated_at: expect.any(String) }
    const rated = await put(carla, id, { score: 'good', comment: ' Fast ' })
    expect([rated.status, rated.body.data]).toMatchObject([200, { id, rating }])
    expect((await carla.get(`/my/tickets/${id}`)).body.data.rating).toEqual(rating)
    expect((await colleague.get(`/my/tickets/${id}`)).body.data.rating).toBeNull()
    expect((await carla.get('/my/tickets')).body.data[0]).not.toContainKey('rating')
    const again = await put(carla, id, { score: 'bad' })
    expect(again.body.data.rating).toMatchObject({ score: 'bad', comment: null })
    const target = await createTicket(desk.agent, { contact_id: carla.contact.id })
    await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [id] })
    const merged = await put(carla, id, { score: 'good' })
    expectError(merged, 422, 'TICKET_MERGED')
    expect(merged.body.error.details).not.toContainKey('merged_into')
  })

  test('export and erasure of the person take the comment', async () => {
    const carla = await createCustomer(desk.admin)
    const { id } = await createTicket(desk.agent, { contact_id: carla.contact.id })
    await desk.agent.patch(`/tickets/${id}`, { status: 'closed' })
    await put(carla, id, { score: 'bad', comment: 'My own words' })
    const person = (await desk.admin.get(`/contacts/${carla.contact.id}/export`)).body.data
    expect(person.tickets).toMatchObject([{ id, rating: { score: 'bad', comment: 'My own words' } }])
    await desk.admin.post(`/contacts/${carla.contact.id}/erase`)
    expect(await ratingOf(id)).toMatchObject({ score: 'bad', comment: null })
    const { sql } = desk.scope
    for (const table of ['events', 'activities', 'tickets']) {
      const found = await sql`
        select from ${sql(table)} t where t.organization_id = ${desk.id} and t::text like '%My own words%'`
      expect([table, found.length]).toEqual([table, 0])
    }
  })

  test('whoever erases and rates at once, nothing of the words stays', async () => {
    const carla = await createCustomer(desk.admin)
    const { id } = await createTicket(desk.agent, { contact_id: carla.contact.id })
    await desk.agent.patch(`/tickets/${id}`, { status: 'closed' })
    const token = await tokenOf(desk.admin, carla.contact)
    await Promise.all([
      desk.admin.post(`/contacts/${carla.contact.id}/erase`),
      ...Array.from({ length: 4 }, (_, n) => put(token, id, { score: 'bad', comment: `Secret ${n}` })),
    ])
    await desk.admin.post(`/contacts/${carla.contact.id}/erase`)
    expect((await ratingOf(id))?.comment ?? null).toBeNull()
  })
})
