/** Rules that are applied: once and in order. They never answer machines, and never start each other. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { RULE_EVENTS } from '../../../src/delivery/webhooks/rule-rights'
import { ruleHandler } from '../../../src/desk/rules/apply-rules'
import { wakeTicket } from '../../../src/desk/tickets/wake-ticket'
import { type Client, createOrganization, type Organization } from '../../support/api'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { activityOf, createLabel, createMessage, createTicket } from '../../support/factories'
import { deliver, drain, rawMail } from '../../support/mail'
import { applyAll, createRule } from '../../support/rules'

let started: StartedDesk

beforeAll(async () => {
  started = await startDesk()
})
afterAll(() => started.stop())

const messagesOf = async (client: Client, id: string) => (await client.get(`/tickets/${id}/messages`)).body.data
const ticketOf = async (client: Client, id: string) => (await client.get(`/tickets/${id}`)).body.data

/** An email of a customer; gives its ticket. */
async function write(desk: Desk, fields: Record<string, string> = {}, body = 'It burns') {
  const from = fields.From ?? `Ann <ann.${newId().slice(-12)}@customer.example>`
  await deliver(started.port, {
    to: desk.address,
    raw: rawMail(
      { From: from, To: desk.address, Subject: 'Fire', Message_ID: `<${newId()}@c.example>`, ...fields },
      body,
    ),
  })
  await applyAll(desk)
  return (await desk.agent.get('/tickets?sort=-last_message_at')).body.data[0]
}

/** Emails that left for an address. */
const sentTo = (address: string) => started.sink.messages.filter(({ to }) => to.includes(address))

const THANKS = { body: 'Thank you, {{contact.name}}. {{user.name}}' }

test('a rule applies its macro: the answer is the mailbox’s, a machine’s, and nobody’s of the team', async () => {
  const desk = await started.createDesk({ name: 'Help' })
  const rule = await createRule(desk.admin, { on: 'message.created', filter: { direction: 'inbound' }, macro: THANKS })
  const email = `ann.${newId().slice(-12)}@customer.example`
  const ticket = await write(desk, { From: `Ann <${email}>` })
  const [asked, answer] = await messagesOf(desk.agent, ticket.id)
  expect(answer).toMatchObject({
    ...{ body: 'Thank you, Ann. Help', direction: 'outbound', email_status: 'sent', auto_reply: true },
    sender: { name: 'Help', email: desk.address },
  })
  const [sent] = sentTo(email)
  expect(sent!.raw.toString()).toMatch(/^Auto-Submitted: auto-replied\r$/m)
  const after = await ticketOf(desk.agent, ticket.id)
  expect(after).toMatchObject({ waiting_since: asked.created_at, last_message: { id: answer.id } })
  const { data } = (await desk.agent.get(`/tickets/${ticket.id}/activity`)).body
  expect(data.find(({ data }: { data: { message_id?: string } }) => data.message_id === answer.id).actor).toEqual({
    ...{ type: 'system', id: null, name: 'Deskwire', rule: { id: rule.id, name: rule.name } },
  })
  expect((await createMessage(desk.agent, ticket.id)).sender.name).toBe('Alan Agent')
  expect((await ticketOf(desk.agent, ticket.id)).waiting_since).toBeNull()
})

test('rules of a change are applied in the order of their names, and one that is off is not', async () => {
  const desk = await createOrganization()
  const { admin, agent } = desk
  const write = (word: string) => ({ body: word, is_internal: true })
  for (const name of ['c', 'A', 'b']) await createRule(admin, { name, macro: write(name) })
  await createRule(admin, { name: 'a2', macro: write('off'), active: false })
  const ticket = await createTicket(agent)
  await applyAll(desk)
  expect((await messagesOf(agent, ticket.id)).map(({ body }: { body: string }) => body)).toEqual(['A', 'b', 'c'])
})

test('a filter is judged at the change, by the ticket before and after it', async () => {
  const desk = await createOrganization()
  const { admin, agent } = desk
  const label = await createLabel(agent)
  await createRule(admin, {
    on: 'ticket.updated',
    filter: { label_ids: [label.id] },
    macro: { changes: { priority: 'urgent' } },
  })
  const [one, two] = [await createTicket(agent), await createTicket(agent)]
  await agent.patch(`/tickets/${one.id}`, { label_ids: [label.id] })
  await agent.patch(`/tickets/${two.id}`, { subject: 'Other' })
  await applyAll(desk)
  expect((await ticketOf(agent, one.id)).priority).toBe('urgent')
  expect((await ticketOf(agent, two.id)).priority).toBe('normal')
})

