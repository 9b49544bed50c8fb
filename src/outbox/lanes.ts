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
/** Found slow on the way, attempts can exceed `suspect_slots` this many times before nothing new is begun. */
const OVERFLOW = 10
/** Lanes remembered. Forgetting one means that it starts anew. */
const LANES = 20_000

type Lane = { in_flight: number; limit: number; suspect: boolean }

/** A slot in use. `leave` when the attempt has ended, once; `healthy` undefined says nothing about the lane. */
export type Slot = { leave(healthy: boolean | undefined): void }

export type Lanes = ReturnType<typeof createLanes>

export function createLanes({ slots, suspect_slots, lane_slots }: LaneLimits) {
  const known = new LRUCache<string, Lane>({ max: LANES })
  const in_flight = { trusted: 0, suspect: 0 }

  return {
    /**
     * Shares free slots among lanes that have due work, in their order.
     * @param most rows wanted at most
     */
    share(due: Iterable<DueLane>, most: number): LaneRoom[] {
      const rooms: LaneRoom[] = []
      const overflow = suspect_slots * OVERFLOW - in_flight.suspect
      let trusted = Math.min(slots - in_flight.trusted, overflow, most)
      let suspect = Math.min(suspect_slots - in_flight.suspect, most)
      for (const { lane_id, failing } of due) {
        if (trusted <= 0 && suspect <= 0) break
        const lane = known.get(lane_id) ?? remember(lane_id, failing)
        const room = Math.min(lane.limit - lane.in_flight, lane.suspect ? suspect : trusted, most)
        if (room <= 0) continue
        rooms.push({ lane_id, room })
        most -= room
        if (lane.suspect) suspect -= room
        else trusted -= room
        if (most <= 0) break
      }
      return rooms
    },

    /** Takes a slot for an attempt that begins now. */
    enter(lane_id: string): Slot {
      const lane = known.get(lane_id) ?? remember(lane_id, false)
      let side: keyof typeof in_flight = lane.suspect ? 'suspect' : 'trusted'
      let left = false
      lane.in_flight++
      in_flight[side]++
      const slow = setTimeout(() => {
        lane.suspect = true
        in_flight[side]--
        side = 'suspect'
        in_flight[side]++
      }, SLOW_MS)
      return {
        leave(healthy) {
          if (left) return
          left = true
          clearTimeout(slow)
          lane.in_flight--
          in_flight[side]--
          if (healthy === undefined) return
          lane.suspect = !healthy
          lane.limit = healthy ? Math.min(lane.limit + 1, lane_slots) : 1
        },
      }
    },

    in_flight,
  }

  function remember(lane_id: string, failing: boolean): Lane {
    const lane = { in_flight: 0, limit: 1, suspect: failing }
    known.set(lane_id, lane)
    return lane
  }
}
