/** Makes the tokens in the URLs of inlets. Pure. */
import { createHash, randomBytes } from 'node:crypto'
import type { INLET_PROVIDERS } from '../../base/db/schema'

const FORM = /^[A-Za-z0-9_-]{43}(?:-mime)?$/

/** Makes a token of 256 random bits. Mailgun sends originals only to URLs that end with `mime`. */
export function newToken(provider: (typeof INLET_PROVIDERS)[number]): string {
  return randomBytes(32).toString('base64url') + (provider === 'mailgun' ? '-mime' : '')
}

/** Tells whether a text has the form of a token. */
export function isToken(text: string): boolean {
  return FORM.test(text)
}

/** Returns what the database stores of a token: its SHA-256. */
export function hashToken(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
