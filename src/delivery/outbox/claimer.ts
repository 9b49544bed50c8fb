/** Leases rows for one worker: a statement for each organization, some of them at the same time. */
import { inEach } from '../../base/db/all-organizations'
import { newId } from '../../base/db/columns'
import type { Sql } from '../../base/db/transact'
import { claim, type LaneRoom, LEASE_S, releaseToken } from './claim'
import type { OutboxJob, OutboxKind } from './job'

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
    const lanes = Map.groupBy(rooms, ({ organization_id }) => organization_id)
    await inEach(lanes.keys(), async (organization_id) =>
      handOver(await this.#claim(organization_id, lanes.get(organization_id)!)),
    )
  }

  async #claim(organization_id: string, lanes: LaneRoom[]): Promise<OutboxJob[]> {
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
    const due = [...this.#unanswered].filter(({ release_ms }) => release_ms <= now_ms)
    for (const sent of due) {
      sent.release_ms = now_ms + RELEASE_EVERY_MS
      await inEach([sent.organization_id], async () => {
        if (sent.until_ms > now_ms) await releaseToken(this.#sql, this.#kind, sent.organization_id, sent.lease_token)
        this.#unanswered.delete(sent)
      })
    }
  }
}
