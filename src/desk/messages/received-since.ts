/** Bounds the rows of the ledger among which that of a message stands: no index has their messages. */
import { firstIdAt } from '../../base/shapes/ids'

/** A day: mail is filed a moment after its ledger row is made, or when a fault has passed. */
const FILED_WITHIN_MS = 86_400_000

/** The lowest id that the ledger's row of a message can have. The highest is that of the message. */
export function receivedSince(message_id: string): string {
  return firstIdAt(Number.parseInt(message_id.replaceAll('-', '').slice(0, 12), 16) - FILED_WITHIN_MS)
}
