/** Checks of the sender of an email (SPF, DKIM, DMARC), with a DNS server of our own. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import type { SmtpListener } from '../../../src/mail/smtp/listener'
import { checkRelays } from '../../../src/operate/doctor/relay-doubts'
import { type StartedDesk, startDesk } from '../../support/desk'
import { startDns, type TestDns } from '../../support/dns'
import { createMessage, hearEvents, writtenEvents } from '../../support/factories'
import { deliver, drain, importMail, ledgerOf, rawMail, readTicket, startListener } from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { KEY_RECORD, keyName, signed, signedInPart } from '../../support/signed-mail'
import { sendInSession, startSession } from '../../support/smtp'

const OURS = ['v=spf1 ip4:127.0.0.1 -all']
const OTHERS = ['v=spf1 ip4:192.0.2.1 -all']
const LOOPBACK: [ipaddr.IPv4, number] = [ipaddr.IPv4.parse('127.0.0.0'), 8]

let desk: StartedDesk
let dns: TestDns
let settings: ChangedSettings
let relayed: SmtpListener

beforeAll(async () => {
  dns = await startDns({
    'rejects.example': { TXT: OTHERS },
    '_dmarc.rejects.example': { TXT: ['v=DMARC1; p=reject'] },
    'quarantines.example': { TXT: OTHERS },
    '_dmarc.quarantines.example': { TXT: ['v=DMARC1; p=quarantine; adkim=s'] },
    'passes.example': { TXT: OURS },
    '_dmarc.passes.example': { TXT: ['v=DMARC1; p=reject'] },
    'watches.example': { TXT: OTHERS },
    '_dmarc.watches.example': { TXT: ['v=DMARC1; p=none'] },
    'without.example': { TXT: OURS },
    'broken.example': 'fails',
    '_dmarc.broken.example': 'fails',
    'slow.example': 'silent',
    '_dmarc.slow.example': 'silent',
    'half.example': 'silent',
    '_dmarc.half.example': { TXT: ['v=DMARC1; p=reject'] },
    'xn--bcher-kva.example': { TXT: OURS },
    '_dmarc.xn--bcher-kva.example': { TXT: ['v=DMARC1; p=reject'] },
    'long.example': { TXT: [...Array.from({ length: 40 }, (_, n) => `verification=${n} ${'x'.repeat(40)}`), ...OURS] },
    '_dmarc.long.example': { TXT: ['v=DMARC1; p=reject'] },
    'attacker.example': { TXT: OURS },
    [keyName('rejects.example')]: { TXT: [KEY_RECORD] },
    [keyName('mail.rejects.example')]: { TXT: [KEY_RECORD] },
    [keyName('mail.quarantines.example')]: { TXT: [KEY_RECORD] },
    [keyName('attacker.example')]: { TXT: [KEY_RECORD] },
    [keyName('passes.example')]: { TXT: [KEY_RECORD] },
    [keyName('slow.attacker.example')]: 'silent',
  })
  settings = withSettings({ DNS_SERVERS: [dns.address], TRUSTED_AUTHSERV_ID: 'mx.desk.example' })
  desk = await startDesk()
  relayed = await startListener({ relays: [LOOPBACK] })
})
afterAll(async () => {
  settings.restore()
  await relayed.close({ timeout_ms: 1000 })
  await desk.stop()
  dns[Symbol.dispose]()
})

type Fields = Record<string, string | string[] | undefined>

function mail(from: string, fields: Fields = {}, body?: string): Buffer {
  const usual = { From: from, To: desk.address, Subject: 'Hello', Message_ID: `<${newId()}@mail.example>` }
  return rawMail({ ...usual, Date: 'Sun, 22 Nov 2026 09:00:00 +0000', ...fields }, body)
}

/**
 * Delivers over SMTP from 127.0.0.1; gives the ledger row once the message is filed, however often it waits for DNS.
 */
