/** Lets a request wait for the first attempt of the email that it caused, so that its answer can show the outcome. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Scope } from '../../base/scope'
import { outboxWaits } from './hold'

/** The row is read this often, in case another process sends the email. */
const POLL_MS = 250

/** Requests that wait in this process, by the id of the outbox row. */
const waiters = new Map<string, () => void>()

/** Ends the wait for a row of the outbox; workers call it for every attempt that was settled. */
export function announceAttempt(id: string): void {
  waiters.get(id)?.()
}

/** Resolves when the first attempt of an outbox row is settled, and after `timeout_ms` in any case. Never rejects. */
export async function waitForFirstAttempt(scope: Scope, id: string, timeout_ms: number): Promise<void> {
  if (outboxWaits()) return
  const deadline = performance.now() + timeout_ms
  const announced = new Promise<true>((resolve) => waiters.set(id, () => resolve(true)))
  try {
    for (let left = timeout_ms; left > 0; left = deadline - performance.now()) {
      if (await Promise.race([announced, sleep(Math.min(POLL_MS, left), false)])) return
      if (await isTried(scope, id)) return
    }
  } finally {
    waiters.delete(id)
  }
}

/** False also when the database fails: the message is stored, only its outcome is not known yet. */
async function isTried({ sql, organization_id }: Scope, id: string): Promise<boolean> {
  const untried = sql`
    select 1 from outbox where organization_id = ${organization_id} and id = ${id} and attempts = 0
      and run_at < 'infinity'`
  return untried.then(
    (rows) => rows.length === 0,
    () => false,
  )
}
