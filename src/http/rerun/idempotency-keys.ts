/**
 * Reads and writes the rows behind Idempotency-Key. The request that runs a key holds it by a token and a lease. Each
 * of its statements names the token, so that it changes nothing more when its lease has ended and another request runs.
 */
import { createHash } from 'node:crypto'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'

/** The key of a user or API key in the scope's organization, with the token of the request that wants to run it. */
export type Claim = { caller_id: string; key_digest: Uint8Array; token: string }

/** An answer that was given: its status and its JSON. */
export type Answer = { status: number; text: string }

/** The stored columns of a key. */
export type Kept = {
  /** The content of the first request; null until a body that is not JSON has been read. */
  request_digest: Uint8Array | null
  status: number | null
  answer: string | null
  is_running: boolean
  /** True when the next request may run: the last one left no answer, or its answer is 24 hours old. */
  is_free: boolean
}

/** A request that has not renewed its lease for this long counts as dead. */
const LEASE = '10 seconds'

/** Returns what stands for a key in the table: the hash of the path and the key. */
export function keyDigest(pathname: string, key: string): Buffer {
  return createHash('sha256').update(`${pathname}\n${key}`).digest()
}

/** Returns what is stored of a key. */
export async function findKept({ sql, organization_id }: Scope, claim: Claim): Promise<Kept | undefined> {
  const [kept] = await sql<Kept[]>`
    select request_digest, status, answer, coalesce(lease_until > now(), false) as is_running,
      coalesce(lease_until <= now(), true) and (answer is null or created_at <= now() - interval '24 hours') as is_free
    from idempotency_keys
    where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}`
  return kept
}

/** Takes a new or free key. Returns false when another request was faster. */
export async function takeClaim(
  { sql, organization_id }: Scope,
  { caller_id, key_digest, token }: Claim,
  request_digest: Uint8Array | null,
): Promise<boolean> {
  const taken = await sql`
    insert into idempotency_keys as k (organization_id, user_id, key_digest, request_digest, token, lease_until, created_at)
    values (${organization_id}, ${caller_id}, ${key_digest}, ${request_digest}, ${token}, now() + ${LEASE}::interval, now())
    on conflict (organization_id, user_id, key_digest) do update set request_digest = excluded.request_digest,
      token = excluded.token, lease_until = excluded.lease_until, status = null, answer = null, created_at = excluded.created_at
    where (k.lease_until is null or k.lease_until <= excluded.created_at)
      and (k.answer is null or k.created_at at time zone 'UTC' <= excluded.created_at at time zone 'UTC' - interval '24 hours')
    returning token`
  return taken.length > 0
}

/** Renews the lease, as long as the request still holds the key. */
export async function renewLease({ sql, organization_id }: Scope, claim: Claim): Promise<void> {
  await sql`
    update idempotency_keys set lease_until = now() + ${LEASE}::interval
    where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token} and lease_until is not null`
}

/**
 * Keeps the answer in the transaction of its change, so that no crash can separate the two. Without an answer it only
 * checks that the request still holds the key.
 * @param run whether the run ends with the commit, or goes on
 * @throws SERVICE_UNAVAILABLE, which rolls the change back, when another request has taken the key
 */
export async function commitAnswer(
  scope: Scope,
  claim: Claim,
  answer: Answer | undefined,
  run: 'ends' | 'goes on',
): Promise<void> {
  const { sql, organization_id } = scope
  const held = await sql`
    update idempotency_keys
    set status = ${answer?.status ?? null}, answer = ${answer?.text ?? null} ${run === 'ends' ? sql`, lease_until = null` : sql``}
    where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token}
    returning token`
  if (held.length === 0) throw new ApiError('SERVICE_UNAVAILABLE')
}

/** Ends the run: keeps the answer as it is sent. */
export async function keepAnswer(scope: Scope, claim: Claim, answer: Answer, request_digest: Uint8Array) {
  const { sql, organization_id } = scope
  await sql`
    update idempotency_keys
    set status = ${answer.status}, answer = ${answer.text}, request_digest = ${request_digest}, lease_until = null
    where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token}`
}

/** Ends a run that failed: the next request may run, unless the change was committed and has its answer. */
export async function releaseClaim({ sql, organization_id }: Scope, claim: Claim): Promise<void> {
  await sql`
    with failed as (
      delete from idempotency_keys
      where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}
        and token = ${claim.token} and answer is null
    )
    update idempotency_keys set lease_until = null
    where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token} and answer is not null`
}

/** Ends a run and removes all that was kept for it. */
export async function forget({ sql, organization_id }: Scope, claim: Claim): Promise<void> {
  await sql`
    delete from idempotency_keys
    where organization_id = ${organization_id} and user_id = ${claim.caller_id} and key_digest = ${claim.key_digest}
      and token = ${claim.token}`
}

/** Removes keys that are 24 hours old, unless one is running. Returns how many. */
export function removeIdempotencyKeys(connection: Connection): Promise<number> {
  const is_old = connection.sql`
    created_at <= now() - interval '24 hours' and (lease_until is null or lease_until <= now())`
  const key = ['user_id', 'key_digest']
  return sweep(connection, { table: 'idempotency_keys', key, is_old, order: 'created_at' })
}
