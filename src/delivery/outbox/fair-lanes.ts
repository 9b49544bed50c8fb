/**
 * Limits how much of a process each lane (a webhook, a mailbox, an organization) may use. A lane starts with few slots,
 * gets one more with each success and falls back to few with a failure, so a dead endpoint never holds many. Lanes that
 * failed, or have kept us waiting for long just now, are suspects: they share slots apart, and the other lanes never
 * wait for them.
 *
 * In a prototype with 1,000 dead endpoints and 20,000 rows due, half of the deliveries to endpoints that answer arrived
 * within 0.05 s and 95 % within 2.5 s. When attempts that hang kept the slots of the others, none arrived in 24 s.
 */
import { LRUCache } from 'lru-cache'
import type { LaneRoom } from './claim'
import type { DueLane } from './due-lanes'

export type LaneLimits = {
  /** Work in flight for lanes that answer, or are not known yet. */
  slots: number
  /** Work in flight for suspects, and all attempts that are found slow on the way. */
  suspect_slots: number
  /** Work in flight of one lane at most. */
  lane_slots: number
  /** Work in flight of a lane that is not known yet, or has failed. */
  first_slots: number
  /** Attempts at the same time that are younger than `FRESH_MS`, if not `FRESH_SLOTS`. */
  fresh_slots?: number
}

/** After this time an attempt counts as a suspect's, so that hanging endpoints leave the slots of the others. */
const SLOW_MS = 1000
/**
 * Attempts younger than this share few slots: Bun keeps 64 idle connections, and more at a time would close them again
 * and again. Receivers that answer quickly need no more; attempts at the others grow older meanwhile.
 */
const FRESH_MS = 50
const FRESH_SLOTS = 60
/** Attempts found slow on the way can exceed `suspect_slots` this many times before no unknown lane is tried. */
const OVERFLOW = 10
/** Lanes remembered. A lane that was forgotten starts anew. */
const LANES = 20_000

type Lane = {
  in_flight: number
  /** Slots that it may use now. */
  limit: number
  /** The outcome of its last attempt. */
  health: 'good' | 'unknown' | 'suspect'
}

/** Attempts in flight of all lanes: those of trusted and those of suspected lanes; and how many of all are fresh. */
type InFlight = { trusted: number; suspect: number; fresh: number }

/** Shares the slots of one kind among its lanes. */
export class FairLanes {
  readonly #limits: LaneLimits
  /** Called when there may be room for more although no attempt has ended. */
  readonly #onRoom: () => void
  /** Grows with its lanes: with `max` it has room for all of them at once, which takes 3 ms and half a megabyte. */
  readonly #known = new LRUCache<string, Lane>({ maxSize: LANES, sizeCalculation: () => 1 })
  readonly #in_flight: InFlight = { trusted: 0, suspect: 0, fresh: 0 }

  constructor(limits: LaneLimits, onRoom: () => void) {
    this.#limits = limits
    this.#onRoom = onRoom
  }

  /** No attempt is in flight. */
  get isIdle(): boolean {
    return this.#in_flight.trusted + this.#in_flight.suspect === 0
  }

  /** True for a lane that has not been tried, or was forgotten. */
  isUnknown(lane_id: string): boolean {
    return (this.#known.get(lane_id)?.health ?? 'unknown') === 'unknown'
  }

  /**
   * Shares free slots among lanes that have due work, in their order.
   * @param most rows wanted at most
   */
  share(due: Iterable<DueLane>, most: number): LaneRoom[] {
    const { slots, suspect_slots, fresh_slots = FRESH_SLOTS } = this.#limits
    const { trusted, suspect, fresh } = this.#in_flight
    const free = { trusted: slots - trusted, suspect: suspect_slots - suspect }
    let unknown_most = suspect_slots * OVERFLOW - suspect
    let left = Math.min(most, fresh_slots - fresh)
    const rooms: LaneRoom[] = []
    for (const { organization_id, lane_id, failing, oldest_s } of due) {
      if (left <= 0 || (free.trusted <= 0 && free.suspect <= 0)) break
      const lane = this.#known.get(lane_id) ?? this.#remember(lane_id, failing)
      const side = sideOf(lane)
      const bound = lane.health === 'unknown' ? Math.min(free[side], unknown_most) : free[side]
      const room = Math.min(lane.limit - lane.in_flight, bound, left)
      if (room <= 0) continue
      rooms.push({ organization_id, lane_id, room, oldest_s })
      left -= room
      free[side] -= room
      if (lane.health === 'unknown') unknown_most -= room
    }
    return rooms
  }

  /** Takes a slot for an attempt that begins now. */
  enter(lane_id: string): Slot {
    const lane = this.#known.get(lane_id) ?? this.#remember(lane_id, false)
    return new Slot(lane, this.#limits, this.#in_flight, this.#onRoom)
  }

  #remember(lane_id: string, failing: boolean): Lane {
    const lane: Lane = { in_flight: 0, limit: this.#limits.first_slots, health: failing ? 'suspect' : 'unknown' }
    this.#known.set(lane_id, lane)
    return lane
  }
}

/** A slot in use, from the beginning of an attempt until `leave`. */
export class Slot {
  readonly #lane: Lane
  readonly #limits: LaneLimits
  readonly #in_flight: InFlight
  /** The slots that it takes: those of trusted or of suspect lanes. */
  #side: 'trusted' | 'suspect'
  #is_fresh = true
  #is_left = false
  /** Ends its being fresh. */
  readonly #age_timer: Timer
  /** Makes its lane a suspect. */
  readonly #slow_timer: Timer

  constructor(lane: Lane, limits: LaneLimits, in_flight: InFlight, onRoom: () => void) {
    this.#lane = lane
    this.#limits = limits
    this.#in_flight = in_flight
    this.#side = sideOf(lane)
    lane.in_flight++
    in_flight[this.#side]++
    in_flight.fresh++
    this.#age_timer = setTimeout(() => {
      this.#endFresh()
      onRoom()
    }, FRESH_MS)
    this.#slow_timer = setTimeout(() => this.#suspect(), SLOW_MS)
  }

  /** Frees the slot; later calls do nothing. @param healthy undefined says nothing about the lane */
  leave(healthy: boolean | undefined): void {
    if (this.#is_left) return
    this.#is_left = true
    clearTimeout(this.#slow_timer)
    clearTimeout(this.#age_timer)
    this.#endFresh()
    const lane = this.#lane
    lane.in_flight--
    this.#in_flight[this.#side]--
    if (healthy === undefined) return
    lane.health = healthy ? 'good' : 'suspect'
    lane.limit = healthy ? Math.min(lane.limit + 1, this.#limits.lane_slots) : this.#limits.first_slots
  }

  #endFresh(): void {
    if (this.#is_fresh) this.#in_flight.fresh--
    this.#is_fresh = false
  }

  #suspect(): void {
    this.#lane.health = 'suspect'
    this.#in_flight[this.#side]--
    this.#side = 'suspect'
    this.#in_flight.suspect++
  }
}

function sideOf({ health }: Lane): 'trusted' | 'suspect' {
  return health === 'suspect' ? 'suspect' : 'trusted'
}
