/** The program of a parser process (`lanes.ts`). */
import { constants } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { serve } from '../../base/process/serve'
import { type AnsweringMail, answerOf } from './answer-words'
import type { ParsedAttachment } from './bodies'
import type { EnvelopeSender } from './bounce'
import { type ParsedMail, parseMail } from './parse'
import { isCopy, type Returning } from './same-text'

/** `raw`: the message, or the name of its file. */
export type ParseWork = { raw: Uint8Array | string; envelope_sender: EnvelopeSender }

export type AnswerWork = { answering: AnsweringMail }

export type CompareWork = { returning: Returning }

serve(async (work: ParseWork | AnswerWork | CompareWork) => {
  if ('answering' in work) return answerOf(work.answering)
  if ('returning' in work) return isCopy(work.returning)
  const raw = typeof work.raw === 'string' ? await readWhole(work.raw) : work.raw
  return withOwnBytes(await parseMail(raw, work.envelope_sender))
})

/** A file that cannot be read says nothing about the message: the process ends, and the slow lane gets the bytes. */
function readWhole(file: string): Promise<Uint8Array> {
  return readFile(file, { flag: constants.O_RDONLY | constants.O_NOFOLLOW }).catch(() => process.exit(1))
}

/** Copies the contents: most are views of the message, and all of it would be sent with each of them. */
function withOwnBytes(mail: ParsedMail): ParsedMail {
  const { attachments, forwarded } = mail
  return {
    ...mail,
    attachments: attachments.map(withOwnContent),
    forwarded: forwarded && { ...forwarded, attachments: forwarded.attachments?.map(withOwnContent) ?? null },
  }
}

/** A file that is most of a large message stays a view: its copy would take as much memory again. */
function withOwnContent(file: ParsedAttachment): ParsedAttachment {
  const { buffer, byteOffset, byteLength } = file.content
  const is_most = byteLength > buffer.byteLength / 2
  return { ...file, content: is_most ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(file.content) }
}
