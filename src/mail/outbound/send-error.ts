/** Reads errors of a hand-over: which are final, and if they are the server's fault. */

import { DestinationError } from '../../base/net/destination'
import { storable } from '../../base/shapes/fold'
import type { Heard } from '../../delivery/outbox/lane-faults'
import { TokenError } from './request-token'
import type { MailboxSmtp } from './settings'

/** A recipient that the server refused. */
export type DeliveryRefusal = { address: string; code: number; response: string; is_permanent: boolean }

/**
 * The meaning of a failure:
 * - `refused`: a 5xx reply to the message. Another try would end the same way.
 * - `put off`: a 4xx reply to the message, from a server that works.
 * - `at fault`: the mailbox cannot send: name, connection, TLS, greeting, sign-in, or the server says so.
 * - `broken`: it ended from DATA on without a reply. The message may be the reason, and the server may have it.
 * - `own`: the message could not be read, which says nothing about the server.
 */
type Verdict = 'refused' | 'put off' | 'at fault' | 'broken' | 'own'

type Failure = {
  /** The server's reply code; null when it gave none. */
  code: number | null
  /** The server's answer, else what went wrong. */
  response: string
  verdict: Verdict
}

/** Says that nobody got the message. `message` and `response` are for people and hold no secrets. */
export class SendError extends Error implements Failure {
  readonly code: Failure['code']
  readonly response: string
  readonly verdict: Verdict

  constructor({ code, response, verdict }: Failure, message = response) {
    super(message)
    this.code = code
    this.response = response
    this.verdict = verdict
  }
}

const RESPONSE_MAX_LENGTH = 1000

/** An error of nodemailer. */
type SmtpFailure = Error & {
  code?: string
  responseCode?: number
  response?: string
  command?: string
  recipient?: string
  rejectedErrors?: SmtpFailure[]
}

/** Lists the recipients that the server refused one by one. @param outcome what the library answers, or its error */
export function refusalsOf(outcome: object, smtp: MailboxSmtp): DeliveryRefusal[] {
  const { rejectedErrors = [] } = outcome as Pick<SmtpFailure, 'rejectedErrors'>
  return rejectedErrors.map(({ recipient = '', responseCode = 450, response = '' }) =>
    refusal(recipient, responseCode, withoutSecrets(response, smtp)),
  )
}

/** Makes the refusal of a recipient. @param code of the server's reply, such as 550 */
export function refusal(address: string, code: number, response: string): DeliveryRefusal {
  return { address, code, response, is_permanent: isFinal(code) }
}

/** Replies about signing in (RFC 4954). They may answer any command and are not about the message. */
const SIGN_IN_CODES = [530, 534, 535, 538]

/** True for a 5xx code about the message. */
function isFinal(code: number): boolean {
  return code >= 500 && !SIGN_IN_CODES.includes(code)
}

/**
 * True for a reply by which a server says that it, or the account, is not in order (RFC 5321 section 3.8, RFC 3463
 * section 3.4).
 */
export function isAboutServer({ code, response }: Pick<DeliveryRefusal, 'code' | 'response'>): boolean {
  return code === 421 || SIGN_IN_CODES.includes(code) || /^4\d\d[ -]4\.3\.\d/.test(response)
}

/**
 * Commands whose 5xx is about the message. A refused greeting, STARTTLS or AUTH says that the server or the mailbox is
 * not in order, which people repair while the message waits (Postfix does the same: `smtp_skip_5xx_greeting`,
 * `smtp_sasl_auth_soft_bounce`).
 */
const ABOUT_THE_MESSAGE = ['MAIL FROM', 'RCPT TO', 'DATA']

/** Errors before a byte reached the server, which say nothing about it. */
const OWN_FAILURES = ['ESTREAM', 'EFILEACCESS', 'EURLACCESS', 'ECONFIG']

/**
 * Makes a SendError of what connecting or the library threw.
 * @param is_at_data true when the server had taken a recipient, so that DATA was next or under way
 */
export function sendError(error: unknown, smtp: MailboxSmtp, is_at_data = false): SendError {
  if (error instanceof PortError) return new SendError({ code: null, response: error.message, verdict: 'at fault' })
  if (error instanceof DestinationError) {
    return new SendError({ code: null, response: DESTINATION_TEXTS[error.reason], verdict: 'at fault' })
  }
  if (error instanceof TokenError) return new SendError({ code: null, response: error.fault, verdict: 'at fault' })
  if (!(error instanceof Error)) return new SendError({ code: null, response: 'sending failed', verdict: 'own' })
  // The library checks the size that the server announced, and then has no reply to report.
  const too_large = /^Message size larger than allowed (\d+)/.exec(error.message)
  if (too_large) {
    const response = `552 5.3.4 The message is larger than the ${too_large[1]} bytes that the server takes`
    return new SendError({ code: 552, response, verdict: 'refused' })
  }
  const failure: SmtpFailure = error
  const reply = replyOf(failure)
  const fault = reply ? failure.message : faultOf(failure)
  const response = withoutSecrets(reply ?? fault, smtp)
  const verdict = verdictOn(failure, response, is_at_data)
  return new SendError({ code: failure.responseCode ?? null, response, verdict }, withoutSecrets(fault, smtp))
}

