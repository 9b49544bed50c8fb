/** What the drain hands to a handler, and what a handler answers. */
import type { Connection } from '../db/transact'

/** A leased row of the outbox. */
export type Job = {
  organization_id: string
  /** Of the delivery (webhook), the message (email) or the ledger row (inbound). */
  id: string
  /** What shares a limit of work in flight: the webhook, the mailbox, the organization. */
  lane_id: string
  /** Attempts that counted, before this one. */
  attempts: number
  /** Times it was leased, this one included, without those that ended without counting. */
  claims: number
  /** Proves the lease: a settle changes nothing once the row has another one. */
  lease_token: string
}

/** The transaction in which jobs are settled, and what is to be done once it has committed (`scope.ts`). */
export type Settlement = Connection & { after_commit: (() => void)[] }

/**
 * Writes a handler's own rows, in the transaction that removes or reschedules the outbox row and only when the lease
 * still holds. Outcomes with the same function are settled together: `rows` are theirs, in any order. It may run again
 * after a lost connection, always in a new transaction.
 */
type Settle = { settle?(settlement: Settlement, rows: unknown[]): Promise<void>; row?: unknown }

export type Outcome = Settle &
  (
    | {
        /** Nothing is left to do: the outbox row goes. */
        type: 'done'
        /** False when the other side failed: its lane gets fewer slots. */
        healthy?: boolean
      }
    | {
        type: 'retry'
        /** Seconds until the next attempt, by the database's clock; null parks it until somebody sets `run_at`. */
        delay_s: number | null
        /** Whether this attempt counts. Faults of our own do not. */
        counts: boolean
        healthy?: boolean
      }
  )

/** Does the work of one job, outside any transaction. What it throws is our own fault (`kinds.ts` says what follows). */
export type Attempt = (job: Job, connection: Connection) => Promise<Outcome>

/**
 * How a kind is worked on. `giveUp` says how a job ends that was leased again and again without an outcome, because it
 * seems to kill its workers: it is not tried any more. It is parked when nothing is said.
 */
export type Handler = Attempt | { attempt: Attempt; giveUp(job: Job): Outcome }

/** `settle` and `row` of an outcome whose rows are written many at a time. */
export function inBatch<Row>(settle: (settlement: Settlement, rows: Row[]) => Promise<void>, row: Row) {
  return { settle: settle as NonNullable<Settle['settle']>, row }
}
