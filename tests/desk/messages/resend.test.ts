/** Emails that are sent again: who gets them, and when that is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { claim } from '../../../src/delivery/outbox/claim'
import { createProgram } from '../../support/api-keys'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { drain } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

type Sent = { id: string; ticket_id: string; contact: { id: string; email: string } }

/** A message that the server has refused for all who are in `refused`. */
async function refusedFor(refused: (address: string) => boolean, fields: Record<string, unknown> = {}): Promise<Sent> {
  desk.sink.answer((event) => (event.stage === 'rcpt' && refused(event.address) ? '550 5.1.1 No such user' : undefined))
  const contact = await createContact(desk.agent)
  const ticket = await createTicket(desk.agent, { contact_id: contact.id })
  const { id } = await createMessage(desk.agent, ticket.id, fields)
  await drain()
  desk.sink.answer()
  return { id, ticket_id: ticket.id, contact }
}

function resend({ ticket_id, id }: Sent, client = desk.agent, headers: Record<string, string> = {}) {
  return client.send('POST', `/tickets/${ticket_id}/messages/${id}/resend`, undefined, headers)
}

async function read({ ticket_id, id }: Sent) {
  return (await desk.agent.get(`/tickets/${ticket_id}/messages/${id}`)).body.data
}

/** The entries of the timeline about it. */
async function resentOf({ ticket_id }: Sent): Promise<Record<string, unknown>[]> {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/activity`)).body
  return data.filter(({ type }: { type: string }) => type === 'email_resent')
}

const mailsOf = (message: { email_message_id: string }) =>
  desk.sink.messages.filter(({ raw }) => raw.toString('latin1').includes(`<${message.email_message_id}>`))

test('a failed email goes out again with the same Message-ID, to the address that the contact has now', async () => {
  const sent = await refusedFor(() => true)
  const before = await read(sent)
  expect(before.email_status).toBe('failed')
  const email = `right.${newId().slice(-8)}@customer.example`
  await desk.agent.patch(`/contacts/${sent.contact.id}`, { email })
  const answer = await resend(sent)
  expect([answer.status, answer.body.data.email_status]).toEqual([200, 'queued'])
  await drain()
  const after = await read(sent)
  expect(after).toMatchObject({ email_status: 'sent', email_error: null, email_message_id: before.email_message_id })
  expect(after.email_recipients).toEqual([{ email, kind: 'to', status: 'sent', error: null }])
  expect(mailsOf(after).map(({ to }) => to)).toEqual([[email]])
  const [resent] = await resentOf(sent)
  const actor = { type: 'user', id: desk.agent.user_id }
  expect(resent).toMatchObject({ actor, data: { message_id: sent.id, recipients: [email] } })
})

test('what a key sends again is in the timeline and in the audit log in its name', async () => {
  const sent = await refusedFor(() => true)
  const key = await createProgram(desk.admin, ['messages:write'])
  expect((await resend(sent, key)).status).toBe(200)
  const actor = { type: 'api_key', id: key.id, name: key.name }
  const [resent] = await resentOf(sent)
  expect(resent).toMatchObject({ actor, data: { message_id: sent.id, recipients: [sent.contact.email] } })
  const [entry] = (await desk.admin.get(`/audit-log?actor_id=${key.id}`)).body.data
  expect(entry).toMatchObject({
    actor,
    action: 'api_key.request',
    changes: { route: { to: '/api/v1/tickets/:ticket_id/messages/:message_id/resend' }, status: { to: 200 } },
  })
})

test('only those who failed or bounced get it again, a participant too', async () => {
  const cc = [`ok.${newId().slice(-8)}@customer.example`, `late.${newId().slice(-8)}@customer.example`]
  const sent = await refusedFor(() => false, { cc })
  await connection().sql`
    update message_recipients set status = 'bounced', error = '550 gone' where message_id = ${sent.id} and email = ${cc[1]!}`
  await connection().sql`update messages set email_status = 'bounced' where id = ${sent.id}`
  expect((await resend(sent)).body.data).toMatchObject({ email_status: 'sent', email_error: null })
  await drain()
  const after = await read(sent)
  expect(after.email_status).toBe('sent')
  expect(mailsOf(after).map(({ to }) => to)).toEqual([[sent.contact.email, ...cc], [cc[1]!]])
})

test('two at once send it once', async () => {
  const sent = await refusedFor(() => true)
  const answers = await Promise.all([resend(sent), resend(sent), resend(sent)])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422])
  await drain()
  expect(mailsOf(await read(sent))).toHaveLength(1)
})

test('a repeated Idempotency-Key gets the first answer, and sends nothing more', async () => {
  const sent = await refusedFor(() => true)
  const headers = { 'idempotency-key': newId() }
  const first = await resend(sent, desk.agent, headers)
  await drain()
  const second = await resend(sent, desk.agent, headers)
  expect([second.status, second.body]).toEqual([first.status, first.body])
  await drain()
  expect(mailsOf(await read(sent))).toHaveLength(1)
})

describe('it is refused', () => {
  test.each([
    ['sent', async () => refusedFor(() => false)],
    ['a note', async () => refusedFor(() => false, { is_internal: true })],
    ['written without email', async () => refusedFor(() => false, { send_email: false })],
  ])('when there is nobody: the message is %s', async (_, make) => {
    const answer = await resend(await make())
    expect([answer.status, answer.body.error.code]).toEqual([422, 'EMAIL_SEND_FAILED'])
  })

  test('when no mailbox can send', async () => {
    const sent = await refusedFor(() => true)
    await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { active: false })
    const answer = await resend(sent)
    await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { active: true })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'EMAIL_SEND_FAILED'])
  })

  test('while an attempt is under way, whose outcome would end it', async () => {
    const cc = [`wait.${newId().slice(-8)}@customer.example`]
    const sent = await refusedFor((address) => address !== cc[0], { cc })
    const { sql } = connection()
    const { organization_id } = desk.scope
    await sql`update message_recipients set status = 'queued' where message_id = ${sent.id} and email = ${cc[0]!}`
    await sql`
      insert into outbox (organization_id, id, kind, lane_id)
      values (${organization_id}, ${sent.id}, 'email', ${desk.mailbox_id})`
    await claim(sql, 'email', organization_id, [{ lane_id: desk.mailbox_id, room: 1 }], newId())
    expect((await resend(sent)).body.error.details.reason).toContain('being sent just now')
    await sql`update outbox set lease_until = now() where id = ${sent.id}`
    expect((await resend(sent)).status).toBe(200)
    await drain()
    expect((await read(sent)).email_recipients.map(({ status }: { status: string }) => status)).toEqual([
      'sent',
      'sent',
    ])
  })

  test('for a contact that was erased', async () => {
    const sent = await refusedFor(() => true)
    expect((await desk.admin.post(`/contacts/${sent.contact.id}/erase`)).status).toBe(200)
    const answer = await resend(sent)
    expect([answer.status, answer.body.error.code]).toEqual([422, 'EMAIL_SEND_FAILED'])
  })
})