describe('an attack: mail that a machine wrote', () => {
  test.each<[string, Record<string, string>]>([
    ['an automatic answer', { Auto_Submitted: 'auto-replied' }],
    ['mail of a list', { List_Id: 'Fires <fires.lists.example>' }],
    ['a list without an id', { Precedence: 'list', In_Reply_To: '<x@y.example>' }],
    ['a report', { Content_Type: 'multipart/report; boundary=x' }],
    ['mass mail', { Precedence: 'bulk' }],
  ])('%s gets no answer; the changes are made', async (_, fields) => {
    const desk = await started.createDesk()
    await createRule(desk.admin, { macro: { ...THANKS, changes: { priority: 'low' } } })
    const ticket = await write(desk, fields)
    expect(ticket.priority).toBe('low')
    expect((await messagesOf(desk.agent, ticket.id)).map(({ direction }: never) => direction)).toEqual(['inbound'])
  })

  test('forged mail gets none', async () => {
    const desk = await started.createDesk()
    await createRule(desk.admin, { on: 'ticket.updated', macro: { ...THANKS, changes: { priority: 'low' } } })
    const ticket = await write(desk)
    await desk.scope.sql`
      update messages set sender_verified = false where organization_id = ${desk.id} and ticket_id = ${ticket.id}`
    await desk.agent.patch(`/tickets/${ticket.id}`, { subject: 'Other' })
    await applyAll(desk)
    expect(await messagesOf(desk.agent, ticket.id)).toHaveLength(1)
    expect((await ticketOf(desk.agent, ticket.id)).priority).toBe('low')
  })

  test('two desks that answer each other end after one answer', async () => {
    const [one, two] = [await started.createDesk(), await started.createDesk()]
    const fields = { on: 'message.created', filter: { direction: 'inbound' }, macro: THANKS }
    for (const { admin } of [one, two]) await createRule(admin, fields)
    const before = started.sink.messages.length
    await write(two, { From: `Desk one <${one.address}>` })
    for (let round = 0; round < 5; round++) {
      const left = started.sink.messages.slice(before + round)
      if (left.length === 0) break
      const { to, raw } = left[0]!
      await deliver(started.port, { to: to[0]!, raw })
      await applyAll(one)
      await applyAll(two)
    }
    expect(started.sink.messages.length - before).toBe(1)
    expect((await one.agent.get('/tickets')).body.data[0].priority).toBe('normal')
  })

  test('a rule answers an address on a ticket once in 24 hours, whatever it writes', async () => {
    const desk = await started.createDesk()
    await createRule(desk.admin, { on: 'message.created', filter: { direction: 'inbound' }, macro: THANKS })
    const email = `ann.${newId().slice(-12)}@customer.example`
    const From = `Ann <${email}>`
    const { id, code } = await write(desk, { From })
    const again = () => write(desk, { From, Subject: `Re: [${code}] Fire` })
    await again()
    expect(sentTo(email)).toHaveLength(1)
    expect(await messagesOf(desk.agent, id)).toHaveLength(3)
  })

  test('a machine that does not say so, and opens a ticket by each mail, gets 20 answers in 24 hours', async () => {
    const desk = await started.createDesk()
    const { scope, id } = desk
    await createRule(desk.admin, { macro: { ...THANKS, changes: { priority: 'low' } } })
    const email = `robot.${newId().slice(-12)}@customer.example`
    for (let round = 0; round < 22; round++) await write(desk, { From: `Robot <${email}>`, Subject: `Case ${round}` })
    expect(sentTo(email)).toHaveLength(20)
    const { data } = (await desk.agent.get('/tickets?per_page=100')).body
    expect(data.map(({ priority }: { priority: string }) => priority)).toEqual(Array(22).fill('low'))
    // Others are answered, and so is the machine when one of its answers counts no more.
    const other = `ann.${newId().slice(-12)}@customer.example`
    await write(desk, { From: `Ann <${other}>` })
    expect(sentTo(other)).toHaveLength(1)
    await scope.sql`
      update message_recipients set email_key = 'gone@customer.example'
      where organization_id = ${id} and email_key = ${email} and message_id = (
        select min(message_id::text)::uuid from message_recipients where organization_id = ${id} and email_key = ${email}
      )`
    await write(desk, { From: `Robot <${email}>`, Subject: 'Case 23' })
    expect(sentTo(email)).toHaveLength(21)
  })

  test('a public message that cannot leave counts, too, until a day is over', async () => {
    const desk = await createOrganization()
    const { admin, agent, scope } = desk
    await createRule(admin, { on: 'ticket.updated', macro: { body: 'Changed' } })
    const { id } = await createTicket(agent)
    const change = async () => {
      await agent.patch(`/tickets/${id}`, { subject: crypto.randomUUID() })
      await applyAll(desk)
      return (await messagesOf(agent, id)).length
    }
    expect([await change(), await change()]).toEqual([1, 1])
    // A message was written when its id says.
    const time = (Date.now() - 86_460_000).toString(16).padStart(12, '0')
    const older = `${time}${newId().replaceAll('-', '').slice(12)}`
    await scope.sql`update messages set id = ${older}::uuid where organization_id = ${desk.id} and ticket_id = ${id}`
    expect([await change(), await change()]).toEqual([2, 2])
  })
})

