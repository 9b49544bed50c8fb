/** Forgets accounts that have belonged to no organization for long, for a background job. */
import type { Connection } from '../db/transact'
import { inBatches } from '../flow/batches'

const BATCH = 500

/**
 * Removes addresses and passwords of accounts whose last membership ended long ago. Their names stay, because logged time
 * and timelines show them. An account that nothing points at goes as a whole.
 * @param retention_days 0 keeps everything
 */
export async function forgetAccounts({ sql }: Connection, retention_days: number): Promise<void> {
  if (retention_days === 0) return
  const long_ago = () => sql`now() - make_interval(days => ${retention_days})`
  await inBatches(BATCH, async () => {
    const [found] = await sql<{ count: number }[]>`
      with left_over as materialized (
        select u.id from users u
        where u.password_hash <> '' and u.updated_at < ${long_ago()}
          and not exists (
            select from memberships m
            where m.user_id = u.id and (m.removed_at is null or m.removed_at >= ${long_ago()})
          )
          and not exists (select from invitations i where i.email_key = u.email_key)
        order by u.id limit ${BATCH} for update skip locked
      ), signed_out as (
        delete from refresh_tokens t using left_over l where t.user_id = l.id
      ), unknown as (
        delete from users u using left_over l
        where u.id = l.id and not exists (select from memberships m where m.user_id = l.id)
      ), forgotten as (
        update users u
        set email = 'former-' || u.id || '@account.invalid', email_key = 'former-' || u.id || '@account.invalid',
          password_hash = '', is_password_held = false, sessions_ended_at = now(), updated_at = now()
        from left_over l
        where u.id = l.id and exists (select from memberships m where m.user_id = l.id)
      )
      select count(*) as count from left_over`
    return found!.count
  })
}
