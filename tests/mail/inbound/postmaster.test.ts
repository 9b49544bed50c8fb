/** Mail to postmasters that have no mailbox (RFC 5321, section 4.5.1), and binary mail in chunks, until it is filed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { findRecipient } from '../../../src/mail/inbound/accept'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createMailbox, drain, ledgerOf, readTicket } from '../../support/mail'
import { startSession } from '../../support/smtp'

let started: StartedDesk

beforeAll(async () => {
  started = await startDesk()
})
afterAll(() => started.stop())

function newDomain(): string {
  return `${newId()}.example`
}

function find(address: string) {
  return findRecipient(connection(), address)
}

/** Notes that the operator allows a domain. */
async function verify({ scope }: Desk, domain: string) {
  await scope.sql`
    insert into domains (organization_id, id, domain, challenge, verified_at, verified_by)
    values (${scope.organization_id}, ${newId()}, ${domain}, 'x', now(), 'operator')`
}

test("the postmaster of a mailbox's domain is the default mailbox of the organization with the oldest one there", async () => {
  const [first, second] = [await started.createDesk(), await started.createDesk()]
  const domain = newDomain()
  await createMailbox(first.admin, { address: `help@${domain}` })
  await createMailbox(second.admin, { address: `sales@${domain}` })
  for (const address of [`postmaster@${domain}`, `PostMaster@${domain.toUpperCase()}`]) {
    expect(await find(address)).toEqual({
      organization_id: first.scope.organization_id,
      mailbox_id: first.mailbox_id,
      mailbox_address: first.address,
      address,
    })
  }
  await verify(second, domain)
  expect(await find(`postmaster@${domain}`)).toMatchObject({ mailbox_id: second.mailbox_id })
  const own = await createMailbox(second.admin, { address: `postmaster@${domain}` })
  expect(await find(`postmaster@${domain}`)).toMatchObject({ mailbox_id: own.id })
})

test.each(['postmaster@unknown.example', 'postmaster+x@desk.example', 'xpostmaster@desk.example'])(
  '%s is nobody',
  async (address) => {
    expect(await find(address)).toMatchObject({ reason: expect.stringMatching(/^unknown_/) })
  },
)

test('a postmaster of a domain that is verified, but has no mailbox, is nobody', async () => {
  const domain = newDomain()
  await verify(started, domain)
  expect(await find(`postmaster@${domain}`)).toMatchObject({ reason: expect.stringMatching(/^unknown_/) })
})

test('the default mailbox that takes no mail takes none of the postmaster', async () => {
  const desk = await started.createDesk()
  const domain = newDomain()
  await createMailbox(desk.admin, { address: `help@${domain}` })
  await desk.scope.sql`update mailboxes set active = false where id = ${desk.mailbox_id}`
  expect(await find(`postmaster@${domain}`)).toMatchObject({ reason: 'mailbox_inactive' })
})

test("mail to the postmaster without a domain is the first organization's", async () => {
  const raw = Buffer.from(
    `From: ann@customer.example\r\nTo: postmaster@desk.example\r\nSubject: Loop\r\nMessage-ID: <${newId()}@x>\r\n\r\nHi\r\n`,
  )
  using dialog = await startSession(started.port)
  for (const line of ['MAIL FROM:<ann@customer.example>', 'RCPT TO:<Postmaster>']) {
    expect(await dialog.command(line)).toStartWith('250')
  }
  dialog.write(Buffer.concat([Buffer.from(`BDAT ${raw.length} LAST\r\n`), raw]))
  expect(await dialog.read()).toStartWith('250')
  await drain()
  const [row] = await ledgerOf(started)
  expect(row).toMatchObject({ outcome: 'ticket', subject: 'Loop', mailbox: { id: started.mailbox_id } })
  expect(row.recipients).toContain('Postmaster@desk.example')
  const { data } = (await started.agent.get(`/tickets/${row.ticket_id}/participants`)).body
  expect(data).toEqual([])
  const own = await createMailbox(started.admin, { address: `postmaster@${newDomain()}` })
  expect(await find('postmaster')).toMatchObject({ mailbox_id: own.id, address: expect.stringMatching(/^postmaster@/) })
})

test('binary mail with NULs and bare line ends is filed with its file byte by byte', async () => {
  const file = Buffer.from(Array.from({ length: 2000 }, (_, n) => (n * 7) % 256))
  const head =
    `From: ann@customer.example\r\nTo: ${started.address}\r\nSubject: Binary\r\nMessage-ID: <${newId()}@x>\r\n` +
    'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n' +
    'Content-Transfer-Encoding: binary\r\n\r\none\0 line\nand another\r\n--b\r\nContent-Type: application/octet-stream\r\n' +
    'Content-Disposition: attachment; filename=x.bin\r\nContent-Transfer-Encoding: binary\r\n\r\n'
  const raw = Buffer.concat([Buffer.from(head), file, Buffer.from('\r\n--b--\r\n')])
  using dialog = await startSession(started.port)
  const mail = 'MAIL FROM:<ann@customer.example> BODY=BINARYMIME'
  for (const line of [mail, `RCPT TO:<${started.address}>`]) expect(await dialog.command(line)).toStartWith('250')
  for (let at = 0; at < raw.length; at += 333) {
    const part = raw.subarray(at, at + 333)
    dialog.write(Buffer.concat([Buffer.from(`BDAT ${part.length}${at + 333 < raw.length ? '' : ' LAST'}\r\n`), part]))
    expect(await dialog.read()).toStartWith('250')
  }
  await drain()
  const [row] = await ledgerOf(started)
  const original = await started.admin.get(`/inbound-messages/${row.id}/raw`)
  expect(row).toMatchObject({ outcome: 'ticket', size: raw.length })
  expect(original.status).toBe(200)
  const { messages } = await readTicket(started.agent, row.ticket_id)
  expect(messages[0].body).toMatch(/^one line\s+and another/)
  const [{ size, url }] = messages[0].attachments
  expect(size).toBe(file.length)
  const content = await started.agent.send('GET', new URL(url).pathname.replace(/^\/api\/v1/, '') + new URL(url).search)
  expect(content.status).toBe(200)
})
