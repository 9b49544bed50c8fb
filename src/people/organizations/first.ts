/** Creates the first organization, from the settings, in a database without any. */
import { config } from '../../base/config'
import { type Connection, transact } from '../../base/db/transact'
import { createOrganization } from './commands'

/** Key of an advisory lock, chosen at random: processes that start together create one organization, not two. */
const FIRST_LOCK = 5_710_314

/**
 * Creates it when there is no organization yet.
 * @returns the admin's password when it was generated, to be shown once
 */
export function createFirstOrganization(
  connection: Connection,
): Promise<{ email: string; password: string | null } | undefined> {
  return transact(connection, async (inner) => {
    await inner.sql`select pg_advisory_xact_lock(${FIRST_LOCK})`
    const [any] = await inner.sql`select from organizations limit 1`
    if (any) return undefined
    const { ADMIN_EMAIL: email, ADMIN_NAME: name, ADMIN_PASSWORD: password, ORGANIZATION_NAME } = config
    const { admin } = await createOrganization(inner, { name: ORGANIZATION_NAME, admin: { email, name, password } })
    return { email, password: (admin.type === 'member' && admin.password) || null }
  })
}
