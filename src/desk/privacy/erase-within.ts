/** Answers the request that erases a person in time: an erasure that takes longer goes on after its answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../base/errors'
import { log, safeError } from '../../base/log'
import type { Scope } from '../../base/scope'
import { erasePerson } from './erase-person'
import type { Erasure } from './model'

/** Proxies give up a request after 30 to 60 seconds. */
const ANSWER_MOST_MS = 25_000
const ASK_AGAIN_S = 10

/** Erasures of this process, by organization and contact. A request for one that runs waits for it. */
const running = new Map<string, Promise<Erasure>>()

/**
 * Erases a contact, or waits for the erasure that runs.
 * @throws CONTACT_NOT_FOUND; SERVICE_UNAVAILABLE when it takes longer than `most_ms`: it goes on
 */
export async function eraseWithin(scope: Scope, contact_id: string, most_ms = ANSWER_MOST_MS): Promise<Erasure> {
  const key = `${scope.organization_id} ${contact_id}`
  const erasing = running.get(key) ?? start(key, erasePerson(scope, contact_id))
  const answered = new AbortController()
  try {
    const erasure = await Promise.race([erasing, sleep(most_ms, undefined, { signal: answered.signal })])
    if (erasure) return erasure
  } finally {
    answered.abort()
  }
  erasing.catch((error) => log.warn({ contact_id, error: safeError(error) }, 'an erasure failed after its answer'))
  const reason = 'The person is still being erased. Ask again until the answer is 404'
  throw new ApiError('SERVICE_UNAVAILABLE', { reason }, undefined, ASK_AGAIN_S)
}

function start(key: string, erasing: Promise<Erasure>): Promise<Erasure> {
  running.set(key, erasing)
  const end = () => void running.delete(key)
  erasing.then(end, end)
  return erasing
}
