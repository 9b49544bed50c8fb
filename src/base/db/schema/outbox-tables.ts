/** Tables of the outbox, of letters, and of mail that came in. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  primaryKey,
  real,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytes, createdAt, instant } from '../columns'
import { mailboxes } from './mailbox-tables'
import { distributedTable, isOneOf, isStorageKey, reference, referenceTable, tenant } from './table-parts'
import {
  type AUTHENTICATION_RESULTS,
  INBOUND_OUTCOMES,
  type NOTIFY_REASONS,
  OUTBOX_KINDS,
  SPAM_JUDGES,
  THREADING_RULES,
} from './word-lists'

/** When invitations were sent, to count them: a day is kept. */
export const invitation_letters = referenceTable(
  'invitation_letters',
  {
    ...tenant(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    sent_at: instant().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('invitation_letters_organization').on(table.organization_id, table.sent_at),
    index('invitation_letters_address').on(table.email_key, table.sent_at),
  ],
)

/**
 * Mail of the service itself that waits to be sent. A row goes when its letter was sent or given up. One that tells a
 * member of a ticket gathers news until an attempt closes it, and stays for a while, so that the next one waits.
 */
export const letters = distributedTable(
  'letters',
  {
    ...tenant(),
    /** The invitation, the password reset or the ticket. */
    about_id: uuid().notNull(),
    /** The mailbox that sends it; null for the operator's server. */
    mailbox_id: uuid(),
    /** Null for a member, whose address is read when the letter leaves. */
    recipient: text(),
    /**
     * Subject and text with a link that opens an account: encrypted with a key derived from SECRET_KEY. Null for a
     * letter to a member: it is written when it leaves.
     */
    sealed_text: text(),
    member_id: uuid(),
    news: jsonb().$type<{ reason: (typeof NOTIFY_REASONS)[number]; message_id: string | null }[]>(),
    /** Since when it takes no more news. */
    closed_at: instant(),
    expires_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('letters_about').on(table.organization_id, table.about_id),
    uniqueIndex('letters_open')
      .on(table.organization_id, table.member_id, table.about_id)
      .where(sql`${table.closed_at} is null`),
    index('letters_expiry').on(table.expires_at),
  ],
)

/**
 * Work that is left: a row for each webhook delivery to send (id of the delivery), each email to send (id of the
 * message), each inbound email to file (id of the ledger row), each letter to send (its id) and each snoozed ticket to
 * wake (its id). Finished work has no row.
 */
export const outbox = distributedTable(
  'outbox',
  {
    organization_id: uuid().notNull(),
    id: uuid().notNull(),
    kind: text({ enum: OUTBOX_KINDS }).notNull(),
    /** Shares a limit of work in flight: the webhook, the mailbox or the organization. */
    lane_id: uuid().notNull(),
    /** Time when it is due; infinity while it is parked, such as for a failed webhook. */
    run_at: instant().notNull().default(sql`now()`),
    lease_until: instant().notNull().default(sql`'-infinity'`),
    /** Names the claim that holds the lease. Every settle names it too, so that a late worker changes nothing. */
    lease_token: uuid(),
    attempts: integer().notNull().default(0),
    /** Times it was leased; far more than attempts means that it kills its workers. */
    claims: integer().notNull().default(0),
    /** The trace of the request or mail that caused it, for the attempt; null when nothing is traced. */
    traceparent: text(),
    /** Since when it is to be done: faults of a mailbox are tried only for some days. */
    queued_at: instant().notNull().default(sql`now()`),
    /** Place of the event in the order of all (`event_places`), for a delivery of an ordered webhook that waits. */
    place: bigint({ mode: 'bigint' }),
    nth: integer(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('outbox_due').on(table.kind, table.run_at),
    index('outbox_lane').on(table.lane_id, table.run_at),
    index('outbox_waiting').on(table.lane_id, table.place, table.nth).where(sql`${table.run_at} = 'infinity'`),
    check('outbox_kind', isOneOf(table.kind, OUTBOX_KINDS)),
    check('outbox_counts', sql`${table.attempts} >= 0 and ${table.claims} >= 0`),
  ],
)

/** Lanes of the outbox whose mail server is at fault. Their work is parked, and one row tries now and then. */
export const lane_faults = distributedTable(
  'lane_faults',
  {
    organization_id: uuid().notNull(),
    /** The mailbox, or for letters the organization. */
    lane_id: uuid().notNull(),
    /** The last fault, without addresses. */
    error: text().notNull(),
    failing_since: instant().notNull().default(sql`now()`),
    tries: integer().notNull().default(1),
    /** When the next row tries. */
    try_at: instant().notNull(),
    /** The row of the outbox that tried last, or tries now. */
    tried_id: uuid().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.lane_id] })],
)

