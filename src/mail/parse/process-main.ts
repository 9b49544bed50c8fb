/**
 * The program of a parser process (`process.ts`): says that it is ready, then parses each message that it is sent and
 * answers with the result or with the reason of its failure.
 */
import type { ParsedAttachment } from './bodies'
import type { EnvelopeSender } from './bounce'
import { type ParsedMail, parseMail } from './parse'

export type ParseRequest = { id: number; raw: Uint8Array; envelope_sender: EnvelopeSender }
export type ParseAnswer = { id: number; mail: ParsedMail } | { id: number; error: string }

process.on('message', async (message: unknown) => {
  const { id, raw, envelope_sender } = message as ParseRequest
  const answer = await parseMail(raw, envelope_sender).then(
    (mail): ParseAnswer => ({ id, mail: withOwnBytes(mail) }),
    (error: unknown): ParseAnswer => ({ id, error: error instanceof Error ? error.message : String(error) }),
  )
  process.send?.(answer)
})

// A terminal and a service manager stop the whole group. The service may still wait for an answer, and ends this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit())

process.send?.('ready')

/** Copies the contents: they are views of the message, and all of it would be sent with each of them. */
function withOwnBytes(mail: ParsedMail): ParsedMail {
  const { attachments, forwarded } = mail
  return {
    ...mail,
    attachments: attachments.map(withOwnContent),
    forwarded: forwarded && { ...forwarded, attachments: forwarded.attachments?.map(withOwnContent) ?? null },
  }
}

function withOwnContent(file: ParsedAttachment): ParsedAttachment {
  return { ...file, content: new Uint8Array(file.content) }
}
