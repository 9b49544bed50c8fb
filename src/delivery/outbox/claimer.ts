/** Leases rows for one worker: a statement for each organization, some of them at the same time. */
import { noteAway } from '../../base/db/all-organizations'
import { requireMachine } from '../../base/db/cluster/away'
import { newId } from '../../base/db/columns'
import type { Sql } from '../../base/db/transact'
import { isNodeAway } from '../../base/db/violations'
import { turns } from '../../base/flow/turns'
import { claim, type LaneRoom, LEASE_S, releaseToken } from './claim'
import type { OutboxJob, OutboxKind } from './job'

/** Statements at the same time. */
const AT_ONCE = 4
/** While a node of the database is away, leases on it are released at this distance. */
const RELEASE_EVERY_MS = 1000

/** A claim that was sent and not answered. Its leases run out at `until_ms`. */
type Unanswered = { organization_id: string; lease_token: string; release_ms: number; until_ms: number }

export class Claimer {
  readonly #sql: Sql
  readonly #kind: OutboxKind
  readonly #unanswered = new Set<Unanswered>()

  constructor(sql: Sql, kind: OutboxKind) {
    this.#sql = sql
    this.#kind = kind
  }

  /**
   * Leases rows of lanes, and hands over those of each organization as soon as it has them. An organization whose node
   * is away gets none, and delays no other.
   * @throws the first other error, once all statements have ended
   */
  async take(rooms: LaneRoom[], handOver: (jobs: OutboxJob[]) => void): Promise<void> {
    const inTurn = turns(AT_ONCE)
    const errors: unknown[] = []
    const claims = [...Map.groupBy(rooms, ({ organization_id }) => organization_id)].map(([organization_id, lanes]) =>
      inTurn(() => this.#claim(organization_id, lanes)).then(handOver, (error) => void errors.push(error)),
    )
    await Promise.all(claims)
    for (const error of errors) {
      if (!isNodeAway(error)) throw error
      noteAway(error)
    }
  }

  async #claim(organization_id: string, lanes: LaneRoom[]): Promise<OutboxJob[]> {
    requireMachine(organization_id)
    const now_ms = performance.now()
    const sent = { organization_id, lease_token: newId(), release_ms: now_ms, until_ms: now_ms + LEASE_S * 1000 }
    this.#unanswered.add(sent)
    const jobs = await claim(this.#sql, this.#kind, organization_id, lanes, sent.lease_token)
    this.#unanswered.delete(sent)
    return jobs
  }

  /** Releases what was leased by claims without an answer. @throws when the database cannot be reached */
  async releaseLost(): Promise<void> {
    const now_ms = performance.now()
    for (const sent of this.#unanswered) {
      if (sent.release_ms > now_ms) continue
      sent.release_ms = now_ms + RELEASE_EVERY_MS
      try {
        requireMachine(sent.organization_id)
        if (sent.until_ms > now_ms) await releaseToken(this.#sql, this.#kind, sent.organization_id, sent.lease_token)
        this.#unanswered.delete(sent)
      } catch (error) {
        if (!isNodeAway(error)) throw error
      }
    }
  }
}