async function receive(raw: Uint8Array, from = 'bounces@attacker.example') {
  await deliver(desk.port, { from, to: desk.address, raw })
  for (let checks = 0; checks < 3 && (await newestRow()).outcome === 'pending'; checks++) await checkAgain()
  return newestRow()
}

async function newestRow() {
  return (await ledgerOf(desk))[0]
}

/** Lets the time pass until mail that waits is due. */
async function checkAgain() {
  await connection().sql`update outbox set run_at = now() where kind = 'inbound'`
  await drain()
}

/** The same through a relay that is trusted. */
async function relay(raw: Uint8Array, from = 'bounces@attacker.example') {
  using _ = withSettings({ SMTP_TRUSTED_RELAYS: [LOOPBACK] })
  return await receive(raw, from)
}

type Case = [name: string, sender_verified: boolean | null, receive: () => Promise<{ sender_verified: unknown }>]

const CASES: Case[] = [
  ['a domain that rejects, from a stranger', false, () => receive(mail('carla@rejects.example'))],
  [
    'a domain that rejects, with its own address at MAIL FROM',
    false,
    () => receive(mail('carla@rejects.example'), 'carla@rejects.example'),
  ],
  ['a domain that quarantines', false, () => receive(mail('carla@quarantines.example'))],
  ['a subdomain of a domain that rejects', false, () => receive(mail('carla@sub.rejects.example'))],
  ['a domain whose SPF passes', true, () => receive(mail('carla@passes.example'), 'carla@passes.example')],
  ['a domain whose SPF passes for a subdomain', null, () => receive(mail('carla@nobody.example'), 'x@passes.example')],
  ['a domain that only watches', null, () => receive(mail('carla@watches.example'))],
  ['a domain without a policy', null, () => receive(mail('carla@without.example'), 'carla@without.example')],
  ['a domain that does not exist', null, () => receive(mail('carla@absent.example'))],
  ['a domain that cannot be looked up', null, () => receive(mail('carla@broken.example'))],
  ['a domain that is looked up slowly', null, () => receive(mail('carla@slow.example'))],
  [
    'a domain that rejects, whose SPF is looked up slowly',
    null,
    () => receive(mail('carla@half.example'), 'carla@half.example'),
  ],
  [
    "a domain that rejects, beside a stranger's SPF that is looked up slowly",
    false,
    () => receive(mail('carla@rejects.example'), 'x@slow.example'),
  ],
  ['an international domain', true, () => receive(mail('carla@bücher.example'), 'x@xn--bcher-kva.example')],
  ['no address at all', null, () => receive(mail('Carla'))],
  ['the null sender', false, () => receive(mail('carla@rejects.example'), '')],
  [
    'a signature of its own domain',
    true,
    async () => receive(await signed(mail('carla@rejects.example'), 'rejects.example')),
  ],
  [
    'a signature of a subdomain',
    true,
    async () => receive(await signed(mail('carla@rejects.example'), 'mail.rejects.example')),
  ],
  [
    'a signature of a subdomain, where only its own counts',
    false,
    async () => receive(await signed(mail('carla@quarantines.example'), 'mail.quarantines.example')),
  ],
  [
    'the signature of a stranger',
    false,
    async () => receive(await signed(mail('carla@rejects.example'), 'attacker.example')),
  ],
  [
    "a stranger's signature whose key is looked up slowly",
    false,
    async () => receive(await signed(mail('carla@rejects.example'), 'slow.attacker.example')),
  ],
  ['a signature, with another subject above the signed one', false, () => replay('Subject: Close my account')],
  ['a signature, with other recipients above the signed ones', false, () => replay('To: eve@attacker.example')],
  ['a signature, with another form of the body above the signed one', false, () => replay('Content-Type: text/html')],
  ['a signature, with another Received above the signed mail', true, () => replay('Received: from mx.rejects.example')],
  [
    'a relay that says pass, with another subject above the signed one',
    false,
    () => replay('Subject: Close my account', `${FROM_ELSEWHERE}\r\nAuthentication-Results: ${RESULTS}`, relay),
  ],
  [
    'a relay that says pass, with another subject above the signed one, and a header that is not read',
    false,
    () =>
      replay(
        `Subject: Close my account\r\nX: a${' '.repeat(400)}b`,
        `${FROM_ELSEWHERE}\r\nAuthentication-Results: ${RESULTS}`,
        relay,
      ),
  ],
  [
    'a server that SPF knows, with another subject above the signed one',
    true,
    () => replay('Subject: Close my account', '', (raw) => receive(raw, 'carla@passes.example'), 'passes.example'),
  ],
  ['a signature of another body', false, async () => receive(await altered('Hello', 'Hallo'))],
  ['a signature of another subject', false, async () => receive(await altered('Subject: Hello', 'Subject: Hallo'))],
  [
    'a signature that covers a part of the body',
    false,
    async () =>
      receive(
        Buffer.concat([
          await signedInPart(mail('carla@rejects.example'), 'rejects.example'),
          Buffer.from('And the account is 4711.\r\n'),
        ]),
      ),
  ],
  [
    'a signature of as much of the body, and all of it',
    true,
    async () => receive(await signedInPart(mail('carla@rejects.example'), 'rejects.example')),
  ],
  ['a domain with a record too long for UDP', true, () => receive(mail('carla@long.example'), 'carla@long.example')],
  [
    'two From fields',
    false,
    () => receive(mail('carla@passes.example', { X: 'y', from: 'eve@attacker.example' }), 'carla@passes.example'),
  ],
  [
    'two authors of different domains',
    false,
    () => receive(mail('eve@attacker.example, carla@passes.example'), 'carla@passes.example'),
  ],
  ['two authors of one domain', true, () => receive(mail('a@passes.example, b@passes.example'), 'a@passes.example')],
  [
    'an address that only our parser reads',
    false,
    () => receive(mail('=?utf-8?q?eve=40attacker.example?='), 'eve@attacker.example'),
  ],
  ['more signatures than anybody makes', false, () => receive(mail('carla@rejects.example', manySignatures()))],
  ['a line of megabytes behind a signature', false, () => receive(mail('carla@rejects.example', aSignature(), LONG))],
  [
    'an import of a domain that rejects',
    null,
    () => importMail(desk.admin, desk.mailbox_id, mail('carla@rejects.example')),
  ],
  [
    'an import with a signature',
    true,
    async () => importMail(desk.admin, desk.mailbox_id, await signed(mail('carla@rejects.example'), 'rejects.example')),
  ],
  ['an import with two From fields', false, () => importMail(desk.admin, desk.mailbox_id, twoFroms())],
  ['a relay, with a Received of a good server', true, () => relay(through('192.0.2.1'), 'carla@rejects.example')],
  ['a relay, with a Received of a bad server', false, () => relay(through('192.0.2.2'), 'carla@rejects.example')],
  [
    'a relay, with a good server further below',
    false,
    () => relay(through('192.0.2.2', '192.0.2.1'), 'carla@rejects.example'),
  ],
  [
    'two relays, one behind the other',
    true,
    () => relay(through('127.0.0.2', '192.0.2.1', '192.0.2.2'), 'carla@rejects.example'),
  ],
  ['a relay that does not say who connected', null, () => relay(mail('carla@rejects.example'))],
  [
    'a stranger who names a good server in Received',
    false,
    () => receive(through('192.0.2.1'), 'carla@rejects.example'),
  ],
  ['a relay that names its client by XCLIENT', true, () => handOver('ADDR=192.0.2.1 NAME=mx.rejects.example')],
  ['a relay that names a bad client by XCLIENT', false, () => handOver('ADDR=192.0.2.2 NAME=mx.rejects.example')],
  ['a relay that says pass', true, () => relay(said('dmarc=pass header.from=rejects.example'))],
  [
    'a relay that says fail with a policy',
    false,
    () => relay(said('dmarc=fail (p=reject) header.from=passes.example', 'passes'), 'x@passes.example'),
  ],
  [
    'a relay that says fail with policy.dmarc',
    false,
    () => relay(said('dmarc=fail policy.dmarc=quarantine header.from=passes.example', 'passes')),
  ],
  ['a relay that says fail (p=none)', null, () => relay(said('dmarc=fail (p=none) header.from=rejects.example'))],
  ['a relay that says fail without a policy', null, () => relay(said('dmarc=fail header.from=rejects.example'))],
  [
    'a relay that says pass of another domain',
    false,
    () => relay(said('dmarc=pass header.from=attacker.example', 'rejects', '192.0.2.2')),
  ],
  [
    'a relay that says nothing of DMARC',
    false,
    () => relay(said('spf=pass smtp.mailfrom=rejects.example', 'rejects', '192.0.2.2')),
  ],
  [
    'a relay that says two things',
    false,
    () =>
      relay(
        said('dmarc=pass header.from=rejects.example; dmarc=pass header.from=rejects.example', 'rejects', '192.0.2.2'),
      ),
  ],
  [
    'a relay with another name',
    false,
    () => relay(said('dmarc=pass header.from=rejects.example', 'rejects', '192.0.2.2', 'mx.attacker.example')),
  ],
  [
    'a relay whose result stands below that of another',
    false,
    () => relay(saidBelow('dmarc=pass header.from=rejects.example')),
  ],
  ['a stranger who says pass', false, () => receive(said('dmarc=pass header.from=rejects.example'))],
  [
    'a relay that says pass, and a From that is ambiguous',
    false,
    () => relay(mail('carla@rejects.example', { Authentication_Results: RESULTS, from: 'eve@attacker.example' })),
  ],
]

