/** Letters of the service as they arrive, and the links in them. */
import { simpleParser } from 'mailparser'
import { drain } from './mail'
import { withSettings } from './settings'
import type { SmtpSink } from './smtp'

/** The letter that was sent last to an address. */
export async function lastLetterTo(sink: SmtpSink, address: string) {
  const message = sink.messages.findLast(({ to }) => to.includes(address))
  if (!message) throw new Error(`no letter went to ${address}`)
  const { subject, text = '', from, headers } = await simpleParser(message.raw)
  const [link = ''] = /https?:\S+\?token=\S+/.exec(text) ?? []
  const token = link ? (new URL(link).searchParams.get('token') ?? '') : ''
  return { subject, text, from: from?.value[0]?.address, headers, link, token }
}

/** Drains the outbox; gives the token of the letter that went to an address last. */
export async function nextToken(sink: SmtpSink, address: string): Promise<string> {
  await drain()
  return (await lastLetterTo(sink, address)).token
}

/** Sends letters through a server of the operator, until the end of the block. By default nobody listens there. */
export function operatorServer({ port }: { port: number } = { port: 1 }) {
  const SYSTEM_MAIL_FROM = { name: 'Desk', address: 'desk@operator.example' }
  return withSettings({ SYSTEM_SMTP_URL: `smtp://127.0.0.1:${port}`, SYSTEM_MAIL_FROM })
}
