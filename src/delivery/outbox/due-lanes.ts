/** Finds the lanes that have due work, and keeps them in the order of their turns. */
import { type Among, readOfAll } from '../../base/db/all-organizations'
import { sharedTime } from '../../base/db/shared-time'
import type { Sql } from '../../base/db/transact'
import type { LaneRoom } from './claim'
import type { OutboxJob, OutboxKind } from './job'

export type LaneName = { organization_id: string; lane_id: string }

/** A lane with due work; `failing` when it has work that failed before. */
export type DueLane = LaneName & { failing: boolean; oldest_s: number }

/** Due rows looked at before all of them are. */
const HEAD_ROWS = 1000
/** A limit that removes none: without it the planner takes an index whose finished rows it does not count. */
const ALL_ROWS = 2 ** 31

/**
 * Looking takes at most a twentieth of the time. A look that waited for a connection delays the next by 3 s at most,
 * and the next whole one by 20 s.
 */
const LOOK_EVERY_MS = 20
const LOOK_MOST_MS = 3000
const WHOLE_LOOK_MOST_MS = 20_000
const LOOK_SHARE = 20
/** Work whose transaction took longer to commit, or whose lease ran out, waits for a whole look. */
const COMMIT_MOST_S = 1
/** Work that this process has just given is younger. While a transaction is held open, no claim reads what is older. */
const TOLD_MOST_S = 60

/** The lanes of one kind that have due work, the one whose turn it is first. */
export class DueLanes {
  readonly #sql: Sql
  readonly #kind: OutboxKind
  /** Called when a look that came too early may take place. */
  readonly #onTime: () => void
  /** The lane that was served last is the last. */
  readonly #lanes = new Map<string, DueLane>()
  /** There may be work that the last look did not see. */
  #is_stale = true
  /** Lanes that this process has given work: no look is needed to find them. */
  readonly #told = new Map<string, DueLane>()
  /** Earliest time of the next look, and of a whole one. */
  #look_at_ms = 0
  #whole_look_at_ms = 0
  /** Milliseconds to rest after a look. A whole look can shorten this, but not lengthen it. */
  #rest_ms = LOOK_MOST_MS
  /** Looks that are not whole begin here: before the oldest row that the last look found. */
  #since_s = 0
  /** Waits for that time. */
  #timer: Timer | undefined

  constructor(sql: Sql, kind: OutboxKind, onTime: () => void) {
    this.#sql = sql
    this.#kind = kind
    this.#onTime = onTime
  }

  /** Notes that there may be new work. @param lanes that have it; without them it takes a look */
  expect(lanes?: LaneName[]): void {
    if (!lanes) this.#is_stale = true
    const oldest_s = sharedTime() / 1000 - TOLD_MOST_S
    for (const lane of lanes ?? []) this.#told.set(lane.lane_id, { ...lane, failing: false, oldest_s })
  }

  /** Lets the next look take place at once. */
  hurry(): void {
    this.#look_at_ms = this.#whole_look_at_ms = 0
  }

