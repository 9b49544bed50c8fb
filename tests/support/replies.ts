/** A reply to send, and its recipient. */
import ipaddr from 'ipaddr.js'
import type { Network } from '../../src/base/address/networks'
import { type CustomerReply, composeReply } from '../../src/mail/outbound/compose'
import type { SendOptions } from '../../src/mail/outbound/settings'
import { sendMail } from '../../src/mail/outbound/transport'

export const allowed: Network[] = [ipaddr.parseCIDR('127.0.0.0/8'), ipaddr.parseCIDR('::1/128')]
export const FROM = { name: 'Support', address: 'support@acme.test' }
export const TO = { name: 'Ann', address: 'ann@example.test' }

export function compose(changes: Partial<CustomerReply> = {}) {
  return composeReply({
    from: FROM,
    to: [TO],
    subject: 'Printer',
    code: 'ACME-1',
    message_id: 'm1@acme.test',
    text: 'Try again.',
    html: '<p>Try again.</p>',
    ...changes,
  })
}

/** A mailbox's server on loopback. */
export function smtpOf(sink: { port: number }, security: 'none' | 'starttls' | 'tls' = 'none') {
  return { host: '127.0.0.1', port: sink.port, security }
}

export function send(sink: { port: number }, changes: Partial<CustomerReply> = {}, options: Partial<SendOptions> = {}) {
  return sendMail(smtpOf(sink), compose(changes), { allowed, ...options })
}

export async function* bytes(text: string) {
  yield Buffer.from(text)
}
