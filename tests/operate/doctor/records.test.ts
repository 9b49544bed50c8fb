/** `cli doctor --records`: the DNS records of mail domains, as they should be and as they are. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { lookupFor } from '../../../src/base/net/dns'
import type { Checked, State } from '../../../src/mail/domain-records/checked'
import { type MailDomain, readMailDomains } from '../../../src/mail/domain-records/mail-domains'
import { recordsOf } from '../../../src/mail/domain-records/records-of-domain'
import { ownRecords } from '../../../src/operate/doctor/records/own-name'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { runCli } from '../../support/backups'
import type { TestDatabase } from '../../support/database'
import { startDns, type TestDns, type Zone } from '../../support/dns'
import { createMailbox } from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'

let database: TestDatabase
let organization: Organization
let dns: TestDns
let settings: ChangedSettings

beforeAll(async () => {
  database = await startApi()
  organization = await createOrganization('Desk & Co')
})
afterEach(() => {
  settings?.restore()
  dns?.[Symbol.dispose]()
})
afterAll(() => stopApi())

/** Serves a zone from now on. */
async function serve(zone: Zone): Promise<void> {
  dns = await startDns(zone)
  settings = withSettings({ DNS_SERVERS: [dns.address], SMTP_HOSTNAME: 'mx.desk.co', SMTP_TRUSTED_RELAYS: [] })
}

const domain = (fields: Partial<MailDomain> = {}): MailDomain => ({
  ...{ domain: 'help.desk.co', organizations: ['Desk'], servers: ['out.desk.co'], keys: [], unsigned: 0 },
  ...fields,
})

async function check(fields?: Partial<MailDomain>): Promise<Record<string, Checked>> {
  const records = await recordsOf(domain(fields), lookupFor(5000))
  return Object.fromEntries(records.map((record) => [record.purpose, record]))
}

test('a domain without records gets all of them, ready to paste', async () => {
  await serve({ '*': {} })
  const { MX, SPF, DMARC } = await check()
  expect(MX).toMatchObject({ name: 'help.desk.co', type: 'MX', value: '10 mx.desk.co.', state: 'missing' })
  expect(SPF).toMatchObject({ name: 'help.desk.co', type: 'TXT', value: 'v=spf1 a:out.desk.co ~all', state: 'missing' })
  expect(DMARC).toMatchObject({ ...{ name: '_dmarc.help.desk.co', state: 'missing' }, value: 'v=DMARC1; p=none' })
})

test.each<[string, string[], string, State, string]>([
  ['names the server', ['v=spf1 a:out.desk.co -all'], 'out.desk.co', 'ok', 'v=spf1 a:out.desk.co -all'],
  ['passes its address', ['v=spf1 ip4:192.0.2.9 -all'], 'out.desk.co', 'ok', 'v=spf1 ip4:192.0.2.9 -all'],
  [
    'passes it by another record',
    ['v=spf1 include:spf.desk.co -all'],
    'out.desk.co',
    'ok',
    'v=spf1 include:spf.desk.co -all',
  ],
  ['lacks the server', ['v=spf1 mx -all'], 'out.desk.co', 'differs', 'v=spf1 mx a:out.desk.co -all'],
  [
    'leads elsewhere',
    ['v=spf1 redirect=_x.desk.co'],
    'out.desk.co',
    'differs',
    'v=spf1 a:out.desk.co redirect=_x.desk.co',
  ],
  ['lacks a provider', ['v=spf1 -all'], 'smtp.gmail.com', 'differs', 'v=spf1 include:_spf.google.com -all'],
  ['is one of two', ['v=spf1 -all', 'v=spf1 +all'], 'out.desk.co', 'differs', 'v=spf1 -all'],
  ['passes this machine', ['v=spf1 mx -all'], '127.0.0.1', 'ok', 'v=spf1 mx -all'],
  ['lacks this machine', ['v=spf1 -all'], 'localhost', 'differs', 'v=spf1 a:mx.desk.co -all'],
  ['names an address', ['v=spf1 ip4:192.0.2.7 -all'], '192.0.2.7', 'ok', 'v=spf1 ip4:192.0.2.7 -all'],
  [
    'refers to silence',
    ['v=spf1 include:silent.desk.co -all'],
    'out.desk.co',
    'unknown',
    'v=spf1 include:silent.desk.co -all',
  ],
])(
  'an SPF record that %s',
  async (_, TXT, server, state, value) => {
    await serve({
      'help.desk.co': { TXT, MX: ['mx.desk.co'] },
      'mx.desk.co': { A: ['192.0.2.1'] },
      'out.desk.co': { A: ['192.0.2.9'] },
      'spf.desk.co': { TXT: ['v=spf1 ip4:192.0.2.0/24 -all'] },
      '_x.desk.co': { TXT: ['v=spf1 -all'] },
      'silent.desk.co': 'silent',
    })
    expect((await check({ servers: [server] })).SPF).toMatchObject({ state, value })
  },
  20_000,
)

