/** Reads the mail ledger, and originals of email. */

import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { escapeLike } from '../../base/shapes/fold'
import { firstIdAt } from '../../base/shapes/ids'
import { type Page, page } from '../../base/shapes/page'
import { requireClean, type Scan, scanNow } from '../../desk/attachments/scan'
import { storage } from '../../desk/attachments/storage'
import { presented, taken } from '../inbound/select-ledger'
import type { InboundFilter, InboundMessage } from './model'

/** Lists the mail ledger, newest first. */
export function listInboundMessages(scope: Scope, filter: InboundFilter): Promise<Page<InboundMessage>> {
  const { sql } = scope
  const has_refused = filter.include_refused === true || filter.outcome === 'refused'
  const found = has_refused ? sql`${taken(scope)} union all ${refused(scope)}` : taken(scope)
  const condition = conditionOf(scope, filter)
  return page(scope, filter, {
    name: 'inbound-messages',
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice, order }) =>
      presented<InboundMessage>(scope, sql`select * from (${found}) m where true ${condition} ${slice}`, order),
    count: () => sql<{ total: number }[]>`select count(*) as total from (${found}) m where true ${condition}`,
  })
}

/** @throws INBOUND_MESSAGE_NOT_FOUND */
export async function getInboundMessage(scope: Scope, id: string): Promise<InboundMessage> {
  const { sql } = scope
  const [row] = await presented<InboundMessage>(
    scope,
    sql`select * from (${taken(scope)} union all ${refused(scope)}) m where id = ${id}`,
  )
  if (!row) throw new ApiError('INBOUND_MESSAGE_NOT_FOUND')
  return row
}

/**
 * Opens an original. Until it is filed nobody knows if it holds a letter of the service.
 * @throws INBOUND_MESSAGE_NOT_FOUND, also while it is pending, and once it was removed; ATTACHMENT_INFECTED;
 *   SERVICE_UNAVAILABLE when the scanner gives no verdict
 */
export async function openOriginal({ sql, organization_id }: Scope, id: string): Promise<ReadableStream<Uint8Array>> {
  const [row] = await sql<{ storage_key: string | null; size: number; scans: Scan[] }[]>`
    select i.storage_key, i.size, array(
      select distinct a.scan from attachments a
      where a.organization_id = ${organization_id} and a.message_id = i.message_id and a.scan is not null
    ) as scans
    from inbound_messages i
    where i.organization_id = ${organization_id} and i.id = ${id} and i.outcome <> 'pending'`
  if (!row?.storage_key) throw new ApiError('INBOUND_MESSAGE_NOT_FOUND')
  const { storage_key, size } = row
  row.scans.toSorted().forEach(requireClean)
  // Mail that was held has no files, and mail that was removed none any more.
  requireClean(await scanNow(() => storage().open(storage_key), size))
  return storage().open(storage_key)
}

/** Conditions on columns that mail which was taken and mail which was refused both have. */
function conditionOf({ sql }: Scope, filter: InboundFilter): Fragment {
  const { outcome, mailbox_id, from, to, subject, received_after, received_before } = filter
  const email_message_id = filter.email_message_id?.replace(/^<|>$/g, '')
  const words = subject?.split(/\s+/).filter(Boolean) ?? []
  return sql`
    ${outcome === undefined ? sql`` : sql`and outcome = ${outcome}`}
    ${mailbox_id === undefined ? sql`` : sql`and mailbox_id = ${mailbox_id}`}
    ${email_message_id === undefined ? sql`` : sql`and email_message_id = ${email_message_id}`}
    ${received_after === undefined ? sql`` : sql`and id >= ${firstIdAt(received_after + 1)}`}
    ${received_before === undefined ? sql`` : sql`and id < ${firstIdAt(received_before)}`}
    ${from === undefined ? sql`` : sql`and ${from} = any(from_keys)`}
    ${to === undefined ? sql`` : sql`and ${to} = any(to_keys)`}
    ${words.length === 0 ? sql`` : words.map((word) => sql`and subject ilike ${`%${escapeLike(word)}%`}`)}`
}

/** Selects mail that was refused. */
function refused({ sql, organization_id }: Scope): Fragment {
  return sql`
    select id, null::uuid, null::text, null, null, null, envelope_sender, recipient, '{}'::text[],
      from_keys, to_keys, null, 0::bigint,
      remote_address, helo, tls, null::boolean, null::jsonb, null::real, null, received_at, 'refused', smtp_reply, null, null::uuid,
      null::uuid
    from refused_messages where organization_id = ${organization_id}`
}
