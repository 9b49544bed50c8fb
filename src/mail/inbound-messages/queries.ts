/** Reads the mail ledger, and originals of email. */

import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import { storage } from '../../desk/attachments/storage'
import type { InboundFilter, InboundMessage } from './model'

/** Lists the mail ledger, newest first. */
export function listInboundMessages(scope: Scope, filter: InboundFilter): Promise<Page<InboundMessage>> {
  const { sql, organization_id } = scope
  const condition = sql`
    ${filter.outcome ? sql`and outcome = ${filter.outcome}` : sql``}
    ${filter.mailbox_id ? sql`and mailbox_id = ${filter.mailbox_id}` : sql``}`
  return page(scope, filter, {
    name: 'inbound-messages',
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice, order }) => selectRows(scope, sql`${condition} ${slice}`, order),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from inbound_messages where organization_id = ${organization_id} ${condition}`,
  })
}

/** @throws INBOUND_MESSAGE_NOT_FOUND */
export async function getInboundMessage(scope: Scope, id: string): Promise<InboundMessage> {
  const [row] = await selectRows(scope, scope.sql`and id = ${id}`)
  if (!row) throw new ApiError('INBOUND_MESSAGE_NOT_FOUND')
  return row
}

/**
 * Opens an original. Until it is filed nobody knows if it holds a letter of the service.
 * @throws INBOUND_MESSAGE_NOT_FOUND, also while it is pending, and once it was removed
 */
export async function openOriginal({ sql, organization_id }: Scope, id: string): Promise<ReadableStream<Uint8Array>> {
  const [row] = await sql<{ storage_key: string | null }[]>`
    select storage_key from inbound_messages where organization_id = ${organization_id} and id = ${id} and outcome <> 'pending'`
  if (!row?.storage_key) throw new ApiError('INBOUND_MESSAGE_NOT_FOUND')
  return storage().open(row.storage_key)
}

/** JSON is made of the rows of the page alone: the database would make it of those before the page too. */
function selectRows({ sql, organization_id }: Scope, rest: Fragment, order?: Fragment) {
  return sql<InboundMessage[]>`
    select id, json_build_object('id', mailbox_id, 'address', mailbox_address) as mailbox, email_message_id,
      case when outcome <> 'pending' then json_build_object('name', from_name, 'email', from_email) end as "from",
      subject, size, remote_address, helo, tls, sender_verified, authentication, received_at,
       outcome, rule, ticket_id, message_id
    from (select * from inbound_messages where organization_id = ${organization_id} ${rest}) as m ${order ?? sql``}`
}
