/** Runs in a worker thread: parses what it is sent and answers with the result or the reason why there is none. */
import { parentPort } from 'node:worker_threads'
import { type ParsedMail, parseMail } from './parse'

export type ParseRequest = { id: number; raw: Uint8Array }
export type ParseAnswer = { id: number; mail: ParsedMail } | { id: number; error: string }

parentPort?.on('message', async ({ id, raw }: ParseRequest) => {
  const answer = await parseMail(raw).then(
    (mail): ParseAnswer => ({ id, mail: withOwnBytes(mail) }),
    (error: unknown): ParseAnswer => ({ id, error: error instanceof Error ? error.message : String(error) }),
  )
  const moved = 'mail' in answer ? answer.mail.attachments.map(({ content }) => content.buffer as ArrayBuffer) : []
  parentPort?.postMessage(answer, moved)
})

/** Contents are views of the message: each gets bytes of its own that can move to the other thread. */
function withOwnBytes(mail: ParsedMail): ParsedMail {
  return { ...mail, attachments: mail.attachments.map((file) => ({ ...file, content: new Uint8Array(file.content) })) }
}
