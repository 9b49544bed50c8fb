/** Failures of sending: the reason, the side at fault, and if another try can succeed. */

import { DestinationError } from '../../net/destination'
import { storable } from '../../search/fold'
import type { MailboxSmtp } from './transport'

/** A recipient that the server refused. */
export type Refusal = { address: string; code: number; response: string; permanent: boolean }

/** The message did not go to anybody. `message` and `response` are for people and hold no secrets. */
export class SendError extends Error {
  constructor(
    message: string,
    /** The server's reply code; null when it gave none. */
    readonly code: number | null,
    /** The server's answer, else what went wrong. */
    readonly response: string,
    /** Another try would end the same way (a 5xx reply to the message). */
    readonly permanent: boolean,
    /** `own`: the message or this service is at fault, so the server can't be judged by it. */
    readonly blame: 'own' | 'server',
  ) {
    super(message)
  }
}

const RESPONSE_MAX_LENGTH = 1000

/** The fields that nodemailer adds to its errors. */
type SmtpFailure = Error & {
  code?: string
  responseCode?: number
  response?: string
  command?: string
  recipient?: string
  rejectedErrors?: SmtpFailure[]
}

/** The recipients that the server refused one by one. @param outcome what the library answers, or its error */
export function refusalsOf(outcome: object, smtp: MailboxSmtp): Refusal[] {
  const { rejectedErrors = [] } = outcome as Pick<SmtpFailure, 'rejectedErrors'>
  return rejectedErrors.map(({ recipient = '', responseCode = 450, response = '' }) =>
    refusal(recipient, responseCode, withoutSecrets(response, smtp)),
  )
}

export function refusal(address: string, code: number, response: string): Refusal {
  return { address, code, response, permanent: isFinal(code) }
}

/** `530 Authentication required` may come as the answer to any command (RFC 4954), and says nothing of the message. */
function isFinal(code: number): boolean {
  return code >= 500 && code !== 530
}

/**
 * Commands whose 5xx is about the message. A 5xx to the greeting, STARTTLS or AUTH is about the server or the mailbox,
 * which people repair while the message waits (Postfix does the same: `smtp_skip_5xx_greeting`,
 * `smtp_sasl_auth_soft_bounce`).
 */
const ABOUT_THE_MESSAGE = ['MAIL FROM', 'RCPT TO', 'DATA']

/** Failures before a byte reached the server, which say nothing about it. */
const OWN_FAILURES = ['ESTREAM', 'EFILEACCESS', 'EURLACCESS', 'ECONFIG']

/** @param error what connecting or the library threw */
export function sendError(error: unknown, smtp: MailboxSmtp): SendError {
  if (error instanceof DestinationError) {
    const text = DESTINATION_TEXTS[error.reason]
    return new SendError(text, null, text, false, error.reason === 'dns' ? 'server' : 'own')
  }
  if (!(error instanceof Error)) return new SendError('sending failed', null, 'sending failed', false, 'own')
  const failure: SmtpFailure = error
  // The library checks the size that the server announced, and then has no reply to report.
  const too_large = /^Message size larger than allowed (\d+)/.exec(error.message)
  if (too_large) {
    const text = `552 5.3.4 The message is larger than the ${too_large[1]} bytes that the server takes`
    return new SendError(text, 552, text, true, 'own')
  }
  const code = failure.responseCode ?? null
  const text = withoutSecrets(failure.response ?? failure.message, smtp)
  const message = withoutSecrets(error.message, smtp)
  const blame = OWN_FAILURES.includes(failure.code ?? '') ? 'own' : 'server'
  const permanent = code !== null && isFinal(code) && ABOUT_THE_MESSAGE.includes(failure.command ?? '')
  return new SendError(message, code, text, permanent, blame)
}

const DESTINATION_TEXTS = {
  blocked_address: 'the server has an address that may not be reached',
  dns: 'the server name was not found',
  dns_local: 'no server name can be resolved at the moment',
} as const

/** Removes the password, plain or in base64: some servers repeat commands in their replies. */
function withoutSecrets(text: string, { username, password }: MailboxSmtp): string {
  const short = storable(text, RESPONSE_MAX_LENGTH)
  if (!password) return short
  const spellings = [password, `\0${username}\0${password}`].flatMap((one) => [
    one,
    Buffer.from(one).toString('base64'),
  ])
  return spellings.reduce((safe, secret) => safe.replaceAll(secret, '***'), short)
}
