/** Settings of connections to the SMTP servers of mailboxes: those of one mailbox, and those of every connection. */
import { readFileSync } from 'node:fs'
import type { PortNetwork } from '../../base/address/networks'
import { config } from '../../base/config'

/** The server of a mailbox, with the password in plain text. */
export type MailboxSmtp = {
  host: string
  port: number
  /** `none` never encrypts, `starttls` insists on it, `tls` starts with it. */
  security: 'none' | 'starttls' | 'tls'
  username?: string | null
  password?: string | null
  /** Signs in with these instead of a password. */
  tokens?: TokenSource | null
}

/** Where the access tokens of a mailbox come from. */
export type TokenSource = {
  /** Another one when the settings have changed. */
  version: string
  /** Gives a token. @param refused one that the server has refused: another one is fetched @throws TokenError */
  get: (refused?: string) => Promise<string>
  /** The credentials that were sent lately. */
  sent: string[]
}

/** Settings that hold for every mailbox. */
export type SendOptions = {
  /** Networks that may be reached although not public. */
  allowed: PortNetwork[]
  /** PEM of an authority that is trusted besides those of the system. */
  ca?: string
  /** The name this host greets with. */
  hostname?: string
  timeouts?: Partial<SmtpTimeouts>
}

export type SmtpTimeouts = {
  /** Limit of lookup, connection and, with `tls`, the handshake. */
  connect_ms: number
  /** Limit of the server's first line. */
  greeting_ms: number
  /** Limit of every answer of the server, also while it decides on the message. */
  silence_ms: number
}

let authority: { file: string; ca: string } | undefined

/** Reads the settings of this service that hold for every connection. */
export function sendOptions(): SendOptions {
  const file = config.MAIL_CA_FILE
  if (file !== authority?.file) authority = file ? { file, ca: readFileSync(file, 'utf8') } : undefined
  return { allowed: config.MAIL_ALLOWED_NETWORKS, ca: authority?.ca, hostname: config.SMTP_HOSTNAME }
}
