/** Types of the outbox: what a worker hands to a handler, and what a handler answers. */
import type { OUTBOX_KINDS } from '../../base/db/schema'
import type { Connection } from '../../base/db/transact'

export type OutboxKind = (typeof OUTBOX_KINDS)[number]

/** A leased row of the outbox. */
export type OutboxJob = {
  organization_id: string
  /** Id of the delivery (webhook), the message (email) or the ledger row (inbound). */
  id: string
  /** Id of what shares a limit of work in flight: the webhook, the mailbox, the organization. */
  lane_id: string
  /** Attempts that counted, before this one. */
  attempts: number
  /** Times it was leased, this one included, without those that ended without counting. */
  claims: number
  /** The trace of what caused it. */
  traceparent: string | null
  /** Proves the lease: a settle changes nothing once the row has another one. */
  lease_token: string
  /** When it came due, on the clock of `performance.now()`; null for a parked row that was leased by hand. */
  due_ms: number | null
}

/**
 * The transaction in which jobs of one organization are settled, and what is to be done once it has committed
 * (`scope.ts`).
 */
export type Settlement = Connection & {
  organization_id: string
  /** The database's time in this transaction, in seconds since 1970; null when no job is tried again. */
  now_s: number | null
  after_commit: (() => void)[]
}

/** Rows of one kind, written by one call for all jobs of an organization that are settled together. */
type Batch<Row> = {
  write(settlement: Settlement, rows: Row[]): Promise<void>
  row: Row
  /** Batches with the same line are written one after the other: what comes meanwhile makes the next one. */
  line?: string
}

/**
 * The writes of a handler, in the transaction that removes or reschedules the outbox row, and only when the lease
 * still holds. It may run again after a lost connection, always in a new transaction.
 *
 * `settle` has a transaction for this job alone. With `batch`, outcomes that have the same `write` (and the same
 * `line`) share a transaction when they are of the same organization: it gets their rows, in any order.
 */
type OwnRows =
  | { settle?(settlement: Settlement): Promise<void>; batch?: undefined }
  | { batch: Batch<unknown>; settle?: undefined }

/**
 * The end of an attempt. `release` is called once it was written, or dropped: it frees what the attempt holds.
 * `healthy` tells if the other side works: its lane gets more slots, or fewer.
 */
export type Outcome = OwnRows & { release?: () => void } & (
    | {
        /** Nothing is left to do: the outbox row is removed. */
        type: 'done'
        /** True by default. */
        healthy?: boolean
      }
    | {
        type: 'retry'
        /** Seconds until the next attempt, by the database's clock; null parks it until somebody sets `run_at`. */
        delay_s: number | null
        /** True when this attempt counts. Faults of our own do not. */
        counts: boolean
        /** By default false when the attempt counts; else it says nothing about the lane. */
        healthy?: boolean
      }
  )

/** Does the work of one job, outside any transaction. What it throws is a fault of our own (see `kinds.ts`). */
export type OutboxAttempt = (job: OutboxJob, connection: Connection) => Promise<Outcome>

/**
 * The work of a kind. `giveUp` ends a job that was leased again and again without an outcome, because it seems to
 * kill its workers. Without `giveUp` such a job is parked.
 */
export type OutboxHandler = OutboxAttempt | { attempt: OutboxAttempt; giveUp: OutboxGiveUp }

/** Ends a job outside any transaction, like an attempt. */
export type OutboxGiveUp = (job: OutboxJob, connection: Connection) => Outcome | Promise<Outcome>

/** The part of an outcome whose rows are written many at a time. @param line as in `Batch` */
export function inBatch<Row>(
  write: (settlement: Settlement, rows: Row[]) => Promise<void>,
  row: Row,
  line?: string,
): { batch: Batch<unknown> } {
  const batch: Batch<Row> = { write, row, line }
  return { batch }
}
