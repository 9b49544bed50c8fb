/** Letters of the service as they arrive, and the links in them. */
import { simpleParser } from 'mailparser'
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
