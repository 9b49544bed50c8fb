/** The result of a check of a DNS record. */

/** `unknown`: DNS does not tell now. `left`: it is not for the service to say what it should be. */
export type State = 'ok' | 'missing' | 'differs' | 'unknown' | 'left'

/** The records of a domain of mailboxes. */
export type MailRecord = Checked & { type: 'MX' | 'TXT'; purpose: 'MX' | 'SPF' | 'DKIM' | 'DMARC' }

/** A record as it should be, and what was found. */
export type Checked = {
  name: string
  type: 'A' | 'MX' | 'TXT' | 'PTR'
  /** Null: nobody here knows it. */
  value: string | null
  purpose: 'MX' | 'SPF' | 'DKIM' | 'DMARC' | 'address' | 'PTR'
  state: State
  /** The record that the domain publishes for this purpose; null when that is not known. */
  found: string[] | null
  /** The fault, or why it is right. */
  note: string
}
