/**
 * Fairness: how much of a process each lane (a webhook, a mailbox, an organization) may use. A lane starts with one
 * slot, gets one more with each success and falls back to one with a failure, so a dead endpoint never holds many.
 * Lanes that failed, or keep us waiting just now, are suspects: they share slots of their own, and the others never
 * wait for them.
 */
import { LRUCache } from 'lru-cache'
import type { DueLane, LaneRoom } from './claim'

export type LaneLimits = {
  /** Work in flight for lanes that answer, or are not known yet. */
  slots: number
  /** Work in flight for suspects, and all that was found slow on the way. */
  suspect_slots: number
  /** Work in flight of one lane at most. */
  lane_slots: number
}

/** After this long an attempt holds a suspect's slot, so that hanging endpoints leave the slots of the others. */
const SLOW_MS = 1000
/**
 * Attempts younger than this share few slots: Bun keeps 64 idle connections, and more at a time would close them again
 * and again. Receivers that answer quickly need no more; the others' attempts grow older meanwhile.
 */
const FRESH_MS = 50
const FRESH_SLOTS = 60
/** Attempts found slow on the way can exceed `suspect_slots` this many times before no unknown lane is tried. */
const OVERFLOW = 10
/** Lanes remembered. Forgetting one means that it starts anew. */
const LANES = 20_000

/** What the last attempt of a lane told. */
export type Health = 'good' | 'unknown' | 'suspect'

type Lane = { in_flight: number; limit: number; health: Health }

/** A slot in use. `leave` when the attempt has ended, once; `healthy` undefined says nothing about the lane. */
export type Slot = { leave(healthy: boolean | undefined): void }

export type Lanes = ReturnType<typeof createLanes>

/** @param onRoom there may be room for more although no attempt has ended */
export function createLanes({ slots, suspect_slots, lane_slots }: LaneLimits, onRoom: () => void) {
  const known = new LRUCache<string, Lane>({ max: LANES })
  const in_flight = { trusted: 0, suspect: 0 }
  let fresh = 0

  return {
    health: (lane_id: string): Health => known.get(lane_id)?.health ?? 'unknown',

    /**
     * Shares free slots among lanes that have due work, in their order.
     * @param most rows wanted at most
     */
    share(due: Iterable<DueLane>, most: number): LaneRoom[] {
      const rooms: LaneRoom[] = []
      const free = { trusted: slots - in_flight.trusted, suspect: suspect_slots - in_flight.suspect }
      let strangers = suspect_slots * OVERFLOW - in_flight.suspect
      let left = Math.min(most, FRESH_SLOTS - fresh)
      for (const { lane_id, failing } of due) {
        if (left <= 0 || (free.trusted <= 0 && free.suspect <= 0)) break
        const lane = known.get(lane_id) ?? remember(lane_id, failing)
        const side = sideOf(lane)
        const bound = lane.health === 'unknown' ? Math.min(free[side], strangers) : free[side]
        const room = Math.min(lane.limit - lane.in_flight, bound, left)
        if (room <= 0) continue
        rooms.push({ lane_id, room })
        left -= room
        free[side] -= room
        if (lane.health === 'unknown') strangers -= room
      }
      return rooms
    },

    /** Takes a slot for an attempt that begins now. */
    enter(lane_id: string): Slot {
      const lane = known.get(lane_id) ?? remember(lane_id, false)
      let side = sideOf(lane)
      let left = false
      let is_fresh = true
      lane.in_flight++
      in_flight[side]++
      fresh++
      const leaveFresh = () => {
        if (is_fresh) fresh--
        is_fresh = false
      }
      const aged = setTimeout(() => {
        leaveFresh()
        onRoom()
      }, FRESH_MS)
      const slow = setTimeout(() => {
        lane.health = 'suspect'
        in_flight[side]--
        side = 'suspect'
        in_flight[side]++
      }, SLOW_MS)
      return {
        leave(healthy) {
          if (left) return
          left = true
          clearTimeout(slow)
          clearTimeout(aged)
          leaveFresh()
          lane.in_flight--
          in_flight[side]--
          if (healthy === undefined) return
          lane.health = healthy ? 'good' : 'suspect'
          lane.limit = healthy ? Math.min(lane.limit + 1, lane_slots) : 1
        },
      }
    },
  }

  function remember(lane_id: string, failing: boolean): Lane {
    const lane: Lane = { in_flight: 0, limit: 1, health: failing ? 'suspect' : 'unknown' }
    known.set(lane_id, lane)
    return lane
  }
}

function sideOf({ health }: Lane): 'trusted' | 'suspect' {
  return health === 'suspect' ? 'suspect' : 'trusted'
}
