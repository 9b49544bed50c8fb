/** The program of a parser process (`lanes.ts`). */
import { serve } from '../../base/process/serve'
import { type AnsweringMail, answerOf } from './answer-words'
import type { ParsedAttachment } from './bodies'
import type { EnvelopeSender } from './bounce'
import { type ParsedMail, parseMail } from './parse'
import { isCopy, type Returning } from './same-text'

export type ParseWork = { raw: Uint8Array; envelope_sender: EnvelopeSender }

export type AnswerWork = { answering: AnsweringMail }

export type CompareWork = { returning: Returning }

serve(async (work: ParseWork | AnswerWork | CompareWork) => {
  if ('answering' in work) return answerOf(work.answering)
  if ('returning' in work) return isCopy(work.returning)
  return withOwnBytes(await parseMail(work.raw, work.envelope_sender))
})

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