/**
 * Ways to write a result (RFC 8601, section 2.2), with `BANK` for the domain. Our own check says what the field does
 * not.
 */
const WRITTEN: [string, boolean, string][] = [
  ['a failure with policy.dmarc', false, 'mx.desk.example; dmarc=fail policy.dmarc=quarantine header.from=BANK'],
  [
    'policy.dmarc before a comment with another',
    false,
    'mx.desk.example; dmarc=fail (p=none) policy.dmarc=reject header.from=BANK',
  ],
  [
    'a failure as rspamd does',
    false,
    'mx.desk.example; dmarc=fail reason="SPF not aligned; No DKIM" header.from=BANK (policy=reject)',
  ],
  [
    'comments everywhere',
    true,
    '(a) mx.desk.example (b) 1 (c); (d) dmarc (e) / (f) 1 (g) = (h) pass (i(j)) header (k) . (l) from (m) = (n) BANK (o)',
  ],
  ['a comment without blanks', true, 'mx.desk.example;dmarc=pass(p=reject)header.from=BANK'],
  [
    'comments that speak of other results',
    true,
    'mx.desk.example; dmarc=pass (dmarc=fail; \\) (p=reject)) header.from=BANK',
  ],
  ['quoted strings', true, '"mx.desk.example"; dmarc="pass" reason="a \\"dmarc=fail\\"; x" header.from="BANK"'],
  [
    'other results with blanks and semicolons in quotes',
    true,
    'mx.desk.example; spf=fail smtp.mailfrom="a; dmarc=fail header.from=x"@evil.example; dmarc=pass header.from=BANK',
  ],
  [
    'other results with base64, IPv6 and no sender',
    true,
    'mx.desk.example; dkim=pass header.b=a+/b= header.i=@x; iprev=pass smtp.remote-ip=2001:db8::1; spf=none smtp.mailfrom=; dmarc=pass header.from=BANK',
  ],
  ['capitals and a line end', true, 'MX.Desk.Example;\r\n\tDMARC=Pass Header.From=BANK;'],
]