test('an MX record is right with the own name, an address of it, or a relay that is trusted', async () => {
  const zone: Zone = {
    'own.desk.co': { MX: ['MX.desk.co'] },
    'alias.desk.co': { MX: ['alias-mx.desk.co'] },
    'away.desk.co': { MX: ['mx.google.example'] },
    'dead.desk.co': 'fails',
    'mx.desk.co': { A: ['192.0.2.1'] },
    'alias-mx.desk.co': { A: ['192.0.2.1'] },
    'mx.google.example': { A: ['192.0.2.2'] },
  }
  await serve(zone)
  const stateOf = async (name: string) => (await check({ domain: `${name}.desk.co`, servers: [] })).MX!.state
  const states = [await stateOf('own'), await stateOf('alias'), await stateOf('away'), await stateOf('dead')]
  expect(states).toEqual(['ok', 'ok', 'differs', 'unknown'])
  using _ = withSettings({ SMTP_TRUSTED_RELAYS: [[{} as never, 32]] })
  expect(await stateOf('away')).toBe('left')
})

test('an address has a pointer that leads to the own name', async () => {
  const back = '1.2.0.192.in-addr.arpa'
  await serve({ 'mx.desk.co': { A: ['192.0.2.1'] }, [back]: { PTR: ['mx.desk.co'] } })
  const states = async () => (await ownRecords(lookupFor(5000))).map(({ purpose, state }) => [purpose, state])
  expect(await states()).toEqual([
    ['address', 'ok'],
    ['PTR', 'ok'],
  ])
  dns[Symbol.dispose]()
  settings.restore()
  await serve({ 'mx.desk.co': { A: ['192.0.2.1'] }, [back]: { PTR: ['host.provider.example'] } })
  expect((await ownRecords(lookupFor(5000)))[1]).toMatchObject({ name: back, value: 'mx.desk.co.', state: 'differs' })
  dns[Symbol.dispose]()
  settings.restore()
  await serve({})
  expect(await ownRecords(lookupFor(5000))).toMatchObject([{ purpose: 'address', state: 'missing', value: null }])
})

test('the command prints a zone with what is missing, and ends with 0 once all is there', async () => {
  const { admin } = organization
  const smtp = { host: 'out.desk.co', port: 587, security: 'starttls' }
  const dkim = { domain: 'help.desk.co', selector: 'desk' }
  const mailbox = await createMailbox(admin, { address: 'support@help.desk.co', smtp, dkim })
  expect(await readMailDomains(connection())).toMatchObject([{ domain: 'help.desk.co', organizations: ['Desk & Co'] }])
  const zone: Zone = {
    'help.desk.co': { MX: ['mx.desk.co'], TXT: ['v=spf1 a:out.desk.co \u001b[31m-all'] },
    'mx.desk.co': { A: ['192.0.2.1'] },
    '1.2.0.192.in-addr.arpa': { PTR: ['mx.desk.co'] },
  }
  dns = await startDns(zone)
  const env = {
    ...{ DATABASE_URL: database.url, SECRET_KEY: 'a secret key that only tests use', DATA_DIR: '/nonexistent/records' },
    ...{ DNS_SERVERS: dns.address, SMTP_HOSTNAME: 'mx.desk.co' },
  }
  const lacking = await runCli(['doctor', '--records'], env)
  expect([lacking.code, lacking.stderr]).toEqual([1, ''])
  expect(lacking.stdout).toContain(
    '; help.desk.co (Desk & Co)\n; ok: MX, mail goes to mx.desk.co\n; help.desk.co. IN MX 10 mx.desk.co.',
  )
  expect(lacking.stdout).not.toContain('\u001b')
  const { name, value } = mailbox.dkim.dns_record ?? mailbox.dkim
  const pasted = lacking.stdout.split('\n').filter((line) => line !== '' && !line.startsWith(';'))
  const [record] = pasted.filter((line) => line.startsWith(`${name}. IN TXT `))
  expect(
    record!
      .match(/"([^"]*)"/g)!
      .map((text) => text.slice(1, -1))
      .join(''),
  ).toBe(value)
  expect(record!.match(/"[^"]*"/g)!.every((text) => text.length <= 257)).toBe(true)
  dns.add({
    'help.desk.co': { MX: ['mx.desk.co'], TXT: ['v=spf1 a:out.desk.co -all'] },
    [name]: { TXT: [value] },
    '_dmarc.desk.co': { TXT: ['v=DMARC1; p=reject'] },
  })
  const whole = await runCli(['doctor', '--records'], env)
  expect([whole.code, whole.stdout.split('\n').filter((line) => line !== '' && !line.startsWith(';'))]).toEqual([0, []])
  const json = await runCli(['doctor', '--records', '--json'], env)
  const rows = json.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['ok']))
  expect(rows.map(({ purpose }) => purpose)).toEqual(['MX', 'SPF', 'DKIM', 'DMARC', 'address', 'PTR'])
})