  /** Ends the wait for the next look. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * The lanes in the order of their turns, after a look when there may be new work and it is time for one. While a
   * transaction is held open a whole look takes long, because what is finished stays in the index: others begin where
   * the last one found work. On a cluster, which asks every part of the table, each look takes long.
   * @param isUnknown tells whether a lane has never been tried
   */
  async look(isUnknown: (lane_id: string) => boolean): Promise<Iterable<DueLane>> {
    if (this.#is_stale) {
      if (performance.now() >= this.#look_at_ms) await this.#lookAtAll(isUnknown)
      else this.#waitForTurn()
    }
    if (this.#told.size > 0) {
      const told = [...this.#told.values()].filter(({ lane_id }) => !this.#lanes.has(lane_id))
      this.#told.clear()
      this.#order([...this.#lanes.values(), ...told], isUnknown)
    }
    return this.#lanes.values()
  }

  async #lookAtAll(isUnknown: (lane_id: string) => boolean): Promise<void> {
    const started_ms = performance.now()
    const is_whole = started_ms >= this.#whole_look_at_ms
    this.#is_stale = false
    try {
      const found = await findDueLanes(this.#sql, this.#kind, is_whole ? 0 : this.#since_s)
      const oldest = found.at(-1)
      if (oldest) this.#since_s = oldest.oldest_s - COMMIT_MOST_S
      this.#order(found, isUnknown)
    } catch (error) {
      this.#is_stale = true
      throw error
    }
    const ended_ms = performance.now()
    const rest_ms = restAfter(ended_ms - started_ms)
    if (is_whole) this.#whole_look_at_ms = ended_ms + Math.min(rest_ms, WHOLE_LOOK_MOST_MS)
    this.#rest_ms = Math.min(rest_ms, is_whole ? this.#rest_ms : LOOK_MOST_MS)
    this.#look_at_ms = ended_ms + this.#rest_ms
  }

  #waitForTurn(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onTime, Math.max(0, this.#look_at_ms - performance.now()))
  }

  /** Puts lanes that were served behind the others, and drops those that had less work than there was room for. */
  serve(rooms: LaneRoom[], jobs: OutboxJob[]): void {
    const found = Map.groupBy(jobs, (job) => job.lane_id)
    for (const { lane_id, room } of rooms) {
      const lane = this.#lanes.get(lane_id)!
      this.#lanes.delete(lane_id)
      if (found.get(lane_id)?.length === room) this.#lanes.set(lane_id, lane)
    }
  }

  /** Unknown lanes come first, once. Lanes that wait already keep their turn; others queue behind them. */
  #order(found: DueLane[], isUnknown: (lane_id: string) => boolean): void {
    const lane_of = new Map(found.map((lane) => [lane.lane_id, lane]))
    const waiting = [...this.#lanes.keys()].flatMap((lane_id) => lane_of.get(lane_id) ?? [])
    const fresh = found.filter((lane) => !this.#lanes.has(lane.lane_id))
    const unknown = fresh.filter((lane) => isUnknown(lane.lane_id))
    const others = fresh.filter((lane) => !isUnknown(lane.lane_id))
    this.#lanes.clear()
    for (const lane of [...unknown, ...waiting, ...others]) this.#lanes.set(lane.lane_id, lane)
  }
}

/**
 * Finds the lanes that have due work. The oldest due rows show all of them, unless there is a backlog. Then all due
 * rows are grouped by lane, so that no backlog of one hides the others.
 *
 * Grouping costs by the row. With 100,000 due rows of 1,000 lanes it took 23 ms, and 9 ms to visit each lane once by a
 * recursive statement (PostgreSQL 18, all in memory, the fastest of 15 runs in turn). A cluster refuses such a
 * statement over all nodes.
 * @param since_s finds what was due since then, in seconds since 1970
 * @returns lanes whose oldest due row is the youngest first: an endpoint that answers is rarely behind
 */
export async function findDueLanes(sql: Sql, kind: OutboxKind, since_s: number): Promise<DueLane[]> {
  const head = await readOfAll(sql, (among) => readLanes(sql, kind, since_s, among, HEAD_ROWS))
  const seen = head.reduce((sum, lane) => sum + lane.rows, 0)
  const lanes =
    seen < HEAD_ROWS ? head : await readOfAll(sql, (among) => readLanes(sql, kind, since_s, among, ALL_ROWS))
  return lanes.sort((a, b) => b.oldest_s - a.oldest_s)
}

function restAfter(duration_ms: number): number {
  return Math.max(LOOK_EVERY_MS, duration_ms * LOOK_SHARE)
}

/** Groups the oldest due rows by lane. @param most rows to look at */
function readLanes(sql: Sql, kind: OutboxKind, since_s: number, among: Among, most: number) {
  return sql<(DueLane & { rows: number })[]>`
    select organization_id, lane_id, bool_or(attempts > 0) as failing, extract(epoch from min(run_at))::float8 as oldest_s,
      count(*) as rows
    from (
      select organization_id, lane_id, attempts, run_at from outbox
      where kind = ${kind} and run_at >= to_timestamp(${since_s}) and run_at <= now() and lease_until <= now() ${among()}
      order by run_at limit ${most}
    ) as oldest
    group by organization_id, lane_id`
}