test.each(WRITTEN)('a relay that writes %s is understood', async (_, expected, field) => {
  const raw = written(field, expected ? '192.0.2.2' : '192.0.2.1')
  expect((await relay(raw, 'carla@rejects.example')).sender_verified).toBe(expected)
})

test.each([
  ['quotation that does not end', 'mx.desk.example; dmarc=pass header.from=BANK reason="x'],
  ['comment that does not end', 'mx.desk.example; dmarc=pass header.from=BANK (x (y)'],
  ['comment that ends with a backslash', 'mx.desk.example; dmarc=pass header.from=BANK (x\\'],
  ['parenthesis too many', 'mx.desk.example; dmarc=pass header.from=BANK )'],
  ['property that is given twice', 'mx.desk.example; dmarc=pass header.from=attacker.example header.from=BANK'],
  ['result in a comment', 'mx.desk.example (; dmarc=pass header.from=BANK)'],
  ['result in quotes', 'mx.desk.example; spf=pass smtp.mailfrom="a; dmarc=pass header.from=BANK"@evil.example'],
  ['result of a property', 'mx.desk.example; spf=pass policy.dmarc=pass header.from=BANK'],
  ['name that goes on', 'mx.desk.example.evil.example; dmarc=pass header.from=BANK'],
  ['name of three words', 'mx.desk.example 1 x; dmarc=pass header.from=BANK'],
  ['name in a comment', '(mx.desk.example) evil.example; dmarc=pass header.from=BANK'],
  ['second equals sign', 'mx.desk.example; dmarc==pass header.from=BANK'],
  ['word without a value', 'mx.desk.example; dmarc=pass header.from=BANK x'],
])('a relay that writes a %s says nothing', async (_, field) => {
  expect((await relay(written(field, '192.0.2.2'), 'carla@rejects.example')).sender_verified).toBe(false)
  expect((await relay(written(field, '192.0.2.1'), 'carla@rejects.example')).sender_verified).toBe(true)
})

