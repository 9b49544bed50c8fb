/** Words and colours of the mail ledger. */
import { t } from '../words/catalogue'

export const OUTCOME_DOT: Record<string, string> = {
  ticket: 'open',
  message: 'sent',
  pending: 'queued',
  unparsed: 'failed',
  bounce: 'bounced',
  spam: 'queued',
  refused: 'failed',
}

/** In words what the checks say of a sender. */
export function senderWords(sender_verified: boolean | null): string {
  return t(sender_verified === null ? 'sender.unknown' : sender_verified ? 'sender.verified' : 'sender.forged')
}
