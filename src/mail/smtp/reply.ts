/** Replies of the listener to its clients (RFC 5321, section 4.2). */
import type { RefusedRecipient } from './refusals'

/** The reason why no message can be taken now: the sender's server keeps it and tries again, but one too large. */
export type SmtpRefusal = {
  code: 451 | 452 | 552
  /** Begins with an enhanced code (RFC 3463), such as `4.3.1`. */
  text: string
}

/** A reply in the form that smtp-server wants: an error with a code, even for success. */
export type SmtpReply = Error & { responseCode: number; recipient?: RefusedRecipient }

export const BUSY: SmtpRefusal = { code: 451, text: '4.3.2 Too busy, try again later' }

const TRY_AGAIN = 'Local error in processing, try again later'

/** The refusal after a fault of our own. */
export const FAULT: SmtpRefusal = { code: 451, text: `4.3.0 ${TRY_AGAIN}` }

/** The refusal of a message that is larger than may be. */
export function tooLarge(max_bytes: number): SmtpRefusal {
  return { code: 552, text: `5.3.4 Error: message exceeds fixed maximum message size ${max_bytes}` }
}

/**
 * @param text may begin with an enhanced code; without one the library adds the usual one of `code`
 * @param recipient the one that is refused, for the log
 */
export function reply(code: number, text: string, recipient?: RefusedRecipient): SmtpReply {
  return Object.assign(new Error(text), { responseCode: code, recipient })
}

/** The reply of a refusal. */
export function refuse({ code, text }: SmtpRefusal): SmtpReply {
  return reply(code, text)
}