/** A message of a domain that rejects, from a server that SPF knows (192.0.2.1) or not. */
function written(field: string, address: string): Buffer {
  const Received = `from mx.example (mx.example [${address}]) by mx.desk.example; Sun, 22 Nov 2026 09:00:00 +0000`
  return mail('carla@rejects.example', { Received, Authentication_Results: field.replace('BANK', 'rejects.example') })
}

const FROM_ELSEWHERE = 'Received: from mx.example (mx.example [192.0.2.2]) by mx.desk.example'
const RESULTS = 'mx.desk.example; dmarc=pass header.from=rejects.example'
const LONG = 'x'.repeat(900_000) + 'y'.repeat(90_000)

test.each(CASES)('mail of %s has sender_verified %p', async (_, expected, receive) => {
  expect((await receive()).sender_verified).toBe(expected)
})

/** Sends on what the owner of a domain has signed, with a field added above, where most programs read the first one. */
async function replay(
  field: string,
  results = '',
  send: (raw: Uint8Array) => Promise<{ sender_verified: unknown }> = receive,
  domain = 'rejects.example',
) {
  const raw = await signed(mail(`carla@${domain}`, { Content_Type: 'text/plain' }), domain)
  const added = [results, field].filter(Boolean).map((line) => `${line}\r\n`)
  return send(Buffer.concat([Buffer.from(added.join('')), raw]))
}

async function altered(from: string, to: string): Promise<Buffer> {
  const raw = await signed(mail('carla@rejects.example'), 'rejects.example')
  return Buffer.from(raw.toString('latin1').replace(`${from}\r\n`, `${to}\r\n`), 'latin1')
}

function aSignature(): Fields {
  return { DKIM_Signature: 'v=1; a=rsa-sha256; d=rejects.example; s=desk; h=from; bh=x; b=x' }
}

function manySignatures(): Fields {
  return { DKIM_Signature: Array(50).fill(aSignature().DKIM_Signature) }
}

