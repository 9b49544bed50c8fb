/** The ledger answers where a mail is that somebody sent, refused mail included. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeOldRefusals } from '../../../src/mail/inbound/refused-ledger'
import { createOrganization, type Organization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMailbox, deliver, importMail, ledgerOf, rawMail } from '../../support/mail'
import { until } from '../../support/service'
import { sendMail } from '../../support/smtp'

let desk: StartedDesk
let other: Organization
let address: string
const DOMAIN = `${newId()}.example`
const SHARED = `${newId()}.example`

beforeAll(async () => {
  desk = await startDesk({ smtp: null })
  other = await createOrganization()
  // Domains are known before the first recipient is named: they are read again after half a minute.
  address = (await createMailbox(desk.admin, { address: `support@${DOMAIN}` })).address
  await createMailbox(desk.admin, { address: `one@${SHARED}` })
  await createMailbox(other.admin, { address: `two@${SHARED}` })
})
afterAll(() => desk.stop())

function mail(fields: Record<string, string>): Buffer {
  return rawMail({
    From: 'Carla <Carla@Customer.example>',
    To: address,
    Message_ID: `<${newId()}@x.example>`,
    ...fields,
  })
}

async function idsOf(query: string): Promise<string[]> {
  return (await ledgerOf(desk, `&${query}`)).map(({ id }: { id: string }) => id)
}

describe('a search of the ledger', () => {
  test('finds by sender and recipient of header and envelope, by words, Message-ID and time', async () => {
    const Message_ID = `<${newId()}@x.example>`
    await deliver(desk.port, {
      from: 'bounces@relay.example',
      to: address.replace('@', '+tag@'),
      raw: mail({
        To: 'list@elsewhere.example',
        Cc: `Öse <x@bücher.example>`,
        Subject: 'The 100% printer burns',
        Message_ID,
      }),
    })
    const [row] = await ledgerOf(desk)
    expect(row).toMatchObject({
      envelope_from: 'bounces@relay.example',
      recipients: [address.replace('@', '+tag@'), 'list@elsewhere.example', 'x@bücher.example'],
      smtp_reply: null,
    })
    const second = new Date(row.received_at)
    const at = (ms: number) => encodeURIComponent(new Date(second.getTime() + ms).toISOString())
    const found = [
      'from=carla@customer.example',
      'from=@CUSTOMER.example',
      'from=bounces@relay.example',
      `to=${encodeURIComponent(address.replace('@', '+tag@'))}`,
      `to=${address}`,
      `to=@${DOMAIN}`,
      'to=list@elsewhere.example',
      'to=x@xn--bcher-kva.example',
      'to=@bücher.example',
      'subject=burns%20PRINTER',
      'subject=100%25',
      `email_message_id=${encodeURIComponent(Message_ID)}`,
      `email_message_id=${Message_ID.slice(1, -1)}`,
      `received_after=${at(-1)}&received_before=${at(1000)}&from=carla@customer.example&subject=printer`,
    ]
    for (const query of found) expect([query, await idsOf(query)]).toEqual([query, [row.id]])
    const missing = [
      'from=arla@customer.example',
      'from=@tomer.example',
      'from=list@elsewhere.example',
      'to=carla@customer.example',
      'subject=printer%20water',
      'subject=100_',
      `received_after=${at(1000)}&from=carla@customer.example`,
      `received_before=${at(-1)}&from=carla@customer.example`,
    ]
    for (const query of missing) expect([query, await idsOf(query)]).toEqual([query, []])
    expect((await desk.admin.get(`/inbound-messages/${row.id}`)).body.data).toEqual(row)
    expect((await other.admin.get('/inbound-messages?from=@customer.example')).body.meta.total).toBe(0)
  })

  test('knows no envelope of an import', async () => {
    const { id } = (await desk.admin.get('/mailboxes')).body.data.find(
      (one: { address: string }) => one.address === address,
    )
    const row = await importMail(desk.admin, id, mail({ Subject: 'Imported' }))
    expect(row).toMatchObject({ envelope_from: null, recipients: [address] })
  })

  test.each(['from=carla', 'from=@', 'to=a@b@', 'subject=%00'])('%s is 422', async (query) => {
    const { status, body } = await desk.admin.get(`/inbound-messages?${query}`)
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  })
})

describe('mail that was refused', () => {
  const refusedOf = async (client = desk.admin, query = '') =>
    (await client.get(`/inbound-messages?outcome=refused${query}`)).body.data

  test('is listed for the organization that has all mailboxes of the domain, with the reply', async () => {
    const from = `dora.${newId()}@customer.example`
    const to = [`nobody@${DOMAIN}`, `three@${SHARED}`, 'nobody@elsewhere.example']
    for (const one of to)
      expect(await sendMail({ port: desk.port, from, to: one, raw: mail({}) })).toMatchObject({ code: 550 })
    await until('the refusal is listed', async () => (await refusedOf(desk.admin, `&from=${from}`)).length === 1)
    const [row] = await refusedOf(desk.admin, `&to=nobody@${DOMAIN}`)
    expect(row).toMatchObject({
      outcome: 'refused',
      mailbox: null,
      from: null,
      envelope_from: from,
      recipients: [`nobody@${DOMAIN}`],
      smtp_reply: '550 5.1.1 No such mailbox here',
      size: 0,
      ticket_id: null,
      message_id: null,
    })
    expect(await idsOf(`from=${from}`)).toEqual([])
    expect(await idsOf(`from=${from}&include_refused=true`)).toEqual([row.id])
    expect((await desk.admin.get(`/inbound-messages/${row.id}`)).body.data).toEqual(row)
    expect((await desk.admin.get(`/inbound-messages/${row.id}/raw`)).status).toBe(404)
    expect(await refusedOf(other.admin)).toEqual([])
    expect((await other.admin.get(`/inbound-messages/${row.id}`)).status).toBe(404)
  })

  test('is at most 1,000 rows an hour, and is gone after 30 days', async () => {
    const { sql } = connection()
    const organization_id = desk.id
    await sql`delete from refused_messages where organization_id = ${organization_id}`
    const young = Array.from({ length: 999 }, () => newId())
    const old = `${(Date.now() - 31 * 86_400_000)
      .toString(16)
      .padStart(12, '0')
      .replace(/(.{8})/, '$1-')}-7000-8000-000000000000`
    await sql`
      insert into refused_messages (organization_id, id, recipient, envelope_sender, from_keys, to_keys, smtp_reply, remote_address, tls)
      select ${organization_id}, id, 'a@b.example', '', '{}', '{}', '550', '127.0.0.1', false from unnest(${[...young, old]}::uuid[]) id`
    for (const one of ['p', 'q']) {
      await sendMail({ port: desk.port, from: 'dora@customer.example', to: `${one}@${DOMAIN}`, raw: mail({}) })
    }
    const count = async () => (await desk.admin.get('/inbound-messages?outcome=refused')).body.meta.total
    await until('the refusal is listed', async () => (await count()) === 1001)
    await removeOldRefusals(connection())
    expect(await count()).toBe(1000)
  })
})
