/** Drafts that are sent later. The clock is stepped by moving all moments of the organization back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { holdOutbox, resumeOutbox } from '../../../src/delivery/outbox/hold'
import { sendDueDraft } from '../../../src/desk/drafts/send-due'
import { removeMembership } from '../../../src/people/users/memberships'
import { type Client, createOrganization, expectError, type Organization } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createCustomer } from '../../support/customers'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, hearEvents, insertTicket, uploadFile, writtenEvents } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'
import { drain } from '../../support/mail'
import { tries } from '../../support/sampled'
import { fingerprint } from '../../support/world'

const MINUTE_MS = 60_000
const DAY_MS = 1440 * MINUTE_MS

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const at = (ms: number) => new Date(Date.now() + ms).toISOString()

/** Steps the clock of an organization: each moment that a draft waits for comes nearer. */
async function step({ scope: { sql, organization_id } }: Organization, ms: number): Promise<void> {
  const drafts = await sql<{ id: string; send_at: string }[]>`
    select id, send_at from drafts where organization_id = ${organization_id} and send_at is not null`
  for (const { id, send_at } of drafts) {
    const moment = new Date(Date.parse(send_at) - ms).toISOString()
    await sql`update drafts set send_at = ${moment} where organization_id = ${organization_id} and id = ${id}`
    await sql`
      update outbox set run_at = ${moment}
      where organization_id = ${organization_id} and id = ${id} and kind = 'draft'`
  }
}

const post = (client: Client, ticket: { id: string }, fields: Record<string, unknown> = {}) =>
  client.post(`/tickets/${ticket.id}/drafts`, { body: 'Have you tried water?', ...fields })

