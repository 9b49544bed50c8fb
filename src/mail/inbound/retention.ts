/** Removes originals of inbound email once their retention is over, for a background job. Their ledger rows stay. */

import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { removeSoon } from '../../desk/attachments/removals'

/** Works in all organizations. Mail that is not filed yet keeps its original, whatever its age. */
export async function removeOldOriginals(connection: Connection, retention_days: number): Promise<void> {
  const is_old = connection.sql`
    storage_key is not null and outcome <> 'pending' and received_at < now() - make_interval(days => ${retention_days})`
  const key = ['id', 'storage_key']
  await sweep(
    connection,
    { table: 'inbound_messages', key, is_old, order: 'id', size: 200 },
    async ({ sql, organization_id }, found) => {
      const old = await sql<{ id: string; storage_key: string }[]>`${found}`
      if (old.length === 0) return 0
      await sql`
        update inbound_messages set storage_key = null
        where organization_id = ${organization_id} and id = any(${old.map(({ id }) => id)}::uuid[])`
      await removeSoon(sql, old)
      return old.length
    },
  )
}
