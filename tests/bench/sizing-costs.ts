/**
 * What `bun run bench sizing` reckons with: bytes of rows and processor time of operations, as they were measured, and
 * what was assumed of a ticket and of machines.
 */

/**
 * How often something happens: for each ticket, inbound mail, answer to a customer, contact, or look of an agent at the
 * inbox.
 */
export type Drivers = { ticket: number; mail: number; answer: number; contact: number; look: number }

type Table = { name: string; bytes: number; kept_days?: number } & Partial<Drivers>

/**
 * Assumed of a ticket, beside its mail, which is a setting. The peak is that of office hours, as a multiple of the
 * average.
 */
export const ASSUMED = { answers_of_ticket: 2, contacts_of_ticket: 0.2, peak: 3 }

/** The console reads the list and the open ticket anew so often, as `EVERY_MS` of its page says. */
export const SECONDS_OF_LOOK = 5

/** Days after which rows go, as the settings are by default. */
const [DELIVERY_DAYS, LEDGER_DAYS] = [30, 730]

/**
 * Bytes of a row with its indexes, PostgreSQL 18. Those of `tickets`, `contacts`, `email_anchors` and `time_entries`
 * are of 100,000 tickets of `bench/volume`. The others are of 500 tickets, each with four mails and two answers of 150
 * words (1 kB) and a webhook that gets every message, after VACUUM FULL.
 */
export const TABLES: Table[] = [
  { name: 'messages', bytes: 3509, mail: 1, answer: 1 },
  { name: 'ticket_search', bytes: 17_154, ticket: 1 },
  { name: 'activities', bytes: 337, ticket: 6, mail: 1, answer: 2 },
  { name: 'email_anchors', bytes: 337, mail: 1, answer: 1 },
  { name: 'tickets', bytes: 730, ticket: 1 },
  { name: 'ticket_labels', bytes: 262, ticket: 2 },
  { name: 'time_entries', bytes: 614, ticket: 0.3 },
  { name: 'contacts, tallies', bytes: 1200, contact: 1 },
  { name: 'message_recipients', bytes: 246, answer: 1 },
  { name: 'attachments', bytes: 524, mail: 0.25 },
  { name: 'inbound_messages, inbound_fingerprints', bytes: 1299, mail: 1, kept_days: LEDGER_DAYS },
  {
    name: 'events, deliveries, delivery_attempts',
    bytes: 2467,
    ticket: 1,
    mail: 1,
    answer: 1,
    kept_days: DELIVERY_DAYS,
  },
]

/** Indexes and tables that are written to for long have free space: disk for each byte of data. */
export const FREE_SPACE = 1.3

/** Milliseconds of processor time: `database` on plain PostgreSQL, `coordinator` and `workers` on a cluster. */
type Operation = Partial<Drivers> & {
  name: string
  service: number
  database: number
  coordinator: number
  workers: number
}

/**
 * Measured by `bun run bench cluster` on two processors that had much other work. One client shares no statement with
 * others, so that many clients cost less: these are upper bounds. An answer is a note and a half, a delivery half a
 * note.
 */
export const OPERATIONS: Operation[] = [
  { name: 'mail, to its ticket', mail: 1, service: 25, database: 11, coordinator: 17, workers: 19 },
  { name: 'answer', answer: 1, service: 7, database: 5.3, coordinator: 6.3, workers: 6.9 },
  { name: 'change of a ticket', ticket: 4, service: 5, database: 3.9, coordinator: 5.3, workers: 5.4 },
  { name: 'list of tickets', answer: 3, service: 2.5, database: 1.6, coordinator: 3.6, workers: 3.9 },
  { name: 'one ticket', answer: 7, service: 2.3, database: 2.5, coordinator: 4.4, workers: 3.7 },
  { name: 'list of tickets, read anew', look: 1, service: 2.5, database: 1.6, coordinator: 3.6, workers: 3.9 },
  // A 304 saves the body and no statement: the tag is that of the row.
  { name: 'open ticket, read anew', look: 1, service: 2.3, database: 2.5, coordinator: 4.4, workers: 3.7 },
  {
    name: 'delivery of a webhook',
    ticket: 1,
    mail: 1,
    answer: 1,
    service: 2.3,
    database: 1.8,
    coordinator: 2.1,
    workers: 2.3,
  },
]

/**
 * Assumed of machines: a worker whose standby can be made anew in a night, and processors that are busy in part at the
 * peak.
 */
export const MACHINES = { worker_gb: 4000, worker_cores: 32, busy: 0.6, shards_of_worker: 16 }
