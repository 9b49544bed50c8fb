/** Domains of mailboxes: how an organization proves one, and what a mailbox may do without. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { forgetReleasedAddresses } from '../../../src/mail/mailboxes/claims'
import { type Client, createOrganization, type Organization } from '../../support/api'
import { NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { startDns, type TestDns } from '../../support/dns'
import { createContact, createTicket } from '../../support/factories'
import { createMailbox, deliver, drain, ledgerOf, rawMail } from '../../support/mail'
import { withSettings } from '../../support/settings'

let started: StartedDesk
let dns: TestDns

beforeAll(async () => {
  ;[started, dns] = await Promise.all([startDesk(), startDns()])
})
afterAll(async () => {
  dns[Symbol.dispose]()
  await started.stop()
})

const newName = () => `d${newId().slice(-12)}.example`

/** Settings of a service that checks, with nothing in the cache of its DNS. */
const checking = () => withSettings({ MAILBOX_DOMAIN_CHECK: 'on', DNS_SERVERS: [dns.address] })
const notChecking = () => withSettings({ MAILBOX_DOMAIN_CHECK: 'off', DNS_SERVERS: [dns.address] })

async function listDomain({ admin }: Organization, domain: string) {
  const answer = await admin.post('/domains', { domain })
  expect(answer.status).toBe(201)
  return answer.body.data
}

/** Publishes the records of these domains, and no other one under their name. */
function publish(...listed: { dns_record: { name: string; value: string } }[]) {
  dns.add({
    [listed[0]!.dns_record.name]: { TXT: ['something else', ...listed.map(({ dns_record }) => dns_record.value)] },
  })
}

/** Lists, publishes and verifies. */
async function prove(desk: Organization, domain: string) {
  const listed = await listDomain(desk, domain)
  publish(listed)
  const answer = await desk.admin.post(`/domains/${listed.id}/verify`)
  expect([answer.status, answer.body.data]).toEqual([200, { ...listed, status: 'verified' }])
  return listed
}

async function verify({ admin }: Organization, { id }: { id: string }): Promise<[number, string]> {
  const { status, body } = await admin.post(`/domains/${id}/verify`)
  return [status, body.error?.code ?? body.data.status]
}

/** True when mail to the address is taken and lands in the organization; false for 550. */
async function receives(desk: Organization, to: string): Promise<boolean> {
  const subject = newId()
  try {
    await deliver(started.port, { to, raw: rawMail({ From: 'ann@customer.test', To: to, Subject: subject }) })
  } catch (error) {
    expect(String(error)).toContain('550')
    return false
  }
  return (await ledgerOf(desk))[0]?.subject === subject
}

async function isVerified(client: Client, { id }: { id: string }): Promise<boolean> {
  return (await client.get(`/mailboxes/${id}`)).body.data.domain_verified
}

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [status, body.error?.code]