function twoFroms(): Buffer {
  return mail('carla@passes.example', { from: 'eve@attacker.example' })
}

/** @param addresses of the servers from which it came, the last one first */
function through(...addresses: string[]): Buffer {
  const Received = addresses.map(
    (address) =>
      `from mx.rejects.example (mx.rejects.example [${address}]) by mx.desk.example with ESMTP id 1; Sun, 22 Nov 2026 09:00:00 +0000`,
  )
  return mail('carla@rejects.example', { Received })
}

/** A message with a result of the relay, which got it from a server that SPF does not know unless `address` says so. */
function said(results: string, domain = 'rejects', address = '192.0.2.2', name = 'mx.desk.example'): Buffer {
  const Received = `from mx.example (mx.example [${address}]) by mx.desk.example; Sun, 22 Nov 2026 09:00:00 +0000`
  return mail(`carla@${domain}.example`, { Received, Authentication_Results: `${name}; ${results}` })
}

function saidBelow(results: string): Buffer {
  const Authentication_Results = ['mx.other.example; spf=fail', `mx.desk.example; ${results}`]
  const Received = 'from mx.example (mx.example [192.0.2.2]) by mx.desk.example; Sun, 22 Nov 2026 09:00:00 +0000'
  return mail('carla@rejects.example', { Received, Authentication_Results })
}

/** Delivers as a relay that hands its client over. */
async function handOver(client: string) {
  using _ = withSettings({ SMTP_TRUSTED_RELAYS: [LOOPBACK] })
  using dialog = await startSession(relayed.port)
  expect(await dialog.command(`XCLIENT ${client}`)).toStartWith('220')
  await dialog.command('EHLO mx.rejects.example')
  const raw = mail('carla@rejects.example')
  const { code } = await sendInSession(dialog, { from: 'carla@rejects.example', to: desk.address, raw })
  expect(code).toBe(250)
  await drain()
  return (await ledgerOf(desk))[0]
}

