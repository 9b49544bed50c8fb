/** Answers the request that erases a person in time: an erasure that takes longer goes on after its answer. */
import type { Scope } from '../../base/scope'
import { within } from '../deeds/deeds'
import { erasePerson } from './erase-person'
import type { Erasure } from './model'

/**
 * Erases a contact, or waits for the erasure that runs.
 * @throws CONTACT_NOT_FOUND; SERVICE_UNAVAILABLE when it takes longer than `most_ms`: it goes on
 */
export function eraseWithin(scope: Scope, contact_id: string, most_ms?: number): Promise<Erasure> {
  return within(erasePerson(scope, contact_id), most_ms)
}
