/** Remembers signed requests of providers, so that each counts once. It keeps digests alone. */
import { createHash } from 'node:crypto'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { violates } from '../../base/db/violations'
import { ApiError } from '../../base/errors'
import type { TakenRequest } from '../inbound/accept'

/**
 * Takes a request once. The row is written with the ledger's, so that of two at the same time one is taken. A known one
 * is found before its mail is stored, too: a replay costs no disk.
 * @param take writes the row with that of the ledger
 * @returns the id of its row in the ledger, of the first time when the same mail comes again
 * @throws INVALID_SIGNATURE for another mail
 */
export async function takeOnce(
  connection: Connection,
  organization_id: string,
  given: { request_digest: Buffer; original: Uint8Array },
  take: (request: TakenRequest) => Promise<string>,
): Promise<string> {
  const mail_digest = createHash('sha256').update(given.original).digest()
  const request = { request_digest: given.request_digest, mail_digest }
  const known = await findTaken(connection, organization_id, request)
  if (known !== undefined) return known
  try {
    return await take(request)
  } catch (error) {
    const found = violates(error, 'taken_requests_once') && (await findTaken(connection, organization_id, request))
    if (!found) throw error
    return found
  }
}

async function findTaken(
  { sql }: Connection,
  organization_id: string,
  { request_digest, mail_digest }: TakenRequest,
): Promise<string | undefined> {
  const [row] = await sql<{ inbound_message_id: string; is_same: boolean }[]>`
    select inbound_message_id, mail_digest = ${mail_digest} as is_same from taken_requests
    where organization_id = ${organization_id} and request_digest = ${request_digest}`
  if (row && !row.is_same) throw new ApiError('INVALID_SIGNATURE')
  return row?.inbound_message_id
}

/** Forgets requests that are too old to be taken again, for a background job. @returns how many */
export function forgetTakenRequests(connection: Connection): Promise<number> {
  const is_old = connection.sql`expires_at <= now()`
  return sweep(connection, { table: 'taken_requests', key: ['request_digest'], is_old, order: 'expires_at' })
}