/** The mail ledger: a row for every message that got a 250, for each organization and delivery. */
export const inbound_messages = distributedTable(
  'inbound_messages',
  {
    ...tenant(),
    mailbox_id: uuid(),
    mailbox_address: text().notNull(),
    /** The address at RCPT, with its +tag. */
    recipient: text().notNull(),
    /** The organization's addresses at RCPT, and once it is filed those of To and Cc; empty in older rows. */
    recipients: text().array().notNull().default(sql`'{}'`),
    /** The keys that a search finds the row by (`base/address/search-keys.ts`); empty in older rows. */
    from_keys: text().array().notNull().default(sql`'{}'`),
    to_keys: text().array().notNull().default(sql`'{}'`),
    /** Empty for the null sender, and for imports; null when an inlet was not told it. */
    envelope_sender: text(),
    /**
     * Address of the client that delivered it over SMTP, or that an inlet was told. Null for imports and rows of older
     * releases, like the next two.
     */
    remote_address: text(),
    /** The name that the client gave in HELO or EHLO. */
    helo: text(),
    /** Delivered over TLS. */
    tls: boolean(),
    /** Address of the trusted relay that connected and named that client by XCLIENT. */
    relay_address: text(),
    /** As in `messages`; null while pending. */
    sender_verified: boolean(),
    authentication: jsonb().$type<Record<'spf' | 'dkim' | 'dmarc' | 'arc', (typeof AUTHENTICATION_RESULTS)[number]>>(),
    email_message_id: text(),
    from_name: text(),
    from_email: text(),
    subject: text(),
    /** As the judge counts; null without a number, or a judge. */
    spam_score: real(),
    spam_by: text({ enum: SPAM_JUDGES }),
    size: bigint({ mode: 'number' }).notNull(),
    outcome: text({ enum: INBOUND_OUTCOMES }).notNull().default('pending'),
    rule: text({ enum: THREADING_RULES }),
    /** The Message-ID or code that led to the ticket; null for other rules, and in rows of older releases. */
    led_by: text(),
    ticket_id: uuid(),
    message_id: uuid(),
    /** Storage key of the raw bytes; null once the retention has removed them. */
    storage_key: text(),
    received_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('inbound_messages_outcome').on(table.organization_id, table.outcome, table.id),
    index('inbound_messages_mailbox').on(table.organization_id, table.mailbox_id, table.id),
    index('inbound_messages_age').on(table.id).where(sql`${table.storage_key} is not null`),
    index('inbound_messages_storage').on(table.storage_key),
    reference('inbound_messages_mailbox', [table.organization_id, table.mailbox_id], mailboxes),
    check('inbound_messages_outcome', isOneOf(table.outcome, INBOUND_OUTCOMES)),
    check('inbound_messages_spam_by', isOneOf(table.spam_by, SPAM_JUDGES)),
    check('inbound_messages_rule', isOneOf(table.rule, THREADING_RULES)),
    check('inbound_messages_storage_key', isStorageKey(table.storage_key, 'inbound')),
  ],
)

/** Mail that was refused for good, at a domain where no other organization has a mailbox; kept for 30 days. */
export const refused_messages = distributedTable(
  'refused_messages',
  {
    ...tenant(),
    /** The address at RCPT. */
    recipient: text().notNull(),
    /** Empty for the null sender. */
    envelope_sender: text().notNull(),
    /** As in the ledger. */
    from_keys: text().array().notNull(),
    to_keys: text().array().notNull(),
    /** The reply to the client, such as `550 5.1.1 No such mailbox here`. */
    smtp_reply: text().notNull(),
    remote_address: text().notNull(),
    helo: text(),
    tls: boolean().notNull(),
    received_at: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.id] })],
)

/** Signed requests of providers that brought mail, which count once (`mail/inlets/taken-requests.ts`). Digests only. */
export const taken_requests = distributedTable(
  'taken_requests',
  {
    organization_id: uuid().notNull(),
    /** SHA-256 of what the provider makes for each request. */
    request_digest: bytes().notNull(),
    /** SHA-256 of the email. */
    mail_digest: bytes().notNull(),
    inbound_message_id: uuid().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ name: 'taken_requests_once', columns: [table.organization_id, table.request_digest] }),
    index('taken_requests_expiry').on(table.expires_at),
  ],
)

/**
 * Fingerprints by which a message is recognized when it is delivered again, and one more of each that repeats the id of
 * another (`mail/inbound/fingerprint.ts`).
 */
export const inbound_fingerprints = distributedTable(
  'inbound_fingerprints',
  {
    organization_id: uuid().notNull(),
    fingerprint: text().notNull(),
    inbound_message_id: uuid().notNull(),
    /** Digests of the texts that came under its Message-ID; null without one, and in rows of older releases. */
    words: text().array(),
    /** A mailing list passed one of the messages on. */
    from_list: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.fingerprint] }),
    index('inbound_fingerprints_message').on(table.organization_id, table.inbound_message_id),
  ],
)
