/** How the kinds of work differ. Each has slots of its own, so that slow webhooks never delay email. */

import type { LaneLimits } from './fair-lanes'
import type { Job, Outcome } from './job'
import type { OutboxKind } from './wake'

type KindRules = LaneLimits & {
  /** What follows when an attempt ends by a fault of our own: an exception, or rows that cannot be written. */
  afterFault(job: Job): Outcome
}

/** Faults of our own (no network, no file descriptors) say nothing about the receiver: tried again, not counted. */
export const OWN_FAULT_DELAY_S = 60
/** Mail that was accepted is tried again for ever. */
const INBOUND_DELAYS_S = [5, 30, 120, 600]

export const KINDS: Record<OutboxKind, KindRules> = {
  webhook: { slots: 256, suspect_slots: 110, lane_slots: 16, afterFault: uncounted },
  email: { slots: 30, suspect_slots: 10, lane_slots: 4, afterFault: uncounted },
  // Filing holds a connection of the pool for a transaction each. Two that take long to parse leave others room.
  inbound: {
    slots: 6,
    suspect_slots: 4,
    lane_slots: 6,
    afterFault: ({ attempts }) => ({ type: 'retry', delay_s: INBOUND_DELAYS_S[attempts] ?? 600, counts: true }),
  },
}

function uncounted(): Outcome {
  return { type: 'retry', delay_s: OWN_FAULT_DELAY_S, counts: false }
}
