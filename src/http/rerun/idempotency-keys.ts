/** The rows behind Idempotency-Key. Every statement that a runner makes names its token: given up for dead, it changes nothing. */
import { createHash } from 'node:crypto'
import type { Connection } from '../../db/transact'
import { ApiError } from '../../errors'
import { inBatches } from '../../flow/batches'
import type { Scope } from '../../scope'

/** A key of a user in the scope's organization, and who wants to run it. */
export type Claim = { user_id: string; key_digest: Uint8Array; token: string }

export type Answer = { status: number; text: string }

export type Kept = {
  request_digest: Uint8Array | null
  status: number | null
  answer: string | null
  is_running: boolean
  /** Nothing was kept by a runner that is gone, or it is 24 hours old: the next one may run. */
  is_free: boolean
}

/** A runner that does not renew its lease for this long is taken for dead. */
const LEASE = '10 seconds'

export function keyDigest(pathname: string, key: string): Buffer {
  return createHash('sha256').update(`${pathname}\n${key}`).digest()
}

export async function findKept({ sql, organization_id }: Scope, claim: Claim): Promise<Kept | undefined> {
  const [kept] = await sql<Kept[]>`
    select request_digest, status, answer, coalesce(lease_until > now(), false) as is_running,
      coalesce(lease_until <= now(), true) and (answer is null or created_at <= now() - interval '24 hours') as is_free
    from idempotency_keys
    where organization_id = ${organization_id} and user_id = ${claim.user_id} and key_digest = ${claim.key_digest}`
  return kept
}

/** Makes the caller the runner of a new or free key; false when another was faster. */
export async function takeClaim(
  { sql, organization_id }: Scope,
  { user_id, key_digest, token }: Claim,
  request_digest: Uint8Array | null,
): Promise<boolean> {
  const taken = await sql`
    insert into idempotency_keys as k (organization_id, user_id, key_digest, request_digest, token, lease_until)
    values (${organization_id}, ${user_id}, ${key_digest}, ${request_digest}, ${token}, now() + ${LEASE}::interval)
    on conflict (organization_id, user_id, key_digest) do update set request_digest = excluded.request_digest,
      token = excluded.token, lease_until = excluded.lease_until, status = null, answer = null, created_at = now()
    where coalesce(k.lease_until <= now(), true)
      and (k.answer is null or k.created_at <= now() - interval '24 hours')
    returning token`
  return taken.length > 0
}

export async function renewLease({ sql, organization_id }: Scope, claim: Claim): Promise<void> {
  await sql`
    update idempotency_keys set lease_until = now() + ${LEASE}::interval
    where organization_id = ${organization_id} and user_id = ${claim.user_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token} and lease_until is not null`
}

/**
 * In the transaction of the change: keeps its answer, if it is known by then, and makes sure that the runner still has
 * the key. @throws SERVICE_UNAVAILABLE, and so rolls back, when another has run it meanwhile
 */
export async function commitAnswer(scope: Scope, claim: Claim, answer: Answer | undefined): Promise<void> {
  const { sql, organization_id } = scope
  const held = await sql`
    update idempotency_keys set status = ${answer?.status ?? null}, answer = ${answer?.text ?? null}
    where organization_id = ${organization_id} and user_id = ${claim.user_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token}
    returning token`
  if (held.length === 0) throw new ApiError('SERVICE_UNAVAILABLE')
}

/** Ends the run with its answer. */
export async function keepAnswer(scope: Scope, claim: Claim, answer: Answer, request_digest: Uint8Array) {
  const { sql, organization_id } = scope
  await sql`
    update idempotency_keys
    set status = ${answer.status}, answer = ${answer.text}, request_digest = ${request_digest}, lease_until = null
    where organization_id = ${organization_id} and user_id = ${claim.user_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token}`
}

/** Ends a run that failed: the next one may try, unless the change was committed before the failure. */
export async function releaseClaim({ sql, organization_id }: Scope, claim: Claim): Promise<void> {
  await sql`
    with failed as (
      delete from idempotency_keys
      where organization_id = ${organization_id} and user_id = ${claim.user_id} and key_digest = ${claim.key_digest}
        and token = ${claim.token} and answer is null
    )
    update idempotency_keys set lease_until = null
    where organization_id = ${organization_id} and user_id = ${claim.user_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token} and answer is not null`
}

const BATCH = 1000

/** Removes what was kept for 24 hours. Returns how many. */
export function removeIdempotencyKeys({ sql }: Connection): Promise<number> {
  return inBatches(BATCH, async () => {
    const { count } = await sql`
      with expired as (
        select organization_id, user_id, key_digest from idempotency_keys
        where created_at <= now() - interval '24 hours' and coalesce(lease_until <= now(), true)
        order by created_at limit ${BATCH} for update skip locked
      )
      delete from idempotency_keys k using expired e
      where k.organization_id = e.organization_id and k.user_id = e.user_id and k.key_digest = e.key_digest`
    return count
  })
}