describe('an attack: circles', () => {
  test('a rule starts neither itself nor another, at once, by its mail, or when it has let a ticket sleep', async () => {
    const desk = await started.createDesk()
    const { admin, agent, scope } = desk
    await createRule(admin, { name: '1', on: 'ticket.updated', macro: { changes: { priority: 'high' } } })
    await createRule(admin, { name: '2', on: 'ticket.updated', macro: { changes: { priority: 'low' } } })
    await createRule(admin, { name: '3', on: 'message.email_sent', macro: { body: 'Sent', is_internal: true } })
    await createRule(admin, { name: '4', on: 'message.created', filter: { direction: 'inbound' }, macro: THANKS })
    await createRule(admin, { name: '5', on: 'ticket.status_changed', macro: { changes: { snooze_minutes: 5 } } })
    const ticket = await write(desk)
    const bodies = async () => (await messagesOf(agent, ticket.id)).map(({ body }: { body: string }) => body)
    expect(await bodies()).not.toContain('Sent')
    await agent.patch(`/tickets/${ticket.id}`, { status: 'pending' })
    await applyAll(desk)
    const asleep = await ticketOf(agent, ticket.id)
    expect(asleep).toMatchObject({ priority: 'low', status: 'pending' })
    expect(asleep.snoozed_until).not.toBeNull()
    await scope.sql`
      update tickets set snoozed_until = now() - interval '1 second'
      where organization_id = ${desk.id} and id = ${ticket.id}`
    await wakeTicket({ organization_id: desk.id, id: ticket.id } as Parameters<typeof wakeTicket>[0], connection())
    await applyAll(desk)
    expect(await ticketOf(agent, ticket.id)).toMatchObject({ status: 'open', snoozed_until: null })
    // The message of a person starts them.
    await createMessage(agent, ticket.id)
    await applyAll(desk)
    expect(await bodies()).toContain('Sent')
  })

  test('whatever rules wait for and do, each of a change is done once, and no more follows', async () => {
    const change = fc.constantFrom(
      ...([{ priority: 'high' }, { priority: 'low' }, { status: 'pending' }, { status: 'open' }] as const),
    )
    const event = fc.constantFrom(...RULE_EVENTS)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ event, change }), { minLength: 1, maxLength: 4 }), async (wanted) => {
        const desk = await createOrganization()
        const { admin, agent, scope } = desk
        const rules = await Promise.all(
          wanted.map(({ event, change }, place) =>
            createRule(admin, { on: event, macro: { body: `${place}`, is_internal: true, changes: change } }),
          ),
        )
        const ticket = await createTicket(agent, { description: 'Fire' })
        await agent.patch(`/tickets/${ticket.id}`, { status: 'pending', assignee_id: agent.user_id })
        await createMessage(agent, ticket.id)
        const runs = await scope.sql<{ rule_ids: string[] }[]>`
          select rule_ids from rule_runs where organization_id = ${desk.id}`
        // Each is tried by two workers, and once more.
        const jobs = await scope.sql<{ id: string }[]>`
          select id from outbox where organization_id = ${desk.id} and kind = 'rule'`
        const attempt = (id: string) => attemptRun(desk, id)
        await Promise.all(jobs.flatMap(({ id }) => [attempt(id), attempt(id)]))
        await applyAll(desk)
        const entries = await activityOf(scope, ticket.id)
        const notes = await messagesOf(agent, ticket.id)
        for (const [place, { id }] of rules.entries()) {
          const started = runs.filter(({ rule_ids }) => rule_ids.includes(id)).length
          const done = notes.filter(({ body }: { body: string }) => body === `${place}`).length
          expect([place, done]).toEqual([place, started])
        }
        expect(entries.length).toBeLessThan(100)
        expect(await scope.sql`select from rule_runs where organization_id = ${desk.id}`).toHaveLength(0)
      }),
      { numRuns: 6 },
    )
  })
})

/** Does what a worker does that leased a row, and dies before it settles. */
async function attemptRun({ scope: { organization_id } }: Organization, id: string): Promise<void> {
  const { attempt } = ruleHandler as { attempt: (job: object, connection: object) => Promise<unknown> }
  await attempt({ organization_id, id }, connection())
}

