/** Mail to several organizations: a 250 stands for all of them, and none waits for another. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection, driverPool } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import type { SmtpListener } from '../../../src/mail/smtp/listener'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { someoneWaits } from '../../support/lock-waits'
import { createMailbox, drain, ledgerOf, rawMail, startListener } from '../../support/mail'
import { sendMail, startSession } from '../../support/smtp'

const FROM = 'carla@customer.example'
let listener: SmtpListener
let first: Organization
let second: Organization

beforeAll(async () => {
  await startApi(10)
  listener = await startListener()
  first = await createOrganization()
  second = await createOrganization()
})
afterAll(async () => {
  await listener.close({ timeout_ms: 0 })
  await stopApi()
})

function newMail() {
  return rawMail({ From: FROM, Subject: 'Printer', Message_ID: `<${crypto.randomUUID()}@customer.example>` })
}

test('a message to mailboxes of two organizations is kept for both, once for each', async () => {
  const mailboxes = [
    await createMailbox(first.admin),
    await createMailbox(second.admin),
    await createMailbox(first.admin),
  ]
  const to = mailboxes.map(({ address }) => address)
  expect((await sendMail({ port: listener.port, from: FROM, to, raw: newMail() })).code).toBe(250)
  expect((await ledgerOf(first)).map(({ mailbox }: { mailbox: { address: string } }) => mailbox.address)).toEqual([
    to[0],
  ])
  expect((await ledgerOf(second)).map(({ mailbox }: { mailbox: { address: string } }) => mailbox.address)).toEqual([
    to[1],
  ])
})

test('a message that one of two organizations cannot take is kept for neither: it gets no 250', async () => {
  const [kept, removed] = [await createMailbox(first.admin), await createMailbox(second.admin)]
  const before = [(await ledgerOf(first)).length, (await ledgerOf(second)).length]
  using session = await startSession(listener.port)
  await session.command(`MAIL FROM:<${FROM}>`)
  await session.command(`RCPT TO:<${kept.address}>`)
  await session.command(`RCPT TO:<${removed.address}>`)
  expect((await second.admin.delete(`/mailboxes/${removed.id}`)).status).toBe(204)
  await session.command('DATA')
  session.write(newMail())
  expect(await session.command('\r\n.')).toStartWith('451')
  expect([(await ledgerOf(first)).length, (await ledgerOf(second)).length]).toEqual(before)

  const again = await sendMail({ port: listener.port, from: FROM, to: kept.address, raw: newMail() })
  expect(again.code).toBe(250)
})

// On a cluster the lock of a mailbox is not held where the ledger is written.
test.skipIf(nodeUrls() !== undefined)('mail of one organization does not wait for that of another', async () => {
  const [free, held] = [await createMailbox(first.admin), await createMailbox(second.admin)]
  const send = (to: string) => sendMail({ port: listener.port, from: FROM, to, raw: newMail() })
  const waiting: ReturnType<typeof send>[] = []
  await transact(connection(), async ({ sql }) => {
    await sql`select 1 from mailboxes where organization_id = ${second.id} and id = ${held.id} for update`
    for (let count = 0; count < 5; count++) waiting.push(send(held.address))
    expect((await send(free.address)).code).toBe(250)
    expect((await send(free.address)).code).toBe(250)
    expect(await Promise.race([...waiting, 'still waiting'])).toBe('still waiting')
  })
  expect((await Promise.all(waiting)).map(({ code }) => code)).toEqual([250, 250, 250, 250, 250])
})

test('mail whose number cannot be had waits without its locks, so that a change of both tables ends', async () => {
  const mailbox = await createMailbox(first.admin)
  const from = 'new@customer.example'
  const raw = rawMail({ From: from, Subject: 'Printer', Message_ID: `<${crypto.randomUUID()}@customer.example>` })
  expect((await sendMail({ port: listener.port, from, to: mailbox.address, raw })).code).toBe(250)
  const { filing } = await driverPool().begin(async (change) => {
    await change`lock table ticket_counters in exclusive mode`
    const filing = drain()
    await someoneWaits()
    // The mail has made a contact. It would wait for its number until the limit of statements, 30 s.
    await change`set local lock_timeout = '20s'`
    await change`lock table contacts in exclusive mode`
    return { filing }
  })
  await filing
  expect((await ledgerOf(first))[0]).toMatchObject({ mailbox: { address: mailbox.address }, outcome: 'ticket' })
})