test('the ledger has the results in the words of RFC 8601, and the client that XCLIENT names', async () => {
  const row = await receive(await signed(mail('carla@rejects.example'), 'rejects.example'), 'x@attacker.example')
  expect(row.authentication).toEqual({ spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' })
  const forged = await receive(mail('carla@rejects.example'), 'carla@rejects.example')
  expect(forged.authentication).toEqual({ spf: 'fail', dkim: 'none', dmarc: 'fail', arc: 'none' })
  const handed = await handOver('ADDR=192.0.2.1 NAME=mx.rejects.example HELO=mail.rejects.example')
  expect(handed).toMatchObject({ remote_address: '192.0.2.1', helo: 'mail.rejects.example' })
})

test('a body that takes too long to read counts as not signed', async () => {
  const raw = await signed(mail('carla@rejects.example', {}, LONG), 'rejects.example')
  expect((await receive(raw)).authentication).toMatchObject({ dkim: 'policy', dmarc: 'fail' })
})

test.each([
  ['blanks', { X: `a${' '.repeat(400)}b` }],
  ['blanks before a colon', { [`X${' '.repeat(400)}`]: 'b' }],
  ['line ends of old Macs', { X: `a${'\r'.repeat(400)}b` }],
  ['dots', { X: '.'.repeat(400) }],
  ['other names of fields', { Return_Path: 'a:'.repeat(12_001) }],
  ['a line end in the name of a field', { 'X\r\n ': 'b' }],
])('a header that takes long to read by its %s counts as not signed', async (_, fields) => {
  const raw = await signed(mail('carla@rejects.example', { Subject: undefined, ...fields }), 'rejects.example')
  expect((await receive(raw)).authentication).toMatchObject({ dkim: 'policy', dmarc: 'fail' })
})

test('XCLIENT is for trusted relays, once', async () => {
  using stranger = await startSession(desk.port)
  expect(await stranger.command('XCLIENT ADDR=192.0.2.1')).toStartWith('5')
  using dialog = await startSession(relayed.port)
  await dialog.command('XCLIENT ADDR=192.0.2.1')
  expect(await dialog.command('EHLO mx.example')).not.toContain('XCLIENT')
  expect(await dialog.command('XCLIENT ADDR=192.0.2.7')).toStartWith('5')
})

test('dead DNS delays no 250, and the mail is filed as of an unknown sender', async () => {
  using dead = await startDns({})
  dead.die()
  using _ = withSettings({ DNS_SERVERS: [dead.address] })
  using dialog = await startSession(desk.port)
  const send = async () => {
    const raw = mail('carla@rejects.example')
    return (await sendInSession(dialog, { from: 'x@rejects.example', to: desk.address, raw })).code
  }
  expect(await send()).toBe(250)
  expect(dead.asked).toEqual([])
  await drain()
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', sender_verified: null })
  const asked = dead.asked.length
  expect(asked).toBeGreaterThan(0)
  expect(await send()).toBe(250)
  await drain()
  // The servers are left alone.
  expect(dead.asked).toHaveLength(asked)
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', authentication: { dmarc: 'temperror' } })
})

test('the first mail after DNS falls silent is filed at once', async () => {
  using dying = await startDns({ 'rejects.example': { TXT: ['v=spf1 -all'] } })
  using _ = withSettings({ DNS_SERVERS: [dying.address] })
  await receive(mail('carla@rejects.example'))
  dying.die()
  const id = newId()
  await deliver(desk.port, { from: `x@${id}.example`, to: desk.address, raw: mail(`carla@${id}.example`) })
  expect(await newestRow()).toMatchObject({
    outcome: 'ticket',
    sender_verified: null,
    authentication: { dmarc: 'temperror' },
  })
})

/** Mail whose SPF and signatures take longer to look up than all checks together may take. */
async function slowMail(from: string): Promise<Buffer> {
  let raw = mail(from)
  for (const n of [1, 2, 3, 4, 5, 6]) {
    dns.add({ [keyName(`s${n}.attacker.example`)]: 'silent', [`i${n}.attacker.example`]: 'silent' })
    raw = await signed(raw, `s${n}.attacker.example`)
  }
  dns.add({ 'endless.example': { TXT: ['v=spf1 include:i1.attacker.example include:i2.attacker.example -all'] } })
  return raw
}

test('a sender with slow DNS does not switch off the policy of the domain in whose name it writes', async () => {
  const raw = await slowMail(`carla@${newId()}.rejects.example`)
  await deliver(desk.port, { from: 'x@endless.example', to: desk.address, raw })
  expect(await newestRow()).toMatchObject({ outcome: 'ticket', sender_verified: false })
})

test('a name that cannot exist leaves nothing open', async () => {
  const raw = await signed(mail('carla@rejects.example'), 'rejects.example', 's'.repeat(64))
  await deliver(desk.port, { from: 'x@attacker.example', to: desk.address, raw })
  expect(await newestRow()).toMatchObject({ outcome: 'ticket', sender_verified: false })
})

const LATER = 'later.example'

/** With nothing known of former answers. */
async function askingAnew<T>(work: () => Promise<T>): Promise<T> {
  using _ = withSettings({ DNS_SERVERS: [dns.address] })
  return await work()
}

test('mail whose sender DNS cannot tell now waits, and is judged once it can', async () => {
  dns.add({ [`_dmarc.${LATER}`]: 'fails', [keyName(LATER)]: 'fails', [LATER]: { TXT: OTHERS } })
  const outcomes = async () => {
    const [honest, forged] = await ledgerOf(desk)
    return [honest, forged].map(({ outcome, sender_verified }) => [outcome, sender_verified])
  }
  await askingAnew(async () => {
    await deliver(desk.port, { to: desk.address, raw: mail(`carla@${LATER}`) })
    await deliver(desk.port, { to: desk.address, raw: await signed(mail(`carla@${LATER}`), LATER) })
  })
  expect(await outcomes()).toEqual([
    ['pending', null],
    ['pending', null],
  ])
  dns.add({ [`_dmarc.${LATER}`]: { TXT: ['v=DMARC1; p=reject'] } })
  await askingAnew(checkAgain)
  expect(await outcomes()).toEqual([
    ['pending', null],
    ['ticket', false],
  ])
  dns.add({ [keyName(LATER)]: { TXT: [KEY_RECORD] } })
  await askingAnew(checkAgain)
  expect(await outcomes()).toEqual([
    ['ticket', true],
    ['ticket', false],
  ])
})

test('mail that waits for DNS is tried again after 1, 4 and 5 minutes, and then filed', async () => {
  await deliver(desk.port, { to: desk.address, raw: mail('carla@broken.example') })
  const { id } = await newestRow()
  const delays: number[] = []
  while ((await newestRow()).outcome === 'pending') {
    const [row] = await connection().sql<{ delay_s: number }[]>`
      select extract(epoch from run_at - now())::float8 as delay_s from outbox where id = ${id}`
    delays.push(Math.ceil(row!.delay_s / 60))
    await checkAgain()
  }
  expect(delays).toEqual([1, 4, 5])
  expect(await newestRow()).toMatchObject({ outcome: 'ticket', sender_verified: null })
})

test('DNS that tells nothing about any name is no reason to wait', async () => {
  using useless = await startDns({ '*': 'fails' })
  using _ = withSettings({ DNS_SERVERS: [useless.address] })
  await deliver(desk.port, { from: 'x@rejects.example', to: desk.address, raw: mail('carla@rejects.example') })
  const { outcome, sender_verified, authentication } = await newestRow()
  expect([outcome, sender_verified, authentication.dmarc]).toEqual(['ticket', null, 'temperror'])
})

test('one silent server beside one that answers does not stop the checks', async () => {
  using dead = await startDns()
  dead.die()
  using _ = withSettings({ DNS_SERVERS: [dead.address, dns.address] })
  await receive(mail('x@slow.example'), 'x@slow.example')
  expect(await receive(mail('carla@rejects.example'))).toMatchObject({ sender_verified: false })
})

test('a slow name of a stranger does not end the checks of other mail', async () => {
  await receive(mail('x@slow.example'), `x@${newId()}.slow.example`)
  expect(await receive(mail('carla@rejects.example'))).toMatchObject({ sender_verified: false })
})

test('a message of 1 MB is checked while the service does other work', async () => {
  const body = `${'A'.repeat(76)}\r\n`.repeat(11_000)
  const raw = await signed(mail('carla@rejects.example', {}, body), 'rejects.example')
  expect(await receive(raw)).toMatchObject({ sender_verified: true })
})

test('messages and their events say how well the sender is known; messages of the team do not', async () => {
  await hearEvents(desk.scope)
  const { ticket_id } = await receive(mail('carla@rejects.example'))
  const answer = await createMessage(desk.agent, ticket_id)
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.map((one: { sender_verified: unknown }) => one.sender_verified)).toEqual([false, null])
  expect(answer.sender_verified).toBeNull()
  const events = (await writtenEvents(desk.scope)).filter(({ data }) => data.ticket?.id === ticket_id)
  expect(events.map(({ data }) => data.sender_verified)).toContain(false)
})

test('the doctor warns when all mail comes from a server of our own that the settings do not name', async () => {
  for (let n = 0; n < 10; n++) await receive(mail('carla@absent.example'))
  const [finding, ...others] = await checkRelays(connection())
  expect(finding!.message).toMatch(/^All recent mail came from 127\.0\.0\.1, which SMTP_TRUSTED_RELAYS does not name/)
  expect(others).toEqual([])
  using _ = withSettings({ SMTP_TRUSTED_RELAYS: [LOOPBACK] })
  expect(await checkRelays(connection())).toEqual([])
})