describe('in flight:', () => {
  test('a worker that dies between effect and settle does it once', async () => {
    const desk = await createOrganization()
    await createRule(desk.admin, { macro: { body: 'Once', is_internal: true } })
    const ticket = await createTicket(desk.agent)
    const [job] = await desk.scope.sql<{ id: string }[]>`
      select id from outbox where organization_id = ${desk.id} and kind = 'rule'`
    await attemptRun(desk, job!.id)
    await applyAll(desk)
    expect(await messagesOf(desk.agent, ticket.id)).toHaveLength(1)
  })

  test('a macro that is changed, a rule that is switched off and a ticket that goes are seen', async () => {
    const desk = await createOrganization()
    const { admin, agent } = desk
    const note = { body: 'Old', is_internal: true }
    const [changed, off, gone] = [
      await createRule(admin, { macro: note }),
      await createRule(admin, { macro: note }),
      await createRule(admin, { macro: note }),
    ]
    const [ticket, lost] = [await createTicket(agent), await createTicket(agent)]
    await admin.patch(`/macros/${changed.macro_id}`, { body: 'New' })
    await admin.patch(`/rules/${off.id}`, { active: false })
    await admin.delete(`/macros/${gone.macro_id}`)
    await agent.delete(`/tickets/${lost.id}`)
    await applyAll(desk)
    expect((await messagesOf(agent, ticket.id)).map(({ body }: { body: string }) => body)).toEqual(['New'])
    expect((await admin.get(`/rules/${changed.id}`)).body.data.failures).toBe(0)
  })
})

test('an attack: a flood of one organization holds up no other', async () => {
  const FLOOD = 200
  const [flooded, other] = [await createOrganization(), await createOrganization()]
  const note = { macro: { body: 'Here', is_internal: true } }
  const { id: rule_id } = await createRule(flooded.admin, note)
  await createRule(other.admin, note)
  const { sql } = flooded.scope
  const ticket = await createTicket(flooded.agent)
  const rows = Array.from({ length: FLOOD }, () => newId())
  await sql`
    insert into rule_runs (organization_id, id, ticket_id, rule_ids)
    select ${flooded.id}, unnest(${rows}::uuid[]), ${ticket.id}, array[${rule_id}]::uuid[]`
  await sql`
    insert into outbox (organization_id, id, kind, lane_id)
    select ${flooded.id}, unnest(${rows}::uuid[]), 'rule', ${flooded.id}`
  const { id } = await createTicket(other.agent)
  await drain()
  const [theirs] = await messagesOf(other.agent, id)
  const [before] = await sql<{ n: number }[]>`
    select count(*) as n from messages where organization_id = ${flooded.id} and id < ${theirs.id}`
  const [all] = await sql<{ n: number }[]>`
    select count(*) as n from messages where organization_id = ${flooded.id}`
  expect(all!.n).toBe(FLOOD + 1)
  expect(before!.n).toBeLessThan(FLOOD / 4)
})

describe('failing:', () => {
  const REFUSED = { changes: { status: 'pending' } }

  test('five tickets in a row make a rule fail; admins are told, and active true revives it', async () => {
    const desk = await started.createDesk()
    const { admin, agent, scope } = desk
    const rule = await createRule(admin, { on: 'ticket.status_changed', macro: REFUSED })
    await createRule(admin, { on: 'ticket.status_changed', name: 'zz', macro: { body: 'Next', is_internal: true } })
    const close = async () => {
      const { id } = await createTicket(agent)
      await agent.patch(`/tickets/${id}`, { status: 'closed' })
      return id
    }
    const show = async () => (await admin.get(`/rules/${rule.id}`)).body.data
    const first = await close()
    await drain()
    expect((await show()).failures).toBe(0)
    await applyAll(desk)
    expect(await show()).toMatchObject({ failures: 1, status: 'active' })
    // The rules behind it are applied.
    expect(await messagesOf(agent, first)).toHaveLength(1)
    for (let time = 0; time < 3; time++) await close()
    await applyAll(desk)
    expect(await show()).toMatchObject({ failures: 4, status: 'active' })
    const { id } = await createTicket(agent)
    await agent.patch(`/tickets/${id}`, { status: 'resolved' })
    await agent.patch(`/tickets/${id}`, { status: 'open' })
    await applyAll(desk)
    await close()
    await applyAll(desk)
    for (let time = 0; time < 5; time++) await close()
    await applyAll(desk)
    expect(await show()).toMatchObject({ active: true, status: 'failed' })
    const [entry] = (await admin.get('/audit-log?action=rule.failed')).body.data
    expect(entry).toMatchObject({ actor: { type: 'system' }, resource: { type: 'rule', id: rule.id } })
    const { email } = (await admin.get('/auth/me')).body.user ?? (await admin.get('/auth/me')).body
    expect(sentTo(email)).toHaveLength(1)
    await close()
    await applyAll(desk)
    expect((await admin.patch(`/rules/${rule.id}`, { active: true })).body.data).toMatchObject({
      ...{ status: 'active', failures: 0 },
    })
    expect(await scope.sql`select from rule_runs where organization_id = ${desk.id}`).toHaveLength(0)
  })
})
