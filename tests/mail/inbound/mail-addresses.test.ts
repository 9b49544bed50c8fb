/** Mail of a contact with several addresses, and of contacts that were merged. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage } from '../../support/factories'
import { importMail, rawMail, readTicket } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const [FIRST, SECOND] = ['ann@work.example', 'ann@home.example']

/** A desk whose contact has two addresses, and a ticket that came from the first. */
async function createWithTwo() {
  const own = await desk.createDesk()
  const contact = await createContact(own.agent, { email: FIRST, emails: [SECOND] })
  const mail = (From: string, fields: Record<string, string> = {}) =>
    importMail(
      own.admin,
      own.mailbox_id,
      rawMail({ From, To: own.address, Subject: 'Printer', 'Message-ID': `<${newId()}@mail.example>`, ...fields }),
    )
  const opened = await mail(FIRST, { 'Message-ID': `<${own.id}@work.example>` })
  const recipients = async () => {
    const message = await createMessage(own.agent, opened.ticket_id)
    return message.email_recipients.map(({ email }: { email: string }) => email)
  }
  return { ...own, contact, mail, opened, recipients, anchor: { 'In-Reply-To': `<${own.id}@work.example>` } }
}

test('each address is the contact, and threads by the ids of others and by the code', async () => {
  const { agent, contact, mail, opened, anchor } = await createWithTwo()
  const { code } = await readTicket(agent, opened.ticket_id)
  const answers = [
    await mail(`Other Name <${SECOND.toUpperCase()}>`, anchor),
    await mail(SECOND, { Subject: `About [${code}]` }),
  ]
  expect(answers.map(({ outcome, rule, ticket_id }) => [outcome, rule, ticket_id])).toEqual([
    ['message', 'in_reply_to', opened.ticket_id],
    ['message', 'subject_code', opened.ticket_id],
  ])
  expect((await mail('stranger@home.example', anchor)).outcome).toBe('ticket')
  const fresh = await mail(SECOND)
  expect((await readTicket(agent, fresh.ticket_id)).contact.id).toBe(contact.id)
  expect((await agent.get('/contacts')).body.meta.total).toBe(2)
})

test('a confirmed participant threads from another address of that contact', async () => {
  const { agent, mail, opened, anchor } = await createWithTwo()
  await createContact(agent, { email: 'paul@a.example', emails: ['paul@b.example'] })
  await agent.post(`/tickets/${opened.ticket_id}/participants`, { email: 'paul@a.example' })
  expect((await mail('paul@b.example', anchor)).ticket_id).toBe(opened.ticket_id)
})

test('answers go to the address last written from in the ticket, once, else to the primary one', async () => {
  const { agent, contact, mail, anchor, recipients, opened } = await createWithTwo()
  expect(await recipients()).toEqual([FIRST])
  await mail(SECOND, { ...anchor, Cc: FIRST })
  expect(await recipients()).toEqual([SECOND])
  await mail(FIRST, anchor)
  expect(await recipients()).toEqual([FIRST])
  await mail(SECOND, { ...anchor, 'Auto-Submitted': 'auto-replied' })
  expect(await recipients()).toEqual([FIRST])
  await mail(SECOND, anchor)
  expect(await recipients()).toEqual([SECOND])
  await agent.patch(`/contacts/${contact.id}`, { emails: ['new@work.example'] })
  expect(await recipients()).toEqual(['new@work.example'])
  const { data } = (await agent.get(`/tickets/${opened.ticket_id}/participants`)).body
  expect(data).toEqual([])
})

test('no address of the contact becomes a participant of its ticket', async () => {
  const { agent, opened } = await createWithTwo()
  const answer = await agent.post(`/tickets/${opened.ticket_id}/participants`, { email: SECOND })
  expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
})

test('after a merge mail of the sources, and their participations, are those of the contact that stays', async () => {
  const { admin, agent, contact, mail, opened, anchor, recipients } = await createWithTwo()
  const source = await createContact(agent, { email: 'ann@old.example' })
  await agent.post(`/tickets/${opened.ticket_id}/participants`, { email: 'ann@old.example' })
  expect(await recipients()).toEqual([FIRST, 'ann@old.example'])
  expect((await agent.post(`/contacts/${contact.id}/merge`, { source_ids: [source.id] })).status).toBe(200)
  // One person is written to once.
  expect(await recipients()).toEqual([FIRST])
  expect((await mail('ann@old.example', anchor)).ticket_id).toBe(opened.ticket_id)
  expect(await recipients()).toEqual(['ann@old.example'])
  const fresh = await mail('ann@old.example')
  expect((await readTicket(agent, fresh.ticket_id)).contact.id).toBe(contact.id)
  expect((await admin.get(`/contacts/${contact.id}/export`)).body.data).toMatchObject({
    contact: { emails: [FIRST, SECOND, 'ann@old.example'] },
    inbound_messages: expect.arrayContaining([expect.objectContaining({ from_email: 'ann@old.example' })]),
  })
})

test('mail that arrives during a merge is the target’s, and none is lost', async () => {
  const { agent, contact, mail } = await createWithTwo()
  const source = await createContact(agent, { email: 'ann@old.example' })
  const [merged, ...filed] = await Promise.all([
    agent.post(`/contacts/${contact.id}/merge`, { source_ids: [source.id] }),
    ...Array.from({ length: 6 }, () => mail('ann@old.example')),
  ])
  expect(merged.status).toBe(200)
  for (const { ticket_id } of filed) expect((await readTicket(agent, ticket_id)).contact.id).toBe(contact.id)
  expect((await agent.get('/contacts')).body.meta.total).toBe(1)
})
