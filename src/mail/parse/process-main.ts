/**
 * Runs in a process of its own: says that it is ready, then parses what it is sent and answers with the result or the
 * reason why there is none.
 */
import { type ParsedMail, parseMail } from './parse'

export type ParseRequest = { id: number; raw: Uint8Array }
export type ParseAnswer = { id: number; mail: ParsedMail } | { id: number; error: string }

process.on('message', async (message: unknown) => {
  const { id, raw } = message as ParseRequest
  const answer = await parseMail(raw).then(
    (mail): ParseAnswer => ({ id, mail: withOwnBytes(mail) }),
    (error: unknown): ParseAnswer => ({ id, error: error instanceof Error ? error.message : String(error) }),
  )
  process.send?.(answer)
})

// A terminal and a service manager stop the whole group; the service may still wait for an answer, and ends this itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit())

process.send?.('ready')

/** Contents are views of the message, which would travel with each of them. */
function withOwnBytes(mail: ParsedMail): ParsedMail {
  return { ...mail, attachments: mail.attachments.map((file) => ({ ...file, content: new Uint8Array(file.content) })) }
}
