/** GET /domains/:domain_id/records: what DNS has of a domain that is proven, and nothing of networks inside. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { startDns, type TestDns, type Zone } from '../../support/dns'
import { createMailbox } from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'

let dns: TestDns
let settings: ChangedSettings

beforeAll(() => startApi())
afterEach(() => {
  settings?.restore()
  dns?.[Symbol.dispose]()
})
afterAll(stopApi)

/** An organization, a domain with a mailbox that sends by a server, and a zone. */
async function start(smtp: object | null, zoneOf: (domain: string) => Zone = () => ({})) {
  const [desk, domain] = [await createOrganization(), `d${newId().slice(-12)}.desk.co`]
  dns = await startDns({ '*': {}, ...zoneOf(domain) })
  settings = withSettings({ DNS_SERVERS: [dns.address], SMTP_HOSTNAME: 'mx.desk.co', SMTP_TRUSTED_RELAYS: [] })
  const mailbox = await createMailbox(desk.admin, { address: `help@${domain}`, ...(smtp && { smtp }) })
  const { data } = (await desk.admin.post('/domains', { domain })).body
  return { desk, domain, claim: { ...data, mailbox } }
}

async function verify({ admin }: Organization, { id, dns_record }: Awaited<ReturnType<typeof start>>['claim']) {
  dns.add({ [dns_record.name]: { TXT: [dns_record.value] } })
  expect((await admin.post(`/domains/${id}/verify`)).status).toBe(200)
}

async function check({ agent }: Organization, { id }: { id: string }) {
  const { status, body } = await agent.get(`/domains/${id}/records`)
  expect(status).toBe(200)
  return Object.fromEntries(body.data.map((record: { purpose: string }) => [record.purpose, record]))
}

const server = (host: string) => ({ host, port: 587, security: 'starttls' })

test('each record is told as it should be and as it is found', async () => {
  const { desk, domain, claim } = await start(server('out.desk.co'), (domain) => ({
    'out.desk.co': { A: ['93.184.216.34'] },
    [domain]: { MX: ['mx.elsewhere.co'], TXT: ['v=spf1 ip4:93.184.216.0/24 -all'] },
    'mx.elsewhere.co': { A: ['93.184.216.40'] },
    'mx.desk.co': { A: ['93.184.216.41'] },
  }))
  const key = { domain, selector: 'd1' }
  expect((await desk.admin.patch(`/mailboxes/${claim.mailbox.id}`, { dkim: key })).status).toBe(200)
  dns.add({ [`d1._domainkey.${domain}`]: { TXT: ['v=DKIM1; p=another'] } })
  await verify(desk, claim)
  const { MX, SPF, DKIM, DMARC } = await check(desk, claim)
  expect(MX).toMatchObject({ state: 'differs', value: '10 mx.desk.co.', found: ['mx.elsewhere.co'] })
  expect(SPF).toMatchObject({ state: 'ok', name: domain, found: ['v=spf1 ip4:93.184.216.0/24 -all'] })
  expect(DKIM).toMatchObject({ state: 'differs', found: ['v=DKIM1; p=another'], note: expect.stringContaining('key') })
  expect(DKIM.value).toMatch(/^v=DKIM1;.*p=/)
  expect(DMARC).toMatchObject({ state: 'missing', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none', found: [] })
})

test('DNS is asked nothing about a domain that is not proven, nor by another organization or a key without the right', async () => {
  const stranger = await createOrganization()
  const { desk, claim } = await start(server('out.desk.co'), (domain) => ({
    [domain]: { MX: ['mx.desk.co'], TXT: ['v=spf1 -all'] },
  }))
  const { MX, SPF, DMARC } = await check(desk, claim)
  for (const record of [MX, SPF, DMARC]) expect(record).toMatchObject({ state: 'left', found: null })
  expect(SPF.value).toBe('v=spf1 a:out.desk.co ~all')
  expectError(await stranger.admin.get(`/domains/${claim.id}/records`), 404, 'DOMAIN_NOT_FOUND')
  const key = await createProgram(desk.admin, ['tickets:read'])
  expectError(await key.get(`/domains/${claim.id}/records`), 403, 'FORBIDDEN')
  expect(dns.asked).toEqual([])
})

test('what addresses names inside have is not told by what fits, and no key of another domain is looked up', async () => {
  const { desk, claim } = await start(server('db.internal'), (domain) => ({
    'db.internal': { A: ['10.1.2.3'] },
    [domain]: { MX: ['db.internal'], TXT: ['v=spf1 ip4:10.1.2.3 a:db.internal/32 -all'] },
  }))
  const key = { domain: 'corp.internal', selector: 'd1' }
  await desk.admin.patch(`/mailboxes/${claim.mailbox.id}`, { dkim: key })
  dns.add({ 'd1._domainkey.corp.internal': { TXT: ['a secret of others'] } })
  await verify(desk, claim)
  const { SPF, DKIM } = await check(desk, claim)
  expect(SPF.state).not.toBe('ok')
  expect(DKIM).toBeUndefined()
  expect(dns.asked.filter((name) => name.includes('corp.internal'))).toEqual([])
})

test('dead DNS is said, and a mailbox that sends nothing needs MX alone', async () => {
  const { desk, claim } = await start(null)
  await verify(desk, claim)
  expect(Object.keys(await check(desk, claim))).toEqual(['MX'])
  dns.die()
  settings.restore()
  settings = withSettings({ DNS_SERVERS: [dns.address, dns.address] })
  expect((await check(desk, claim)).MX).toMatchObject({ state: 'unknown', found: null })
})
