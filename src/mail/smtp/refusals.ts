/**
 * Describes replies of the listener that refuse something: a fixed word for each reason, its level and what it means.
 */
import type { SMTPServerSession } from 'smtp-server'

/**
 * Log level and meaning of each reason. An operator can do something about those of level `warn`.
 */
const REASONS = {
  unknown_mailbox: ['info', 'no mailbox has this address'],
  unknown_domain: ['info', 'no mailbox is at this domain'],
  mailbox_inactive: ['warn', 'the mailbox is switched off'],
  domain_not_verified: ['warn', 'the domain of the mailbox is not verified, which MAILBOX_DOMAIN_CHECK asks for'],
  address_of_another: ['warn', 'the mailbox does not have its address: another one had it before'],
  too_large: ['warn', 'the message is larger than SMTP_MAX_BYTES'],
  too_many_recipients: ['info', 'the message has more than 100 recipients; the sender brings the rest in another one'],
  no_space: ['warn', 'DATA_DIR has too little free space'],
  behind: ['warn', 'too many messages wait to be filed'],
  busy: ['warn', 'too many messages are being stored at a time'],
  fault: ['warn', 'the service or its database failed; the line before says why'],
  network: ['warn', 'SMTP_ALLOWED_NETWORKS does not have the address of the client'],
  clients: ['warn', 'SMTP_MAX_CLIENTS connections are open'],
  clients_of_address: ['warn', 'SMTP_MAX_CLIENTS_PER_ADDRESS connections of the client are open'],
  clients_of_network: ['warn', 'a quarter of SMTP_MAX_CLIENTS connections come from the network of the client'],
  proxy_header: ['warn', 'a proxy of SMTP_TRUSTED_PROXIES sent no PROXY header'],
  commands: ['info', 'the client sent too many commands'],
  too_long: ['info', 'the session took too long'],
  silent: ['info', 'the client said nothing for too long'],
  stopping: ['info', 'the service stops; the sender tries again'],
  protocol: ['info', 'the client broke the protocol'],
} as const satisfies Record<string, readonly ['info' | 'warn', string]>

type RefusalReason = keyof typeof REASONS

/** The reasons that a recipient is refused for. */
type RecipientReason =
  | 'unknown_mailbox'
  | 'unknown_domain'
  | 'mailbox_inactive'
  | 'domain_not_verified'
  | 'address_of_another'

/** An address that is no mailbox's, or the mailbox takes no mail. */
export type RefusedRecipient = {
  reason: RecipientReason
  /** Only a domain of ours: where a mailbox is, or that an organization listed. */
  domain: string | null
  organization_id?: string
  mailbox_id?: string
}

/** A refused command, for figures and the log. Holds no address of a person. */
export type SmtpRefusalNote = {
  code: number
  /** Such as `5.1.1` (RFC 3463); null where SMTP has none, as before the greeting. */
  enhanced_code: string | null
  command: SmtpCommand
  reason: RefusalReason
  /** The fault of a PROXY header. */
  detail?: string
  /** The address that counts as the client's. */
  remote_address: string
  /** The name that the client gave itself; any text without control characters. */
  helo: string | null
  tls: boolean
  recipient_domain?: string
  organization_id?: string
  mailbox_id?: string
  /** False for a session that brought no message, such as one that was idle. */
  has_message: boolean
}

/** The message that was refused. Names people: it never reaches the log. */
export type RefusedMail = {
  /** The address of MAIL; empty for the null sender. */
  sender: string
  /** Those that were refused, as RCPT named them. */
  recipients: string[]
  /** The first line that the client was told, with its code. */
  reply: string
}

/** The session of a refusal, as the protocol knows it. */
export type RefusedSession = { id: string } & Pick<RefusedMail, 'sender' | 'reply'>

const COMMANDS = [
  'HELO',
  'EHLO',
  'MAIL',
  'RCPT',
  'DATA',
  'BDAT',
  'STARTTLS',
  'XCLIENT',
  'RSET',
  'NOOP',
  'VRFY',
  'QUIT',
] as const
export type SmtpCommand = (typeof COMMANDS)[number] | 'connect' | 'other'

/** True when the message itself was refused, or a part of it: 503 is that of a command without recipients. */
export function isOfMessage({ command, code }: Pick<SmtpRefusalNote, 'command' | 'code'>): boolean {
  return (command === 'DATA' || command === 'BDAT') && code !== 503
}

/** Words of replies, ours and the library's, in this order. */
const TEXTS: [RegExp, RefusalReason][] = [
  [/^550 .*No such mailbox/, 'unknown_mailbox'],
  [/^552/, 'too_large'],
  [/^452 4\.3\.1/, 'no_space'],
  [/^452/, 'too_many_recipients'],
  [/Too many messages wait/, 'behind'],
  [/Too busy/, 'busy'],
  [/^451/, 'fault'],
  [/^554 .*address are not taken/, 'network'],
  [/Too many connected clients/, 'clients'],
  [/Too many connections from your network/, 'clients_of_network'],
  [/Too many connections from/, 'clients_of_address'],
  [/PROXY header/, 'proxy_header'],
  [/[Tt]oo many .*commands/, 'commands'],
  [/Session too long/, 'too_long'],
  [/Timeout/, 'silent'],
  [/shutting down/, 'stopping'],
]

/** The reason of a reply, such as `550 5.1.1 No such mailbox here`. */
export function reasonOf(reply: string): RefusalReason {
  return TEXTS.find(([text]) => text.test(reply))?.[1] ?? 'protocol'
}

/** The command that a line of a client begins with. */
export function commandOf(line: string): SmtpCommand {
  const [verb] = line
    .slice(0, 10)
    .toUpperCase()
    .split(/[ \r\n]/)
  return COMMANDS.find((command) => command === verb) ?? 'other'
}

/** The meaning of a reason, and how much it matters. Sessions that end without a message are of no interest. */
export function explainReason({ reason, has_message }: SmtpRefusalNote): {
  level: 'debug' | 'info' | 'warn'
  text: string
} {
  const [level, text] = REASONS[reason]
  const is_usual = !has_message && (reason === 'silent' || reason === 'stopping')
  return { level: is_usual ? 'debug' : level, text }
}

/** The words of a session about its client and its message. It has hardly any field before the greeting. */
export function noteOf(session: Partial<SMTPServerSession>): Pick<SmtpRefusalNote, 'helo' | 'tls' | 'has_message'> {
  return {
    helo: session.hostNameAppearsAs ? session.hostNameAppearsAs.slice(0, 100) : null,
    tls: session.secure === true,
    has_message: Boolean(session.envelope?.mailFrom),
  }
}
