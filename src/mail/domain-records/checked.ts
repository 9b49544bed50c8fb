/** What a check of a DNS record tells. */

/** `unknown`: DNS does not tell now. `left`: it is not for the service to say what it should be. */
export type State = 'ok' | 'missing' | 'differs' | 'unknown' | 'left'

/** Of a domain of mailboxes. */
export type MailRecord = Checked & { type: 'MX' | 'TXT'; purpose: 'MX' | 'SPF' | 'DKIM' | 'DMARC' }

/** A record as it should be, and what was found. */
export type Checked = {
  name: string
  type: 'A' | 'MX' | 'TXT' | 'PTR'
  /** Null: nobody here knows it. */
  value: string | null
  purpose: 'MX' | 'SPF' | 'DKIM' | 'DMARC' | 'address' | 'PTR'
  state: State
  /** What the domain publishes for this purpose; null when that is not known. */
  found: string[] | null
  /** What is wrong, or why it is right. */
  note: string
}
