/** Properties of every answer: never a fault of ours, always one that the document allows. */
import { expect } from 'bun:test'
import fc from 'fast-check'
import type { Answer } from './api'
import { readEndpoints } from './endpoints'
import { anyRequest, createPlayground, type GeneratedRequest } from './requests'
import { withSettings } from './settings'

/**
 * Sends generated requests to the API that `startApi` started. Returns how often each status was answered.
 * @throws Error with the request, the seed and the answer, for the simplest request that breaks the property
 */
export async function tryRequests(options: { requests: number; seed: number }): Promise<Record<string, number>> {
  // Nothing sends here.
  using _ = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  const playground = createPlayground()
  const statuses: Record<string, number> = {}
  const property = fc.asyncProperty(anyRequest(await readEndpoints()), async (request) => {
    const answer = await playground.send(request)
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    expectAllowed(request, answer)
  })
  await fc.assert(property, { numRuns: options.requests, seed: options.seed })
  return statuses
}

function expectAllowed({ endpoint }: GeneratedRequest, { status, body, text }: Answer) {
  const what = `${endpoint.name} answered ${status} ${text.slice(0, 500)}`
  if (status === 500) throw new Error(`a fault of ours: ${what}`)
  if (!endpoint.statuses.includes(status)) throw new Error(`not documented: ${what}`)
  if (status === 204 && text !== '') throw new Error(`content in spite of 204: ${what}`)
  // A range that cannot be satisfied has no envelope.
  if (status < 400 || status === 416) return
  const error = { code: expect.stringMatching(/^[A-Z_]+$/), message: expect.any(String), details: expect.any(Object) }
  expect([what, body]).toEqual([what, { error }])
}