/** Judges an error of the library. @param response the server's, if it gave one */
function verdictOn(failure: SmtpFailure, response: string, is_at_data: boolean): Verdict {
  const { code = '', responseCode, command = '' } = failure
  if (OWN_FAILURES.includes(code)) return 'own'
  if (responseCode !== undefined && ABOUT_THE_MESSAGE.includes(command)) {
    if (isFinal(responseCode)) return 'refused'
    if (command === 'MAIL FROM' || isAboutServer({ code: responseCode, response })) return 'at fault'
    return 'put off'
  }
  return is_at_data && responseCode !== 421 ? 'broken' : 'at fault'
}

/** The meaning of a failed hand-over for the mailbox that sends. */
export function heardFrom({ verdict, response }: SendError): Heard {
  if (verdict === 'at fault') return { lane: 'at fault', error: response }
  if (verdict === 'broken') return { lane: 'in doubt', error: response }
  return { lane: verdict === 'own' ? 'not tried' : 'works' }
}

/** Says that a mailbox names a port at which no public mail server is. */
export class PortError extends Error {
  override readonly message = 'the server has a port that may not be reached: only 25, 465, 587 and 2525 may'
}

/** The fault, without the words of a port that is no mail server. */
const FAULTS = {
  connect: 'connect: the server cannot be connected to, or closed the connection',
  tls: 'tls: TLS with the server failed, or its certificate is not valid for it',
  timeout: 'timeout: the server does not answer in time',
  greeting: 'greeting: the server does not greet as an SMTP server',
  protocol: 'protocol: the server answers with what is no SMTP reply',
  auth: 'auth: the server has no way to sign in that the mailbox can use',
  credentials: 'auth: the mailbox has no password to sign in with',
} as const

/** Codes of the library for errors that it finds before it speaks to a server. */
const LOCAL_CODES = [...OWN_FAILURES, 'EENVELOPE', 'EMESSAGE']

/** Codes of the library and of the system for a connection that could not be made, or has ended. */
const CONNECT_CODES = [
  ...['ECONNECTION', 'ESOCKET', 'EDNS', 'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL'],
]

/** The server's words: only what has the form of an SMTP reply, and at the start of a connection of a greeting. */
function replyOf({ response, command }: SmtpFailure): string | undefined {
  const form = command === 'CONN' ? /^(220|421|554)[ -]/ : /^[2-5]\d\d([ -]|$)/
  return response && form.test(response) ? response : undefined
}

/** The kind of a failure to which no server replied; the words of one that is of no kind. */
function faultOf({ code = '', command, message, response }: SmtpFailure): string {
  if (LOCAL_CODES.includes(code) && !response) return message
  if (code === 'ETIMEDOUT' || /timed out/.test(message)) return FAULTS.timeout
  if (code === 'ETLS' || /certificate|altname|self.signed|issuer|\bssl|\btls/i.test(message)) return FAULTS.tls
  if (code === 'EAUTH' && /^Missing credentials/.test(message)) return FAULTS.credentials
  if (code === 'EAUTH') return FAULTS.auth
  if (code === 'EPROTOCOL' && command === 'CONN') return FAULTS.greeting
  if (response) return FAULTS.protocol
  if (CONNECT_CODES.includes(code) || /^connection closed/i.test(message)) return FAULTS.connect
  return `other: ${message}`
}

const DESTINATION_TEXTS = {
  blocked_address: 'the server has an address that may not be reached',
  dns: 'the server name was not found',
  dns_local: 'no server name can be resolved at the moment',
} as const

/** Cuts an answer and hides secrets in it, plain or in base64: some servers repeat what they were sent. */
export function withoutSecrets(text: string, { username, password, tokens }: MailboxSmtp): string {
  const short = storable(text, RESPONSE_MAX_LENGTH)
  const spellings = password
    ? [password, `\0${username}\0${password}`].flatMap((one) => [one, Buffer.from(one).toString('base64')])
    : (tokens?.sent ?? [])
  return spellings.reduce((safe, secret) => safe.replaceAll(secret, '***'), short)
}
