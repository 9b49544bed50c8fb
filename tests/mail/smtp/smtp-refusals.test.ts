/** The log of the SMTP listener for each reply that refuses something. */
import { afterEach, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import type { SmtpOptions } from '../../../src/mail/smtp/options'
import { explainReason, type SmtpRefusalNote } from '../../../src/mail/smtp/refusals'
import { until } from '../../support/service'
import { dotStuffed, type SmtpDialog, smtpDialog, startSession } from '../../support/smtp'
import { begin, closeListeners, MESSAGE, proxied, start, startMessage } from '../../support/smtp-listener'

afterEach(closeListeners)

const LOOPBACK = ipaddr.parseCIDR('127.0.0.0/8')

/** A listener, and what it says of its refusals. */
async function startNoting(changes: Partial<SmtpOptions> = {}) {
  const notes: SmtpRefusalNote[] = []
  const server = await start({ refused: (note) => notes.push(note), ...changes })
  return { ...server, notes }
}

const CLIENT = { remote_address: '127.0.0.1', helo: 'client.test', tls: false }

async function say(port: number, ...lines: string[]): Promise<SmtpDialog> {
  const dialog = await startSession(port)
  for (const line of lines) await dialog.command(line)
  return dialog
}

const MAIL = 'MAIL FROM:<ann@example.test>'
const RCPT = 'RCPT TO:<help@example.com>'

type Expected = [code: number, enhanced_code: string, command: string, reason: string]

test.each<[string, string[], Expected, Partial<SmtpOptions>]>([
  ['an unknown mailbox', [MAIL, 'RCPT TO:<unknown@example.com>'], [550, '5.1.1', 'RCPT', 'unknown_mailbox'], {}],
  ['a lookup that fails', [MAIL, 'RCPT TO:<broken@example.com>'], [451, '4.3.0', 'RCPT', 'fault'], {}],
  ['an announced size', [`${MAIL} SIZE=2000000`], [552, '5.3.4', 'MAIL', 'too_large'], {}],
  ['a listener that is busy', [MAIL], [451, '4.3.2', 'MAIL', 'busy'], { max_storing: 0 }],
  ['a full disk', [MAIL], [452, '4.3.1', 'MAIL', 'no_space'], refusing(452, '4.3.1 Not enough storage')],
  ['filing that is behind', [MAIL], [451, '4.3.2', 'MAIL', 'behind'], refusing(451, '4.3.2 Too many messages wait')],
  ['a command in the wrong order', ['DATA'], [503, '5.5.1', 'DATA', 'protocol'], {}],
  ['a bad address', [MAIL, 'RCPT TO:nobody'], [501, '5.1.3', 'RCPT', 'protocol'], {}],
  ['an unknown command', ['AUTH PLAIN AGFubgBzZWNyZXQ='], [500, '5.5.2', 'other', 'protocol'], {}],
])('%s is noted with code, command and reason', async (_, lines, expected, changes) => {
  const { port, notes } = await startNoting(changes)
  using _dialog = await say(port, ...lines)
  const [code, enhanced_code, command, reason] = expected
  const has_message = lines.length > 1
  expect(notes).toEqual([{ ...CLIENT, code, enhanced_code, command, reason, has_message } as SmtpRefusalNote])
})

function refusing(code: 451 | 452, text: string): Partial<SmtpOptions> {
  return { refusal: async () => ({ code, text }) }
}

test('of a recipient, its mailbox is noted as far as the lookup knows it, and no address', async () => {
  const refused = { reason: 'mailbox_inactive', domain: 'example.com', organization_id: 'o', mailbox_id: 'm' } as const
  const { port, notes } = await startNoting({ recipients: async () => refused })
  using _dialog = await say(port, MAIL, RCPT)
  const { domain, ...rest } = refused
  expect(notes).toEqual([expect.objectContaining({ ...rest, code: 550, command: 'RCPT', recipient_domain: domain })])
  expect(JSON.stringify(notes)).not.toContain('@')
})

test('a message that is too large is noted once, with the mailbox that it was for', async () => {
  const { port, notes } = await startNoting()
  using dialog = await startMessage(port)
  dialog.write(dotStuffed(`${MESSAGE}${'x'.repeat(1_100_000)}\r\n`))
  expect(await dialog.read()).toStartWith('552 5.3.4')
  const mailbox = { organization_id: 'organization', mailbox_id: 'mailbox', recipient_domain: 'example.com' }
  const note = { ...CLIENT, ...mailbox, code: 552, enhanced_code: '5.3.4', command: 'DATA', reason: 'too_large' }
  expect(notes).toEqual([{ ...note, has_message: true } as SmtpRefusalNote])
})

test('connections that are refused are noted with the client that connected', async () => {
  const of = ({ code, command, reason, remote_address }: SmtpRefusalNote) => [code, command, reason, remote_address]
  const closed = await startNoting({ allowed: [ipaddr.parseCIDR('192.0.2.0/24')] })
  using _first = (await begin(closed.port, '')).dialog
  expect(closed.notes.map(of)).toEqual([[554, 'connect', 'network', '127.0.0.1']])

  const shared = await startNoting({ max_clients_per_address: 1, proxies: [LOOPBACK] })
  using _one = (await proxied(shared.port, '192.0.2.1')).dialog
  using _two = (await proxied(shared.port, '192.0.2.1')).dialog
  using _none = (await begin(shared.port, 'EHLO client.test\r\n')).dialog
  expect(shared.notes.map(of)).toEqual([
    [421, 'connect', 'clients_of_address', '192.0.2.1'],
    [421, 'connect', 'proxy_header', '127.0.0.1'],
  ])

  const full = await startNoting({ max_clients: 1 })
  using _open = await startSession(full.port)
  using extra = await smtpDialog(full.port)
  expect(await extra.read()).toStartWith('421')
  expect(full.notes.map(of)).toEqual([[421, 'connect', 'clients', '127.0.0.1']])
})

test('a stop is noted for each session, and matters only with a message under way', async () => {
  const { port, notes, close } = await startNoting()
  using _idle = await startSession(port)
  using _busy = await say(port, MAIL)
  await close({ timeout_ms: 1000 })
  await until('both are noted', () => notes.length === 2)
  expect(notes.map((note) => [note.reason, explainReason(note).level])).toEqual([
    ['stopping', 'debug'],
    ['stopping', 'info'],
  ])
})
