/** Mail of a person who is being erased: it is neither lost nor filed for the contact that goes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { finishDeeds } from '../../../src/operate/start/deed-works'
import { type StartedDesk, startDesk } from '../../support/desk'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { changeSchema } from '../../support/triggers'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

test('mail waits while its sender is being erased, and becomes a ticket of a new contact', async () => {
  const from = `erased.${newId()}@customer.example`
  const send = (body: string) =>
    deliver(desk.port, {
      from,
      to: desk.address,
      raw: rawMail({ From: from, To: desk.address, Subject: 'Printer', Message_ID: `<${newId()}@x.example>` }, body),
    })
  await send('Before')
  const [first] = await ledgerOf(desk)
  const { contact } = await readTicket(desk.agent, first.ticket_id)
  await changeSchema(
    "create function interrupt() returns trigger language plpgsql as $$ begin raise 'killed'; end $$",
    'create trigger interrupt before delete on contacts for each row execute function interrupt()',
  )
  await desk.admin.post(`/contacts/${contact.id}/erase`)
  await changeSchema('drop trigger interrupt on contacts')

  await send('Meanwhile')
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'pending', ticket_id: null })
  await finishDeeds(connection())
  expect((await desk.agent.get(`/contacts/${contact.id}`)).status).toBe(404)
  await connection().sql`update outbox set run_at = now() where kind = 'inbound'`
  await drain()
  const [row] = await ledgerOf(desk)
  const ticket = await readTicket(desk.agent, row.ticket_id)
  expect([row.outcome, ticket.contact.email, ticket.messages[0].body.trim()]).toEqual(['ticket', from, 'Meanwhile'])
  expect(ticket.contact.id).not.toBe(contact.id)
})
