/** The program of a parser process (`lanes.ts`). */
import { serve } from '../../base/process/serve'
import type { ParsedAttachment } from './bodies'
import type { EnvelopeSender } from './bounce'
import { type ParsedMail, parseMail } from './parse'

export type ParseWork = { raw: Uint8Array; envelope_sender: EnvelopeSender }

serve(async ({ raw, envelope_sender }: ParseWork) => withOwnBytes(await parseMail(raw, envelope_sender)))

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
