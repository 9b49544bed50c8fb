/** Limits and delays of each kind of work. Kinds share no slots, so that slow webhooks never delay email. */
import type { LaneLimits } from './fair-lanes'
import type { OutboxJob, OutboxKind, Outcome } from './job'

type KindRules = LaneLimits & {
  /** The outcome when an attempt ends by a fault of our own: an exception, or rows that cannot be written. */
  afterFault(job: OutboxJob): Outcome
}

/** Delay after a fault of our own (no network, no file descriptors), which is not counted as an attempt. */
export const OWN_FAULT_DELAY_S = 60
/** Delays between attempts to file mail; the last one repeats without end, because accepted mail is never given up. */
const INBOUND_DELAYS_S = [5, 30, 120, 600]

export const KINDS: Record<OutboxKind, KindRules> = {
  webhook: { slots: 256, suspect_slots: 110, lane_slots: 16, first_slots: 1, afterFault: uncounted },
  email: { slots: 30, suspect_slots: 10, lane_slots: 4, first_slots: 1, afterFault: uncounted },
  letter: { slots: 10, suspect_slots: 4, lane_slots: 2, first_slots: 1, afterFault: uncounted },
  // Those of an organization, which is a lane, are woken together: its slots are for what gathers meanwhile. With few
  // fresh ones no more than 1,200 a second were woken.
  wake: { slots: 512, suspect_slots: 512, lane_slots: 256, first_slots: 128, fresh_slots: 512, afterFault: uncounted },
  promise: {
    slots: 512,
    suspect_slots: 512,
    lane_slots: 256,
    first_slots: 128,
    fresh_slots: 512,
    afterFault: uncounted,
  },
  draft: { slots: 16, suspect_slots: 16, lane_slots: 8, first_slots: 4, afterFault: uncounted },
  rule: { slots: 32, suspect_slots: 16, lane_slots: 4, first_slots: 2, afterFault: uncounted },
  // Messages of an organization, which is a lane, are filed together: its slots are for those that are prepared while a
  // transaction files others. One that waits for DNS, or takes long to parse, holds a slot and no connection. As many
  // slots are left for others.
  inbound: {
    slots: 512,
    suspect_slots: 512,
    lane_slots: 256,
    first_slots: 16,
    afterFault: ({ attempts }) => ({ type: 'retry', delay_s: INBOUND_DELAYS_S[attempts] ?? 600, counts: true }),
  },
}

function uncounted(): Outcome {
  return { type: 'retry', delay_s: OWN_FAULT_DELAY_S, counts: false }
}
