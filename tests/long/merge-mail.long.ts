/**
 * Mail that arrives while its tickets are merged, and undone, comes to the ticket where its conversation is: nothing is
 * lost or there twice, and nothing is on a merged ticket.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import { NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../support/desk'
import { createMessage } from '../support/factories'
import { importMail, ledgerOf, rawMail, readTicket } from '../support/mail'
import { randomFrom } from '../support/seeded'

const ROUNDS = Number(process.env.MERGE_ROUNDS ?? 5)
const MAILS = 500
const MERGES = 50
/** Requests that are under way at the same time. */
const AT_ONCE = 16

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ smtp: smtpTo(NO_SERVER) })
})
afterAll(() => desk.stop())

test('500 mails and 50 merges at once leave each mail once, on a ticket that is not merged', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const own = await desk.createDesk({ smtp: smtpTo(NO_SERVER) })
    const random = randomFrom(round + 1)
    const send = (from: string, anchor?: string) => {
      const fields = { From: from, To: own.address, Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
      const raw = rawMail({ ...fields, ...(anchor && { In_Reply_To: `<${anchor}>` }) })
      return importMail(own.admin, own.mailbox_id, raw)
    }
    const tickets: { id: string; from: string; anchor: string }[] = []
    for (let n = 0; n < MERGES + 1; n++) {
      const from = `person.${n}@customer.example`
      const { ticket_id } = await send(from)
      const { email_message_id } = await createMessage(own.agent, ticket_id)
      tickets.push({ id: ticket_id, from, anchor: email_message_id })
    }
    const any = () => tickets[Math.floor(random() * tickets.length)]!
    const merge = async () => {
      const { status } = await own.admin.post(`/tickets/${any().id}/merge`, { source_ids: [any().id] })
      expect([200, 422]).toContain(status)
      if (random() < 0.3) expect([200, 422]).toContain((await own.admin.post(`/tickets/${any().id}/unmerge`)).status)
    }
    const mail = async () => {
      const { from, anchor } = any()
      expect((await send(from, anchor)).outcome).toBe('message')
    }
    const work = Array.from({ length: MAILS + MERGES }, (_, n) => (n % (MAILS / MERGES + 1) === 0 ? merge : mail))
    const workers = Array.from({ length: AT_ONCE }, async () => {
      for (let next = work.pop(); next; next = work.pop()) await next()
    })
    await Promise.all(workers)

    const found: string[] = []
    for (const { id } of tickets) {
      const { merged_into, messages } = await readTicket(own.agent, id)
      if (merged_into) expect(messages).toEqual([])
      found.push(...messages.map((message: { id: string }) => message.id))
    }
    expect(new Set(found).size).toBe(found.length)
    expect(found.length).toBe(2 * tickets.length + MAILS)
    expect((await ledgerOf(own, '&outcome=pending')).length).toBe(0)
  }
}, 1_800_000)