async function createDraft(client: Client, ticket: { id: string }, fields: Record<string, unknown> = {}) {
  const answer = await post(client, ticket, fields)
  if (answer.status !== 201) throw new Error(`creating a draft answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A draft of the agent that is sent in a day, unless the fields say otherwise. */
const later = (ticket: { id: string }, fields: Record<string, unknown> = {}, client: Client = desk.agent) =>
  createDraft(client, ticket, { send_at: at(DAY_MS), ...fields })

const show = async ({ id }: { id: string }, client: Client = desk.admin) =>
  (await client.get(`/drafts/${id}`)).body.data
const messagesOf = async ({ id }: { id: string }, client: Client = desk.admin) =>
  (await client.get(`/tickets/${id}/messages`)).body.data

/** The moments of the outbox rows of a draft: none, or one. */
async function momentsOf({ id }: { id: string }, { scope: { sql, organization_id } }: Organization = desk) {
  const rows = await sql<{ run_at: string }[]>`
    select run_at from outbox where organization_id = ${organization_id} and id = ${id} and kind = 'draft'`
  return rows.map(({ run_at }) => run_at)
}

const attempt = ({ id }: { id: string }, { organization_id } = desk.scope) =>
  sendDueDraft({ organization_id, id } as Parameters<typeof sendDueDraft>[0], connection())

const ticketOf = (of: Desk = desk) => insertTicket(of.scope, { mailbox_id: of.mailbox_id })

const GONE = { send_at: null, send_error: null }

describe('attacks:', () => {
  test('an API key sends nothing later, whatever it may do, and no more changes what a person sends later', async () => {
    const key = await createProgram(desk.admin, ['*:write'], { name: 'Helper' })
    const other = await createProgram(desk.admin, ['*:write'])
    const ticket = await ticketOf()
    const draft = await createDraft(key, ticket, { send_at: null, unless_answered: false })
    const path = `/drafts/${draft.id}`
    for (const answer of [
      await post(key, ticket, { send_at: at(DAY_MS) }),
      await key.patch(path, { send_at: at(DAY_MS) }),
    ]) {
      expectError(answer, 422, 'VALIDATION_ERROR')
      expect(answer.body.error.details.errors[0].path).toBe('/send_at')
    }
    expectError(await other.patch(path, { send_at: at(DAY_MS) }), 403, 'FORBIDDEN')
    expect(await show(draft)).toEqual(draft)
    expect(await momentsOf(draft)).toEqual([])
    const taken = await desk.agent.patch(path, { send_at: at(DAY_MS) })
    expect(taken.body.data).toMatchObject({
      author: { type: 'user', id: desk.agent.user_id, name: 'Alan Agent' },
      written_by: { type: 'api_key', id: key.id, name: 'Helper' },
      unless_answered: true,
    })
    for (const answer of [
      await key.patch(path, { body: 'Buy this' }),
      await key.patch(path, { send_at: null }),
      await key.delete(path),
      await key.post(`${path}/send`),
      await desk.admin.patch(path, { body: 'Not mine' }),
    ]) {
      expectError(answer, 403, 'FORBIDDEN')
    }
    await step(desk, DAY_MS + 1000)
    await drain()
    expect(await messagesOf(ticket)).toMatchObject([
      { sender: { name: 'Alan Agent' }, drafted_by: { type: 'api_key', id: key.id, name: 'Helper' } },
    ])
  })

  test('what a person has changed of it is not changed, sent or deleted by the key', async () => {
    const key = await createProgram(desk.admin, ['*:write'])
    const draft = await createDraft(key, await ticketOf())
    const path = `/drafts/${draft.id}`
    expect((await key.patch(path, { body: 'By the key' })).status).toBe(200)
    expect((await desk.agent.patch(path, { body: 'By Alan' })).body.data).toMatchObject({
      author: { id: key.id },
      written_by: null,
    })
    for (const answer of [
      await key.patch(path, { body: 'By the key' }),
      await key.delete(path),
      await key.post(`${path}/send`),
    ]) {
      expectError(answer, 403, 'FORBIDDEN')
    }
    expect((await desk.admin.patch(path, { body: 'By Ada' })).status).toBe(200)
  })

  test("another organization's draft is neither scheduled, sent nor seen", async () => {
    const foreign = await createOrganization()
    const ticket = await ticketOf()
    const draft = await later(ticket)
    expectError(await foreign.agent.patch(`/drafts/${draft.id}`, { send_at: at(MINUTE_MS) }), 404, 'DRAFT_NOT_FOUND')
    expectError(await post(foreign.agent, ticket, { send_at: at(MINUTE_MS) }), 404, 'TICKET_NOT_FOUND')
    await step(desk, DAY_MS + 1000)
    expect(await attempt(draft, foreign.scope)).toEqual({ type: 'done' })
    expect(await messagesOf(ticket)).toEqual([])
    await drain()
    expect(await messagesOf(ticket)).toHaveLength(1)
  })

  test('two workers at once, or a worker and its author, send it once', async () => {
    for (const others of [attempt, (draft: { id: string }) => desk.agent.post(`/drafts/${draft.id}/send`)]) {
      const ticket = await ticketOf()
      const draft = await later(ticket)
      await step(desk, DAY_MS + 1000)
      await Promise.all([attempt(draft), attempt(draft), others(draft), others(draft)])
      expect(await messagesOf(ticket)).toHaveLength(1)
      await drain()
      expect(await messagesOf(ticket)).toHaveLength(1)
      expect(await momentsOf(draft)).toEqual([])
    }
  })

  test('of two who move its moment and take it back, the last one counts', async () => {
    const ticket = await ticketOf()
    const draft = await later(ticket)
    await Promise.all([
      desk.agent.patch(`/drafts/${draft.id}`, { send_at: at(2 * DAY_MS) }),
      desk.agent.patch(`/drafts/${draft.id}`, { send_at: null }),
      desk.agent.patch(`/drafts/${draft.id}`, { send_at: at(3 * DAY_MS) }),
    ])
    const { send_at } = await show(draft)
    expect(await momentsOf(draft)).toEqual(send_at === null ? [] : [send_at])
  })

  test('who is greedy has 20 that wait in a ticket, also of several people and at once', async () => {
    const ticket = await ticketOf()
    const statuses = await Promise.all(
      Array.from({ length: 22 }, (_, n) =>
        post(n % 2 ? desk.agent : desk.admin, ticket, { send_at: at(DAY_MS) }).then(({ status }) => status),
      ),
    )
    expect(statuses.toSorted()).toEqual([...Array.from({ length: 20 }, () => 201), 422, 422])
    const plain = await createDraft(desk.agent, ticket)
    const refused = await desk.agent.patch(`/drafts/${plain.id}`, { send_at: at(DAY_MS) })
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors[0].path).toBe('/send_at')
  })
})

test('at its moment it is a message of its author, with its files, by email, once, and never before', async () => {
  const ticket = await ticketOf()
  const file = await uploadFile(desk.agent)
  const moment = at(DAY_MS)
  const draft = await later(ticket, { attachment_ids: [file.id], cc: ['pia@customer.example'], send_at: moment })
  expect(draft).toMatchObject({ unless_answered: true, send_error: null, written_by: null })
  // Never earlier than it was asked for, and in whole seconds.
  expect(Date.parse(draft.send_at) - Date.parse(moment)).toBeWithin(0, 1000)
  await hearEvents(desk.scope)
  await step(desk, DAY_MS - MINUTE_MS)
  expect(await attempt(draft)).toMatchObject({ type: 'retry', counts: false })
  await drain()
  expect(await messagesOf(ticket)).toEqual([])
  await step(desk, MINUTE_MS + 1000)
  await drain()
  // Its email.
  await drain()
  const [message, ...more] = await messagesOf(ticket)
  expect(more).toEqual([])
  expect(message).toMatchObject({
    body: 'Have you tried water?',
    direction: 'outbound',
    sender: { name: 'Alan Agent' },
    attachments: [{ id: file.id }],
    cc: ['pia@customer.example'],
    email_status: 'sent',
    drafted_by: { type: 'user', id: desk.agent.user_id },
  })
  expect(desk.sink.messages.at(-1)!.to.toSorted()).toEqual([ticket.contact.email, 'pia@customer.example'].toSorted())
  expect((await writtenEvents(desk.scope)).map(({ event }) => event)).toContain('message.created')
  expectError(await desk.agent.get(`/drafts/${draft.id}`), 404, 'DRAFT_NOT_FOUND')
  expect(await momentsOf(draft)).toEqual([])
})

test('its moment is moved, taken back and set again; null ends it, and the draft is one of the person again', async () => {
  const ticket = await ticketOf()
  const draft = await later(ticket)
  const path = `/drafts/${draft.id}`
  await desk.agent.patch(path, { send_at: at(3 * DAY_MS), body: 'Later' })
  await step(desk, 2 * DAY_MS)
  await drain()
  expect(await messagesOf(ticket)).toEqual([])
  expect((await desk.agent.patch(path, { send_at: null })).body.data).toMatchObject(GONE)
  expect(await momentsOf(draft)).toEqual([])
  expectError(await post(desk.agent, ticket), 422, 'DRAFT_EXISTS')
  await desk.agent.patch(path, { send_at: at(MINUTE_MS) })
  const second = await createDraft(desk.agent, ticket)
  const refused = await desk.agent.patch(path, { send_at: null })
  expectError(refused, 422, 'DRAFT_EXISTS')
  expect(refused.body.error.details.draft.id).toBe(second.id)
  await step(desk, MINUTE_MS + 1000)
  await drain()
  expect((await messagesOf(ticket)).map(({ body }: { body: string }) => body)).toEqual(['Later'])
  expect((await show(second)).id).toBe(second.id)
})

test.each([
  ['past', () => ({ send_at: at(0) })],
  ['more than a year ahead', () => ({ send_at: at(367 * DAY_MS) })],
  ['without an offset', () => ({ send_at: '2099-01-01T00:00:00' })],
  ['a number', () => ({ send_at: 5 })],
  ['of a note', () => ({ send_at: at(DAY_MS), is_internal: true })],
])('a moment %s is refused at its path, and changes nothing', async (_, fields) => {
  const ticket = await ticketOf()
  const draft = await createDraft(desk.admin, ticket)
  const before = await fingerprint(desk.id)
  for (const answer of [
    await post(desk.agent, ticket, fields()),
    await desk.admin.patch(`/drafts/${draft.id}`, { body: 'New', ...fields() }),
  ]) {
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe('/send_at')
  }
  expect(await fingerprint(desk.id)).toEqual(before)
})

test('what is sent later becomes no note', async () => {
  const draft = await later(await ticketOf())
  expectError(await desk.agent.patch(`/drafts/${draft.id}`, { is_internal: true }), 422, 'VALIDATION_ERROR')
  const changed = await desk.agent.patch(`/drafts/${draft.id}`, { is_internal: true, send_at: null })
  expect(changed.body.data).toMatchObject({ is_internal: true, send_at: null })
})

describe('kept:', () => {
  /** Lets a day pass. @returns the draft as it was kept */
  async function kept(draft: { id: string }, of: Desk = desk) {
    await step(of, DAY_MS + 1000)
    await drain()
    const after = await show(draft, of.admin)
    expect(after).toMatchObject({ send_at: null, send_error: { message: expect.any(String) } })
    expect(await momentsOf(draft, of)).toEqual([])
    return after
  }

  test('unless_answered, once a public message has come since based_on; without it, it is sent', async () => {
    const [first, second] = [await ticketOf(), await ticketOf()]
    const [draft, anyway] = [await later(first), await later(second, { unless_answered: false })]
    for (const ticket of [first, second]) {
      await createMessage(desk.admin, ticket.id, { send_email: false })
      await createMessage(desk.admin, ticket.id, { is_internal: true })
    }
    expect(await kept(draft)).toMatchObject({ stale: true, send_error: { code: 'DRAFT_STALE' } })
    expect(await messagesOf(first)).toHaveLength(2)
    expect(await messagesOf(second)).toHaveLength(3)
    expectError(await desk.admin.get(`/drafts/${anyway.id}`), 404, 'DRAFT_NOT_FOUND')
  })

  test('a note ends nothing, and based_on says what was seen', async () => {
    const ticket = await ticketOf()
    const draft = await later(ticket)
    const message = await createMessage(desk.admin, ticket.id, { send_email: false })
    await createMessage(desk.admin, ticket.id, { is_internal: true })
    await desk.agent.patch(`/drafts/${draft.id}`, { based_on: message.id })
    await step(desk, DAY_MS + 1000)
    await drain()
    expect(await messagesOf(ticket)).toHaveLength(3)
  })

  test('when its author is deactivated; it leaves when the author is back in time', async () => {
    const zoe = await desk.addMember('agent', 'Zoe Agent')
    const tickets = [await ticketOf(), await ticketOf()]
    const [draft, other] = [
      await later(tickets[0]!, {}, zoe),
      await later(tickets[1]!, { send_at: at(3 * DAY_MS) }, zoe),
    ]
    await desk.admin.patch(`/users/${zoe.user_id}`, { active: false })
    await step(desk, DAY_MS + 1000)
    await drain()
    expect(await show(draft)).toMatchObject({ send_at: null, send_error: { code: 'USER_NOT_FOUND' } })
    // An inactive member has not left.
    expectError(await desk.agent.patch(`/drafts/${draft.id}`, { body: 'Mine' }), 403, 'FORBIDDEN')
    await desk.admin.patch(`/users/${zoe.user_id}`, { active: true })
    await step(desk, 2 * DAY_MS)
    await drain()
    expect(await messagesOf(tickets[1]!)).toHaveLength(1)
    expectError(await desk.admin.get(`/drafts/${other.id}`), 404, 'DRAFT_NOT_FOUND')
  })

  test('when its author is removed, at once: every person may take it, send it or delete it', async () => {
    const zoe = await desk.addMember('agent', 'Zoe Agent')
    const key = await createProgram(desk.admin, ['*:write'])
    const tickets = [await ticketOf(), await ticketOf(), await ticketOf(), await ticketOf()]
    const drafts = []
    for (const ticket of tickets.slice(0, 3)) drafts.push(await later(ticket, {}, zoe))
    const plain = await createDraft(zoe, tickets[3]!)
    await desk.admin.delete(`/users/${zoe.user_id}`)
    expectError(await desk.admin.get(`/drafts/${plain.id}`), 404, 'DRAFT_NOT_FOUND')
    for (const draft of drafts) {
      expect(await momentsOf(draft)).toEqual([])
      expect(await show(draft)).toMatchObject({
        author: { id: zoe.user_id, name: 'Zoe Agent' },
        send_at: null,
        send_error: { code: 'USER_NOT_FOUND' },
      })
      expectError(await key.patch(`/drafts/${draft.id}`, { body: 'Mine' }), 403, 'FORBIDDEN')
      expectError(await key.delete(`/drafts/${draft.id}`), 403, 'FORBIDDEN')
    }
    const [taken, sent, deleted] = drafts
    const by_zoe = { type: 'user', id: zoe.user_id, name: 'Zoe Agent' }
    expect((await desk.agent.patch(`/drafts/${taken.id}`, { send_at: at(DAY_MS) })).body.data).toMatchObject({
      author: { id: desk.agent.user_id },
      written_by: by_zoe,
      send_error: null,
    })
    expectError(await desk.admin.patch(`/drafts/${taken.id}`, { body: 'Mine' }), 403, 'FORBIDDEN')
    expect((await desk.agent.post(`/drafts/${sent.id}/send`)).body.data).toMatchObject({
      sender: { name: 'Alan Agent' },
      drafted_by: by_zoe,
    })
    expect((await desk.agent.delete(`/drafts/${deleted.id}`)).status).toBe(204)
    await step(desk, DAY_MS + 1000)
    await drain()
    expect(await messagesOf(tickets[0]!)).toMatchObject([{ sender: { name: 'Alan Agent' }, drafted_by: by_zoe }])
  })

  test('when a merge moves it, at once; those of the target go on', async () => {
    const [source, target] = [await ticketOf(), await ticketOf()]
    const [moved, stays] = [await later(source), await later(target, { unless_answered: false })]
    await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })
    expect(await show(moved)).toMatchObject({
      ticket: { id: target.id },
      send_at: null,
      send_error: { code: 'TICKET_MERGED' },
    })
    expect((await show(stays)).send_at).toBe(stays.send_at)
    // Whoever sends it nevertheless has read where it is.
    const anew = { send_at: at(DAY_MS), unless_answered: false }
    expect((await desk.agent.patch(`/drafts/${moved.id}`, anew)).body.data.send_error).toBeNull()
    const third = await ticketOf()
    await desk.agent.post(`/tickets/${target.id}/merge`, { source_ids: [third.id] })
    expect((await show(moved)).send_error).toBeNull()
    await step(desk, DAY_MS + 1000)
    await drain()
    expect(await messagesOf(target)).toHaveLength(2)
  })

  test('when the ticket is closed, but not when it is resolved', async () => {
    const [closed, resolved] = [await ticketOf(), await ticketOf()]
    const [draft] = [await later(closed), await later(resolved)]
    await desk.agent.patch(`/tickets/${closed.id}`, { status: 'closed' })
    await desk.agent.patch(`/tickets/${resolved.id}`, { status: 'resolved' })
    expect((await kept(draft)).send_error.code).toBe('INVALID_STATUS')
    expect([(await messagesOf(closed)).length, (await messagesOf(resolved)).length]).toEqual([0, 1])
  })

  test('when nothing can send: no contact, or no mailbox; its files stay', async () => {
    const file = await uploadFile(desk.agent)
    const nobody = await insertTicket(desk.scope, { contact: null })
    const draft = await later(nobody, { attachment_ids: [file.id] })
    expect(await kept(draft)).toMatchObject({
      send_error: { code: 'EMAIL_SEND_FAILED' },
      attachments: [{ id: file.id }],
    })
    const other = await desk.createDesk()
    const unsent = await later(await ticketOf(other), {}, other.agent)
    await other.admin.patch(`/mailboxes/${other.mailbox_id}`, { active: false })
    expect((await kept(unsent, other)).send_error.code).toBe('EMAIL_SEND_FAILED')
  })

  test('when a file is found to be infected', async () => {
    const { sql, organization_id } = desk.scope
    const file = await uploadFile(desk.agent)
    const draft = await later(await ticketOf(), { attachment_ids: [file.id] })
    await sql`update attachments set scan = 'infected' where organization_id = ${organization_id} and id = ${file.id}`
    expect((await kept(draft)).send_error.code).toBe('ATTACHMENT_INFECTED')
  })

  test('its reason goes with another moment, or with none; what is changed else leaves it', async () => {
    const ticket = await ticketOf()
    const draft = await later(ticket)
    await desk.agent.patch(`/tickets/${ticket.id}`, { status: 'closed' })
    await kept(draft)
    const path = `/drafts/${draft.id}`
    expect((await desk.agent.patch(path, { body: 'New' })).body.data.send_error.code).toBe('INVALID_STATUS')
    expect((await desk.agent.patch(path, { send_at: null })).body.data).toMatchObject(GONE)
  })
})

test('a ticket that is deleted takes its drafts along, and nothing is sent', async () => {
  const ticket = await ticketOf()
  const draft = await later(ticket)
  const sent = desk.sink.messages.length
  await desk.agent.delete(`/tickets/${ticket.id}`)
  await step(desk, DAY_MS + 1000)
  await drain()
  expect(await attempt(draft)).toEqual({ type: 'done' })
  expect(desk.sink.messages.length).toBe(sent)
  expect(await momentsOf(draft)).toEqual([])
})

test('a worker that comes late changes nothing: it was moved, taken back, sent or deleted', async () => {
  const tickets = [await ticketOf(), await ticketOf(), await ticketOf(), await ticketOf()]
  const [moved, taken, sent, deleted] = [
    await later(tickets[0]!),
    await later(tickets[1]!),
    await later(tickets[2]!),
    await later(tickets[3]!),
  ]
  await desk.agent.patch(`/drafts/${taken.id}`, { send_at: null })
  await desk.agent.post(`/drafts/${sent.id}/send`)
  await desk.agent.delete(`/drafts/${deleted.id}`)
  expect(await attempt(moved)).toMatchObject({ type: 'retry', counts: false })
  for (const draft of [taken, sent, deleted]) {
    expect(await momentsOf(draft)).toEqual([])
    expect(await attempt(draft)).toEqual({ type: 'done' })
  }
  expect(await momentsOf(moved)).toEqual([moved.send_at])
  // It is moved while the worker waits for the ticket.
  await step(desk, DAY_MS + 1000)
  const late = await inTransaction(desk.scope, async (scope) => {
    const { sql, organization_id } = scope
    await sql`select from tickets where organization_id = ${organization_id} and id = ${tickets[0]!.id} for update`
    const attempting = attempt(moved)
    await someoneWaits()
    await sql`
      update drafts set send_at = ${at(DAY_MS)} where organization_id = ${organization_id} and id = ${moved.id}`
    return { attempting }
  })
  expect(await late.attempting).toMatchObject({ type: 'retry', counts: false })
  expect(await messagesOf(tickets[0]!)).toEqual([])
  await desk.agent.delete(`/drafts/${moved.id}`)
})

test('who is removed while the draft is sent leaves no message, and a draft that others find', async () => {
  const zoe = await desk.addMember('agent', 'Zoe Agent')
  const ticket = await ticketOf()
  const draft = await later(ticket, {}, zoe)
  await step(desk, DAY_MS + 1000)
  const { sending } = await inTransaction(desk.scope, async (scope) => {
    await removeMembership(scope, zoe.user_id)
    const sending = attempt(draft)
    await someoneWaits()
    return { sending }
  })
  await sending
  expect(await messagesOf(ticket)).toEqual([])
  expect(await show(draft)).toMatchObject({ send_at: null, send_error: { code: 'USER_NOT_FOUND' } })
})

test('a restored service waits', async () => {
  const ticket = await ticketOf()
  await later(ticket)
  await step(desk, DAY_MS + 1000)
  holdOutbox()
  try {
    await drain()
    expect(await messagesOf(ticket)).toEqual([])
  } finally {
    resumeOutbox()
  }
  await drain()
  expect(await messagesOf(ticket)).toHaveLength(1)
})

const KINDS = ['schedule', 'cancel', 'write', 'see', 'close', 'open', 'merge', 'unmerge', 'restart'] as const
const act = fc.record({
  kind: fc.constantFrom(...KINDS, 'schedule', 'schedule', 'write', 'close', 'pass', 'pass', 'pass', 'pass'),
  minutes: fc.integer({ min: 2, max: 60 }),
  unless_answered: fc.boolean(),
})

test('in any order of acts each draft is sent once, at its moment, and never after what ends it', async () => {
  const own = await desk.createDesk()
  const target = await ticketOf(own)
  const runs = Number(process.env.SEND_LATER_RUNS ?? tries(20))
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 14 }), async (acts) => {
      // A customer has few requests in a minute.
      const carla = await createCustomer(own.admin)
      const made = await own.agent.post('/tickets', { subject: newId(), contact_id: carla.contact.id })
      const { id } = made.body.data
      let draft = await createDraft(own.agent, { id }, { body: newId() })
      // Minutes until it is sent; null: it does not wait.
      let left: number | null = null
      let [is_stale, is_closed, is_merged, unless, written] = [false, false, false, true, 0]
      let why: string | null = null
      const bodies: string[] = []
      for (const { kind, minutes, unless_answered } of acts) {
        const path = `/drafts/${draft.id}`
        if (kind === 'pass') {
          // Moments are whole seconds.
          await step(own, minutes * MINUTE_MS + 1000)
          // Two workers, and one that died behind its commit.
          await Promise.all([drain(), attempt(draft, own.scope)])
          if (left === null) continue
          left -= minutes
          if (left > 0) continue
          left = null
          why = is_closed ? 'INVALID_STATUS' : is_stale && unless ? 'DRAFT_STALE' : null
          if (why !== null) continue
          bodies.push(draft.body)
          draft = await createDraft(own.agent, { id }, { body: newId() })
          ;[is_stale, unless] = [false, true]
        } else if (kind === 'restart') {
          await own.scope.sql`
            update outbox set lease_until = '-infinity', lease_token = null
            where organization_id = ${own.id} and lease_token is not null`
        } else if (is_merged) {
          if (kind !== 'unmerge') continue
          await own.agent.post(`/tickets/${id}/unmerge`)
          is_merged = false
        } else if (kind === 'schedule') {
          // Time that passes is often more.
          const soon = Math.ceil(minutes / 4)
          const answer = await own.agent.patch(path, { send_at: at(soon * MINUTE_MS), unless_answered })
          expect(answer.status).toBe(200)
          ;[left, unless, why] = [soon, unless_answered, null]
        } else if (kind === 'cancel') {
          await own.agent.patch(path, { send_at: null })
          ;[left, why] = [null, null]
        } else if (kind === 'merge') {
          await own.agent.post(`/tickets/${target.id}/merge`, { source_ids: [id] })
          is_merged = true
          if (left !== null) [left, why] = [null, 'TICKET_MERGED']
        } else if (kind === 'write') {
          expect((await carla.post(`/my/tickets/${id}/messages`, { body: 'Hello' })).status).toBe(201)
          written++
          ;[is_stale, is_closed] = [true, false]
        } else if (kind === 'see') {
          const newest = (await messagesOf({ id }, own.admin)).at(-1)
          if (!newest) continue
          await own.agent.patch(path, { based_on: newest.id })
          is_stale = false
        } else if (kind === 'close' || kind === 'open') {
          await own.agent.patch(`/tickets/${id}`, { status: kind === 'close' ? 'resolved' : 'open' })
          if (kind === 'close') await own.agent.patch(`/tickets/${id}`, { status: 'closed' })
          is_closed = kind === 'close'
        }
        if (is_merged) continue
        const now = await show(draft, own.admin)
        expect([now.send_at !== null, now.send_error?.code ?? null]).toEqual([left !== null, why])
      }
      if (is_merged) await own.agent.post(`/tickets/${id}/unmerge`)
      const sent = (await messagesOf({ id }, own.admin)).filter(
        ({ direction }: { direction: string }) => direction === 'outbound',
      )
      expect(sent.map(({ body }: { body: string }) => body)).toEqual(bodies)
      expect(await messagesOf({ id }, own.admin)).toHaveLength(bodies.length + written)
      await own.agent.delete(`/drafts/${draft.id}`)
    }),
    { numRuns: runs },
  )
}, 120_000)
