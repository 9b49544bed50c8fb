/** The program of a parser process (`lanes.ts`). */
import { serve } from '../../base/process/serve'
import { type AnsweringMail, answerOf } from './answer-words'
import type { ParsedAttachment } from './bodies'
import type { EnvelopeSender } from './bounce'
import { type ParsedMail, parseMail } from './parse'

export type ParseWork = { raw: Uint8Array; envelope_sender: EnvelopeSender }

export type AnswerWork = { answering: AnsweringMail }

serve(async (work: ParseWork | AnswerWork) =>
  'raw' in work ? withOwnBytes(await parseMail(work.raw, work.envelope_sender)) : answerOf(work.answering),
)

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
