/** Lets one of several processes with one external database copy files. */
import type { ConnectionOptions } from '../../base/db/connection-url'
import { longTransaction, withSession } from '../../base/db/session'

/** Number of the advisory lock that the process has which copies files. */
const FILES_LOCK = 5_710_319

/** Does the work unless another process does it now. @param place the database */
export async function alone(place: string | ConnectionOptions, work: () => Promise<void>): Promise<void> {
  await withSession(place, (session) =>
    longTransaction(session, 'isolation level read committed', async (sql) => {
      const [lock] = await sql<{ is_free: boolean }[]>`select pg_try_advisory_xact_lock(${FILES_LOCK}) as is_free`
      if (lock?.is_free) await work()
    }),
  )
}