describe('a domain', () => {
  test('is listed as pending with its record, read by agents, and given up', async () => {
    const desk = await createOrganization()
    const domain = await listDomain(desk, ' MÜNCHEN.example ')
    expect(domain).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      domain: 'xn--mnchen-3ya.example',
      status: 'pending',
      dns_record: {
        name: '_deskwire-challenge.xn--mnchen-3ya.example',
        value: expect.stringMatching(/^deskwire-domain-verification=[0-9a-f]{40}$/),
      },
    })
    const second = await listDomain(desk, 'b.example')
    const { body } = await desk.agent.get('/domains')
    expect(body).toMatchObject({ data: [second, domain], meta: { total: 2 } })
    expect(second.dns_record.value).not.toBe(domain.dns_record.value)
    const again = await desk.admin.post('/domains', { domain: 'xn--mnchen-3ya.EXAMPLE' })
    expect(codeOf(again)).toEqual([422, 'DOMAIN_ALREADY_EXISTS'])
    const answer = await desk.admin.delete(`/domains/${domain.id}`)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(codeOf(await desk.admin.delete(`/domains/${domain.id}`))).toEqual([404, 'DOMAIN_NOT_FOUND'])
    expect((await listDomain(desk, 'münchen.example')).dns_record.value).not.toBe(domain.dns_record.value)
  })

  test.each(['', 'nonsense', 'a b.example', 'a@b.example', 'https://b.example', 'b.example/x', '10.0.0.1', 7])(
    '%p is none',
    async (domain) => {
      const { admin } = await createOrganization()
      expect(codeOf(await admin.post('/domains', { domain }))).toEqual([422, 'INVALID_DOMAIN'])
    },
  )

  test('is verified by its own record only, and stays pending until then', async () => {
    using _ = notChecking()
    const [desk, other] = [await createOrganization(), await createOrganization()]
    const domain = newName()
    const [ours, theirs] = [await listDomain(desk, domain), await listDomain(other, domain)]
    expect(await verify(desk, ours)).toEqual([422, 'DOMAIN_NOT_VERIFIED'])
    publish(theirs)
    using _fresh = notChecking()
    expect(await verify(desk, ours)).toEqual([422, 'DOMAIN_NOT_VERIFIED'])
    expect(await verify(other, theirs)).toEqual([200, 'verified'])
    expect((await desk.admin.get('/domains')).body.data).toEqual([ours])
  })

  test('stays as it is when DNS does not answer', async () => {
    using silent = await startDns()
    silent.die()
    using _ = withSettings({ DNS_SERVERS: [silent.address] })
    const desk = await createOrganization()
    const listed = await listDomain(desk, newName())
    const { status, body } = await desk.admin.post(`/domains/${listed.id}/verify`)
    expect([status, body.error.details.errors]).toEqual([422, [{ path: '', message: expect.stringContaining('DNS') }]])
  })

  test('is written to the audit log when it is listed, verified and given up', async () => {
    using _ = notChecking()
    const desk = await createOrganization()
    const { id, domain } = await prove(desk, newName())
    await desk.admin.delete(`/domains/${id}`)
    const { data } = (await desk.admin.get(`/audit-log?resource_id=${id}`)).body
    expect(data.map((entry: { action: string }) => entry.action)).toEqual([
      'domain.deleted',
      'domain.updated',
      'domain.created',
    ])
    expect(data[1].changes).toEqual({ status: { from: 'pending', to: 'verified' } })
    expect(data[0].changes.domain).toEqual({ from: domain, to: null })
  })
})

