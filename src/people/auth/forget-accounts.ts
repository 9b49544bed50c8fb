/** Forgets accounts that have belonged to no organization for long, for a background job. */

import { lockFreeAccounts } from '../../base/db/account-lock'
import { type Connection, type Sql, transact } from '../../base/db/transact'
import { inBatches } from '../../base/flow/batches'

const BATCH = 500

/**
 * Removes addresses and passwords of accounts whose last membership ended long ago. Their names stay, because logged
 * time and timelines show them. An account that nothing points at goes as a whole.
 * @param retention_days 0 keeps everything
 */
export async function forgetAccounts(connection: Connection, retention_days: number): Promise<void> {
  if (retention_days === 0) return
  await inBatches(BATCH, () => transact(connection, ({ sql }) => forgetBatch(sql, retention_days)))
}

async function forgetBatch(sql: Sql, retention_days: number): Promise<number> {
  const long_ago = () => sql`now() - make_interval(days => ${retention_days})`
  const find = (among = sql``) => sql<{ id: string }[]>`
    select u.id from users u
    where u.password_hash <> '' and u.updated_at < ${long_ago()}
      and not exists (
        select 1 from memberships m
        where m.user_id = u.id and (m.removed_at is null or m.removed_at >= ${long_ago()})
      )
      and not exists (select 1 from invitations i where i.email_key = u.email_key) ${among}
    order by u.id limit ${BATCH}`
  const candidates = (await find()).map(({ id }) => id)
  const locked = candidates.length > 0 ? await lockFreeAccounts({ sql }, candidates) : []
  // Somebody may have made one a member again before it was locked.
  const found = locked.length > 0 ? await find(sql`and u.id = any(${locked}::uuid[])`) : []
  if (found.length === 0) return 0
  const ids = found.map(({ id }) => id)
  await sql`delete from refresh_tokens where user_id = any(${ids}::uuid[])`
  await sql`delete from second_factors where id = any(${ids}::uuid[])`
  await sql`
    delete from users u
    where u.id = any(${ids}::uuid[]) and not exists (select 1 from memberships m where m.user_id = u.id)`
  // The others were members.
  await sql`
    update users u
    set email = 'former-' || u.id || '@account.invalid', email_key = 'former-' || u.id || '@account.invalid',
      password_hash = '', is_password_held = false, sessions_ended_at = now(), updated_at = now()
    where u.id = any(${ids}::uuid[])`
  return found.length
}
