/** Places in the order of an organization's events, and the cursors that stand for them. */
import { cursorOf, type ListIdentity, positionOf } from '../../base/shapes/cursor'
import type { StreamFilter } from './model'

/** A place behind an event: what follows has a higher one. `place` has all its digits, as text. */
export type Place = { place: string; nth: number }

/** A place behind all events of a commit. */
export const LAST_NTH = 2_147_483_647

/** Compares two places, as `sort` asks for it. */
export function compare(a: Place, b: Place): number {
  const [left, right] = [BigInt(a.place), BigInt(b.place)]
  return left === right ? a.nth - b.nth : left < right ? -1 : 1
}

/** Writes the cursor of a place. It is good for these filters, whoever reads, by a page or a stream. */
export function cursorAt(organization_id: string, filter: StreamFilter, epoch: string, { place, nth }: Place): string {
  return cursorOf(identityOf(organization_id, filter), [epoch, place, nth])
}

/** @throws VALIDATION_ERROR when it was not made for these filters */
export function placeOf(organization_id: string, filter: StreamFilter, cursor: string): Place & { epoch: string } {
  const [epoch, place, nth] = positionOf(identityOf(organization_id, filter), cursor, 3)
  return { epoch: String(epoch), place: String(place), nth: Number(nth) }
}

function identityOf(organization_id: string, { types, resource_ids }: StreamFilter): ListIdentity {
  return { organization_id, name: 'events', filter: { types, resource_ids } }
}
