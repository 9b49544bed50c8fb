/**
 * The mail path for tests: SMTP listener, mailboxes, messages, and a drain that tests call. `desk.ts` starts it all.
 */
import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import { log } from '../../src/base/log'
import { claim } from '../../src/delivery/outbox/claim'
import { drainOutbox, startDrain } from '../../src/delivery/outbox/drain'
import { KINDS } from '../../src/delivery/outbox/kinds'
import { Settler } from '../../src/delivery/outbox/settle'
import { acceptMessage, findRecipient } from '../../src/mail/inbound/accept'
import { fileInbound } from '../../src/mail/inbound/receive'
import { recordRefusal } from '../../src/mail/inbound/refused-ledger'
import { type SmtpListener, startSmtpListener } from '../../src/mail/smtp/listener'
import type { SmtpOptions } from '../../src/mail/smtp/options'
import { HANDLERS } from '../../src/operate/start/outbox-handlers'
import type { Client, Organization } from './api'
import { type SmtpDialog, sendInSession, startSession } from './smtp'

/** The most that `startListener` takes. */
export const MAX_BYTES = 1_000_000

/** The SMTP listener as `main` wires it, unless a test wants it otherwise. */
export function startListener(changes: Partial<SmtpOptions> = {}): Promise<SmtpListener> {
  return startSmtpListener({
    port: 0,
    host: '127.0.0.1',
    hostname: 'mx.desk.example',
    max_bytes: MAX_BYTES,
    recipients: (address) => findRecipient(connection(), address),
    store: (envelope, raw) => acceptMessage(connection(), envelope, raw),
    refused: (note, mail) => void (mail && recordRefusal(connection(), note, mail)),
    log,
    ...changes,
  })
}

/** Files what arrived and sends what waits, until nothing is due. */
export function drain(): Promise<void> {
  return drainOutbox(connection(), HANDLERS)
}

/** Files the mail of an organization that is due in one transaction, as a drain does that has much of it. */
export async function fileAsSet(organization_id: string): Promise<void> {
  const jobs = await claim(
    connection().sql,
    'inbound',
    organization_id,
    [{ lane_id: organization_id, room: 100 }],
    newId(),
  )
  const outcomes = await Promise.all(jobs.map((job) => fileInbound(job, connection())))
  const settler = new Settler(connection(), KINDS.inbound.afterFault)
  await Promise.all(jobs.map((job, index) => settler.settle(job, outcomes[index]!)))
  for (const { release } of outcomes) release?.()
}

/** A drain that runs beside the test, as in the service; answers of `POST /messages` wait for it. */
export function keepDraining(): AsyncDisposable {
  const running = startDrain(connection(), HANDLERS)
  return { [Symbol.asyncDispose]: () => running.stop(5000) }
}

/** A mailbox, over HTTP, whose email has the words of its message alone. */
export async function createMailbox(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/mailboxes', { address: `help.${newId()}@desk.example`, quote: 'none', ...fields })
  if (answer.status !== 201) throw new Error(`creating a mailbox answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A message as its bytes: the fields in order, an empty line, the body. */
export function rawMail(fields: Record<string, string | string[] | undefined>, body = 'Hello'): Buffer {
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name.replaceAll('_', '-')}: ${one}`),
  )
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body.replace(/\r?\n/g, '\r\n')}\r\n`)
}

export type Arriving = { from?: string; to: string | string[]; raw: Uint8Array }

/** Sessions that may take another message, by the port of their listener. */
const idle = new Map<number, SmtpDialog>()

function takeIdle(port: number): SmtpDialog | undefined {
  const dialog = idle.get(port)
  idle.delete(port)
  return dialog?.socket().destroyed ? undefined : dialog
}

/** Delivers over SMTP and files what was accepted. */
export async function deliver(port: number, { from = 'relay@customer.example', to, raw }: Arriving) {
  const dialog = takeIdle(port) ?? (await startSession(port))
  const { code, response } = await sendInSession(dialog, { from, to, raw })
  if (code !== 250) {
    dialog.destroy()
    throw new Error(`the listener answered ${response}`)
  }
  idle.set(port, dialog)
  await drain()
}

/** Puts an original through the pipeline over HTTP; gives the ledger row. */
export async function importMail(client: Client, mailbox_id: string, raw: Uint8Array) {
  const answer = await client.send('POST', `/inbound-messages?mailbox_id=${mailbox_id}`, raw, {
    'content-type': 'message/rfc822',
  })
  if (answer.status !== 201) throw new Error(`importing a message answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** The ledger, newest first. */
export async function ledgerOf({ admin }: Organization, query = '') {
  return (await admin.get(`/inbound-messages?per_page=100${query}`)).body.data
}

/** A ticket with its messages. */
export async function readTicket(client: Client, id: string) {
  return (await client.get(`/tickets/${id}`)).body.data
}
