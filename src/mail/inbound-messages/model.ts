/** The mail ledger as the API shows it, and the queries that it takes. */
import { Type } from '@sinclair/typebox'
import { toDomain } from '../../base/address/domains'
import { addressKey, isEmailAddress } from '../../base/address/email'
import { AUTHENTICATION_RESULTS, LEDGER_OUTCOMES, SPAM_JUDGES, THREADING_RULES } from '../../base/db/schema'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'
import {
  Paging,
  query,
  queryFlag,
  queryId,
  queryInstant,
  queryText,
  queryValue,
  queryWord,
} from '../../base/shapes/query'

const OUTCOMES =
  '`pending`: not filed yet; `ticket`, `message`: became one; `bounce`: a report about a message of ours; ' +
  '`unmatched_bounce`: about no message of ours; `duplicate`: filed before; `own`: sent by this service; ' +
  '`unparsed`: became a ticket with the original attached; `spam`: held until it is released; `refused`: it was not taken, and `smtp_reply` says why'

export const InboundMessage = Type.Object({
  id: orNull(Uuid, { description: 'Null: a dry run, which stores nothing' }),
  mailbox: orNull(
    Type.Object({
      id: orNull(Uuid, { description: 'Null once the mailbox is deleted' }),
      address: Type.String({ description: 'Address of the mailbox at that time' }),
    }),
    { description: 'The mailbox that received it' },
  ),
  email_message_id: orNull(Type.String({ description: 'Without angle brackets' })),
  from: orNull(
    Type.Object({
      name: orNull(Type.String({ description: 'The display name' })),
      email: orNull(Type.String({ description: 'Null: there is no usable address' })),
    }),
    { description: 'The sender; null while pending' },
  ),
  envelope_from: orNull(Type.String(), {
    description: 'The address that MAIL named, empty for reports; null for imports',
  }),
  recipients: Type.Array(Type.String(), {
    description: 'Addresses of this organization that RCPT named, and those of To and Cc once it is filed',
  }),
  subject: orNull(Type.String({ description: 'As sent; null while pending, or without one' })),
  size: Type.Integer({ description: 'Bytes of the original; 0 when it was refused' }),
  remote_address: orNull(
    Type.String({ description: 'IP address of the server that delivered it; behind a trusted proxy, of its client' }),
    { description: 'Null: imported, or taken by a release that did not keep it. The same holds for `helo` and `tls`' },
  ),
  helo: orNull(Type.String({ description: 'What that server called itself in HELO or EHLO' })),
  tls: orNull(Type.Boolean({ description: 'Whether it came over TLS' })),
  sender_verified: orNull(Type.Boolean(), {
    description:
      'True: DMARC proves the sender; false: DMARC fails, and the domain wants such mail to be quarantined or rejected, or `From` is ambiguous; null: it cannot be told, or is still pending',
  }),
  authentication: orNull(
    Type.Object({
      spf: oneOf(AUTHENTICATION_RESULTS, { description: 'Of the server that delivered it (RFC 7208)' }),
      dkim: oneOf(AUTHENTICATION_RESULTS, { description: '`pass` when one of several signatures passes' }),
      dmarc: oneOf(AUTHENTICATION_RESULTS, { description: 'Of the domain of From (RFC 7489)' }),
      arc: oneOf(AUTHENTICATION_RESULTS, { description: 'Of the servers that passed it on (RFC 8617)' }),
    }),
    { description: 'Results in the words of RFC 8601; null while pending, or when it was not checked' },
  ),
  spam_score: orNull(Type.Number(), { description: 'As the judge counts; null without a number, or a judge' }),
  spam_by: orNull(oneOf(SPAM_JUDGES), {
    description:
      'Who said if it is spam: your relay, rspamd, or a rule of yours (`/sender-rules`); null: nobody. `repeat`: ' +
      'its sender repeated Message-IDs with other texts, more than 20 in an hour',
  }),
  received_at: Instant,
  outcome: oneOf(LEDGER_OUTCOMES, { description: OUTCOMES }),
  smtp_reply: orNull(Type.String(), { description: 'What the sender was told when it was refused; else null' }),
  rule: orNull(oneOf(THREADING_RULES), {
    description:
      'What led to the ticket; `message_id`: a reply to it that arrived before; `new`: nothing did, so a ticket was made',
  }),
  ticket_id: orNull(Uuid, { description: 'The ticket that it became or joined' }),
  message_id: orNull(Uuid, { description: 'The message that it became; of a bounce the one that it is about' }),
})
export type InboundMessage = typeof InboundMessage.static

const ADDRESS = 'An address, or `@` and a domain'

/** An address, or `@domain`: a key of the ledger (`base/address/search-keys.ts`). */
export function queryAddress(description: string) {
  const decode = (text: string) => {
    const address = text.trim()
    const is_valid = address.startsWith('@') ? toDomain(address.slice(1)) !== undefined : isEmailAddress(address)
    return is_valid ? addressKey(address) : undefined
  }
  return queryValue({ type: 'string' }, decode, { fault: 'must be an address, or @ and a domain', description })
}

export const InboundFilter = query({
  outcome: queryWord(LEDGER_OUTCOMES),
  mailbox_id: queryId(),
  from: queryAddress(`${ADDRESS}, of From or of the envelope`),
  to: queryAddress(`${ADDRESS}, of To, Cc or the envelope`),
  subject: queryText({ description: 'Words of the subject; all must be in it' }),
  email_message_id: queryText({ description: 'The Message-ID, with or without angle brackets' }),
  received_after: queryInstant(),
  received_before: queryInstant(),
  include_refused: queryFlag({ description: 'Also mail that was refused for good in the last 30 days. Default false' }),
  ...Paging,
})
export type InboundFilter = typeof InboundFilter.static

export const InboundOptions = query({
  mailbox_id: queryValue({ type: 'string', format: 'uuid' }, (text) => text, {
    not_found: 'MAILBOX_NOT_FOUND',
    description: 'Required: the mailbox that is to have received it',
  }),
  dry_run: queryFlag({ description: 'Only say what it would become, and store nothing' }),
})
export type InboundOptions = typeof InboundOptions.static
