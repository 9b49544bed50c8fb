/** An SMTP listener without a database behind it, for tests of the protocol. */
import { expect } from 'bun:test'
import type { Readable } from 'node:stream'
import { log } from '../../src/base/log'
import type { Envelope } from '../../src/mail/smtp/envelope'
import { type SmtpListener, startSmtpListener } from '../../src/mail/smtp/listener'
import type { SmtpOptions } from '../../src/mail/smtp/options'
import { issueCertificate } from './certificates'
import { type SmtpDialog, sendMail, smtpDialog, startData } from './smtp'

export const MESSAGE = 'From: ann@example.test\r\nSubject: Hello\r\n\r\nThe printer is on fire.\r\n'
export const certificate = await issueCertificate()

export type Stored = { envelope: Envelope; raw: Buffer }

const listeners: SmtpListener[] = []

export async function closeListeners(): Promise<void> {
  await Promise.all(listeners.splice(0).map((listener) => listener.close({ timeout_ms: 0 })))
}

/** A listener that knows every address of example.com but those with `unknown` or `broken`, and keeps what it takes. */
export async function start(changes: Partial<SmtpOptions> = {}) {
  const stored: Stored[] = []
  const aborted: unknown[] = []
  const listener = await startSmtpListener({
    port: 0,
    host: '127.0.0.1',
    hostname: 'mx.example.com',
    max_bytes: 1_000_000,
    recipients: async (address) => {
      if (address.startsWith('broken')) throw new Error('database gone')
      if (address.startsWith('unknown') || !/@(example\.com|exämple\.com)$/i.test(address)) return null
      return { organization_id: 'organization', mailbox_id: 'mailbox', mailbox_address: address, address }
    },
    store: async (envelope, raw) => {
      const bytes = await readAll(raw).catch((error) => {
        aborted.push(error)
        throw error
      })
      stored.push({ envelope, raw: bytes })
      return { queue_id: `id-${stored.length}` }
    },
    log,
    ...changes,
  })
  listeners.push(listener)
  return { port: listener.port, close: listener.close.bind(listener), stored, aborted }
}

export async function readAll(raw: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of raw) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A session up to the point where a message to this listener is expected. */
export function startMessage(port: number): Promise<SmtpDialog> {
  return startData(port, 'ann@example.test', 'help@example.com')
}

/** Others are served as if nothing had happened. */
export async function expectService(port: number): Promise<void> {
  const mail = { port, from: 'ann@example.test', to: 'help@example.com', raw: MESSAGE }
  expect((await sendMail(mail)).code).toBe(250)
}

/** A connection that begins with these bytes, and its first reply; empty when the server closes without one. */
export async function begin(port: number, bytes: string | Uint8Array) {
  const dialog = await smtpDialog(port)
  dialog.write(bytes)
  return { dialog, greeting: await dialog.read().catch(() => '') }
}

/** The same behind a PROXY header that names this client. */
export function proxied(port: number, address: string) {
  const [kind, own] = address.includes(':') ? ['TCP6', '2001:db8::1'] : ['TCP4', '198.51.100.1']
  return begin(port, `PROXY ${kind} ${address} ${own} 40000 25\r\n`)
}