describe('with MAILBOX_DOMAIN_CHECK', () => {
  test('a mailbox neither receives nor sends until its domain is verified, and no more when it is given up', async () => {
    using _ = checking()
    const desk = await createOrganization()
    const domain = newName()
    const mailbox = await createMailbox(desk.admin, { address: `Help@${domain}`, smtp: smtpTo(NO_SERVER) })
    expect(mailbox).toMatchObject({ domain_verified: false, active: true })
    const contact = await createContact(desk.agent)
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    const send = () => desk.agent.post(`/tickets/${ticket.id}/messages`, { body: 'Hello', send_email: true })
    expect(await receives(desk, mailbox.address)).toBe(false)
    expect(codeOf(await send())).toEqual([422, 'EMAIL_SEND_FAILED'])
    const listed = await prove(desk, domain)
    expect(await isVerified(desk.admin, mailbox)).toBe(true)
    expect(await receives(desk, `help+tag@${domain}`)).toBe(true)
    expect((await send()).status).toBe(201)
    await desk.admin.delete(`/domains/${listed.id}`)
    expect(await isVerified(desk.admin, mailbox)).toBe(false)
    expect(await receives(desk, mailbox.address)).toBe(false)
    expect(codeOf(await send())).toEqual([422, 'EMAIL_SEND_FAILED'])
  })

  test('email that waits goes on waiting when the domain is given up', async () => {
    using _ = checking()
    const desk = await createOrganization()
    const listed = await prove(desk, newName())
    await createMailbox(desk.admin, { address: `help@${listed.domain}`, smtp: smtpTo(NO_SERVER) })
    const contact = await createContact(desk.agent)
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    const { id } = (await desk.agent.post(`/tickets/${ticket.id}/messages`, { body: 'Hello' })).body.data
    await desk.admin.delete(`/domains/${listed.id}`)
    await connection().sql`update outbox set run_at = now() where organization_id = ${desk.id} and kind = 'email'`
    await drain()
    const { data } = (await desk.agent.get(`/tickets/${ticket.id}/messages/${id}`)).body
    expect([data.email_status, data.email_error]).toEqual(['queued', expect.stringContaining('domain is not verified')])
  })

  test('a mailbox that may use its address is the default before one that may not', async () => {
    using _ = checking()
    const desk = await createOrganization()
    const domain = newName()
    const first = await createMailbox(desk.admin, { address: `a@${newName()}` })
    const second = await createMailbox(desk.admin, { address: `b@${domain}` })
    expect([first.is_default, second.is_default]).toEqual([true, false])
    const listed = await prove(desk, domain)
    const isDefault = async ({ id }: { id: string }) => (await desk.admin.get(`/mailboxes/${id}`)).body.data.is_default
    expect([await isDefault(first), await isDefault(second)]).toEqual([false, true])
    const answer = await desk.admin.patch(`/mailboxes/${first.id}`, { is_default: true })
    expect(codeOf(answer)).toEqual([422, 'VALIDATION_ERROR'])
    await desk.admin.delete(`/domains/${listed.id}`)
    expect((await desk.admin.patch(`/mailboxes/${first.id}`, { is_default: true })).status).toBe(200)
  })

  test('a subdomain and a domain above are verified by themselves', async () => {
    using _ = checking()
    const desk = await createOrganization()
    const { domain } = await prove(desk, `mid.${newName()}`)
    const [below, above] = [`a@below.${domain}`, `a@${domain.slice(4)}`]
    for (const address of [below, above]) {
      expect((await createMailbox(desk.admin, { address })).domain_verified).toBe(false)
      expect(await receives(desk, address)).toBe(false)
    }
  })

  test('an address is no secret to be found out: another organization may name it, but mail goes to the one that proves it', async () => {
    using _ = checking()
    const [owner, squatter] = [await createOrganization(), await createOrganization()]
    const domain = newName()
    const address = `billing@${domain}`
    const taken = await createMailbox(squatter.admin, { address })
    const mailbox = await createMailbox(owner.admin, { address: address.toUpperCase() })
    expect([taken.domain_verified, mailbox.domain_verified]).toEqual([false, false])
    expect(codeOf(await owner.admin.post('/mailboxes', { address }))).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    await prove(owner, domain)
    expect(await receives(squatter, address)).toBe(false)
    expect(await receives(owner, address)).toBe(true)
    expect([await isVerified(squatter.admin, taken), await isVerified(owner.admin, mailbox)]).toEqual([false, true])
  })

  test('an address that was taken while nothing was checked goes to the organization that proves the domain', async () => {
    const [owner, squatter] = [await createOrganization(), await createOrganization()]
    const domain = newName()
    const address = `billing@${domain}`
    const taken = await createMailbox(squatter.admin, { address })
    expect(await receives(squatter, address)).toBe(true)
    using _ = checking()
    expect(await receives(squatter, address)).toBe(false)
    await prove(owner, domain)
    await createMailbox(owner.admin, { address })
    expect(await receives(owner, address)).toBe(true)
    // The former holder neither gets it back nor keeps others away by deleting the mailbox.
    await squatter.admin.patch(`/mailboxes/${taken.id}`, { active: true, name: 'Again' })
    await squatter.admin.delete(`/mailboxes/${taken.id}`)
    expect(await receives(owner, address)).toBe(true)
  })

  test('a domain whose record is published anew for another organization changes hands', async () => {
    const [former, owner] = [await createOrganization(), await createOrganization()]
    const address = `help@${newName()}`
    const domain = address.slice(5)
    using _ = checking()
    const theirs = await prove(former, domain)
    const mailbox = await createMailbox(former.admin, { address })
    const listed = await listDomain(owner, domain)
    publish(theirs, listed)
    using _both = checking()
    expect(await verify(owner, listed)).toEqual([200, 'verified'])
    expect(await receives(former, address)).toBe(true)
    expect(codeOf(await owner.admin.post('/mailboxes', { address }))).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    publish(listed)
    using _one = checking()
    expect(await verify(owner, listed)).toEqual([200, 'verified'])
    expect((await former.admin.get('/domains')).body.data).toEqual([theirs])
    expect(await isVerified(former.admin, mailbox)).toBe(false)
    await createMailbox(owner.admin, { address })
    expect(await receives(owner, address)).toBe(true)
    const [entry] = (await former.admin.get(`/audit-log?resource_id=${theirs.id}`)).body.data
    expect(entry).toMatchObject({ action: 'domain.updated', actor: { type: 'system' } })
  })

  test('of two organizations that prove a domain and make its mailbox at once, one gets the address', async () => {
    using _ = checking()
    const desks = await Promise.all([createOrganization(), createOrganization()])
    const domain = newName()
    const listed = await Promise.all(desks.map((desk) => listDomain(desk, domain)))
    publish(...listed)
    await Promise.all(desks.map((desk) => createMailbox(desk.admin, { address: `help@${domain}` })))
    const verified = await Promise.all(desks.map((desk, index) => verify(desk, listed[index]!)))
    expect(verified).toEqual([
      [200, 'verified'],
      [200, 'verified'],
    ])
    const got = [await receives(desks[0], `help@${domain}`), await receives(desks[1], `help@${domain}`)]
    expect(got.filter(Boolean)).toHaveLength(1)
  })
})

