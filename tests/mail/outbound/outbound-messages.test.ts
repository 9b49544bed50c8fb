/** `GET /outbound-messages`: all email of the team, with what became of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { expectError } from '../../support/api'
import { runCli } from '../../support/backups'
import { type Desk, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { drain } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

/** An answer to a new contact. */
async function answer(own: Desk, subject: string, domain = `${newId()}.example`) {
  const contact = await createContact(own.agent, { email: `ann@${domain}` })
  const ticket = await createTicket(own.agent, { contact_id: contact.id, subject })
  const { id } = await createMessage(own.agent, ticket.id)
  return { id: id as string, ticket, contact }
}

const list = async ({ agent }: Desk, query = '') => (await agent.get(`/outbound-messages?${query}`)).body
const idsOf = async (own: Desk, query: string) => (await list(own, query)).data.map(({ id }: { id: string }) => id)

test('lists what was sent, what failed and what waits, newest first, with the words of the server', async () => {
  const own = await desk.createDesk()
  const sent = await answer(own, 'Sent')
  await drain()
  desk.sink.answer(({ stage }) => (stage === 'rcpt' ? '550 5.1.1 Nobody' : undefined))
  const failed = await answer(own, 'Failed')
  await drain()
  desk.sink.answer(({ stage }) => (stage === 'rcpt' ? '450 4.2.0 Later' : undefined))
  const later = await answer(own, 'Later')
  await drain()
  desk.sink.answer()
  await own.admin.patch(`/mailboxes/${own.mailbox_id}`, { smtp: smtpTo({ port: 1 }) })
  await createMessage(own.agent, sent.ticket.id, { is_internal: true })
  const { data, meta } = await list(own)
  expect(meta.total).toBe(3)
  const { id, address } = (await own.admin.get(`/mailboxes/${own.mailbox_id}`)).body.data
  const rest = { mailbox: { id, address }, email_message_id: expect.any(String), created_at: expect.any(String) }
  const rowOf = (
    { id, ticket: { code, subject, ...ticket }, contact }: typeof sent,
    status: string,
    error: unknown,
  ) => {
    const recipients = [{ email: contact.email, status, error }]
    return { ...rest, id, ticket: { id: ticket.id, code, subject }, recipients, status, attempts: 1 }
  }
  const [nobody, wait] = ['550 5.1.1 Nobody', '450 4.2.0 Later']
  expect(data).toEqual([
    { ...rowOf(later, 'queued', wait), server_response: wait, next_attempt_at: expect.any(String) },
    { ...rowOf(failed, 'failed', nobody), server_response: nobody, next_attempt_at: null },
    { ...rowOf(sent, 'sent', null), server_response: expect.stringMatching(/^250/), next_attempt_at: null },
  ])

  expect(await idsOf(own, 'status=failed')).toEqual([failed.id])
  expect(await idsOf(own, 'subject=sen')).toEqual([sent.id])
  expect(await idsOf(own, 'subject=sen%20later')).toEqual([])
  expect(await idsOf(own, `to=${failed.contact.email.toUpperCase()}`)).toEqual([failed.id])
  expect(await idsOf(own, `to=@${sent.contact.email.split('@')[1]}`)).toEqual([sent.id])
  expect(await idsOf(own, `mailbox_id=${own.mailbox_id}`)).toHaveLength(3)
  expect(await idsOf(own, `mailbox_id=${newId()}`)).toEqual([])
  expect(await idsOf(own, `email_message_id=%3C${data[1].email_message_id}%3E`)).toEqual([failed.id])
  expect(await idsOf(own, `created_before=${new Date(Date.now() - 3_600_000).toISOString()}`)).toEqual([])
  expect(await idsOf(own, `created_after=${new Date(Date.now() - 3_600_000).toISOString()}`)).toHaveLength(3)
  expectError(await own.agent.get('/outbound-messages?to=ann'), 422, 'VALIDATION_ERROR')
  const first = await list(own, 'per_page=2')
  expect(await idsOf(own, `per_page=2&cursor=${first.meta.next_cursor}`)).toEqual([sent.id])

  await own.agent.delete(`/tickets/${later.ticket.id}`)
  expect((await list(own)).meta.total).toBe(2)
  await own.admin.post(`/contacts/${failed.contact.id}/erase`)
  expect(JSON.stringify(await list(own, 'status=failed'))).not.toContain('Nobody')
})

test('the operator sends all failed emails of an organization again', async () => {
  const own = await desk.createDesk()
  const other = await desk.createDesk()
  desk.sink.answer(({ stage }) => (stage === 'rcpt' ? '550 5.1.1 Nobody' : undefined))
  await Promise.all([answer(own, 'One'), answer(own, 'Two'), answer(other, 'Theirs')])
  await drain()
  desk.sink.answer()
  const resend = async (...more: string[]) => {
    const env = { DATABASE_URL: desk.database.url, SECRET_KEY: 'a secret key that only tests use' }
    const { stdout, stderr } = await runCli(['outbox', 'resend', '--organization', own.id, ...more], env)
    return JSON.parse(stdout || JSON.stringify(stderr))
  }
  expect(await resend('--since', new Date(Date.now() + 60_000).toISOString())).toEqual({ queued: 0, refused: 0 })
  expect(await resend()).toEqual({ queued: 2, refused: 0 })
  await drain()
  expect((await list(own)).data.map(({ status }: { status: string }) => status)).toEqual(['sent', 'sent'])
  expect((await list(other)).data[0].status).toBe('failed')
})
