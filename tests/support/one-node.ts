/** Lets statements fail that several nodes of a cluster would have to answer. */
import { closeDatabase, connectDatabase, connection } from '../../src/base/db/pool'
import { nodeUrls } from './cluster'
import type { TestDatabase } from './database'

/**
 * From now on a statement fails that needs more than one node. It is a setting of the database, so that new connections
 * have it. One connection runs the statements of all requests, so that it keeps their plans. On plain PostgreSQL
 * nothing fails.
 */
export async function refuseSeveralNodes({ target, url }: TestDatabase): Promise<void> {
  if (nodeUrls()) {
    const name = new URL(url).pathname.slice(1)
    await connection().sql.unsafe(`alter database ${name} set citus.multi_task_query_log_level = 'error'`)
  }
  await closeDatabase()
  connectDatabase(target, 1)
}