test('a verified domain takes its addresses from others, also where nothing is checked and it has no mailbox', async () => {
  using _ = notChecking()
  const [owner, squatter] = [await createOrganization(), await createOrganization()]
  const domain = newName()
  const address = `admin@${domain}`
  const taken = await createMailbox(squatter.admin, { address })
  const below = await createMailbox(squatter.admin, { address: `help@sub.${domain}` })
  expect(await receives(squatter, address)).toBe(true)
  const { id } = await prove(owner, domain)
  expect(await receives(squatter, address)).toBe(false)
  expect(await receives(squatter, below.address)).toBe(true)
  const named = await squatter.admin.post('/mailboxes', { address: `other@${domain}` })
  expect(codeOf(named)).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
  expect(codeOf(await squatter.admin.patch(`/mailboxes/${below.id}`, { address: `a@${domain}` }))[0]).toBe(422)
  expect((await squatter.admin.get(`/mailboxes/${below.id}`)).body.data.is_default).toBe(true)
  await createMailbox(owner.admin, { address })
  expect(await receives(owner, address)).toBe(true)
  await owner.admin.delete(`/domains/${id}`)
  expect(await receives(owner, address)).toBe(true)
  await squatter.admin.delete(`/mailboxes/${taken.id}`)
  expect(await receives(owner, address)).toBe(true)
})

describe('the address of a deleted mailbox', () => {
  const age = (address: string, days: number) => connection().sql`
    update released_addresses set released_at = now() - ${days} * interval '1 day' where address_key = ${address}`

  test('stays the organization’s for 90 days, whether it was deleted or changed', async () => {
    using _ = notChecking()
    const [former, other] = [await createOrganization(), await createOrganization()]
    const address = `help@${newName()}`
    const first = await createMailbox(former.admin, { address })
    await former.admin.delete(`/mailboxes/${first.id}`)
    const take = () => other.admin.post('/mailboxes', { address })
    expect(codeOf(await take())).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    const again = await createMailbox(former.admin, { address })
    await former.admin.patch(`/mailboxes/${again.id}`, { address: `other.${address}` })
    expect(codeOf(await take())).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    await age(address, 89)
    await forgetReleasedAddresses(connection())
    expect(codeOf(await take())).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    await age(address, 91)
    expect((await take()).status).toBe(201)
    expect(await receives(other, address)).toBe(true)
  })

  test('goes to an organization that proves the domain, unless the former one has proven it too', async () => {
    using _ = notChecking()
    const [former, owner, stranger] = await Promise.all([1, 2, 3].map(() => createOrganization()))
    const address = `help@${newName()}`
    const first = await createMailbox(former!.admin, { address })
    await former!.admin.delete(`/mailboxes/${first.id}`)
    await prove(owner!, address.slice(5))
    const mailbox = await createMailbox(owner!.admin, { address })
    expect(await receives(owner!, address)).toBe(true)
    await owner!.admin.delete(`/mailboxes/${mailbox.id}`)
    for (const desk of [former!, stranger!]) {
      expect(codeOf(await desk.admin.post('/mailboxes', { address }))).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    }
    await createMailbox(owner!.admin, { address })
  })
})
