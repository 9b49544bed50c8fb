/**
 * Limits how many letters with an invitation an organization sends, so that it cannot flood an address, or many. Each
 * organization is counted alone: otherwise one could keep the invitations of others back, and would learn of them.
 */
import { addressKey } from '../../base/address/email'
import { newId } from '../../base/db/columns'
import type { Connection } from '../../base/db/transact'
import { tryLater } from '../../base/errors'
import type { Scope } from '../../base/scope'

/** Letters to one address in an hour. */
const TO_ADDRESS = 3
/** Letters in a day. */
const IN_DAY = 100

/**
 * Counts a letter that the transaction of the caller sends. Processes count together: the database does.
 * @throws RATE_LIMITED with the seconds until the next one may leave
 */
export async function countLetter({ sql, organization_id }: Scope, email: string): Promise<void> {
  const key = addressKey(email)
  await sql`select pg_advisory_xact_lock(hashtextextended(${`invite from ${organization_id}`}, 0))`
  const [wait] = await sql<{ address_s: number | null; day_s: number | null }[]>`
    select (
      select ceil(extract(epoch from min(sent_at) + interval '1 hour' - now()))::int from invitation_letters
      where organization_id = ${organization_id} and email_key = ${key} and sent_at > now() - interval '1 hour'
      having count(*) >= ${TO_ADDRESS}
    ) as address_s, (
      select ceil(extract(epoch from min(sent_at) + interval '1 day' - now()))::int from invitation_letters
      where organization_id = ${organization_id} and sent_at > now() - interval '1 day' having count(*) >= ${IN_DAY}
    ) as day_s`
  const { address_s, day_s } = wait!
  if (day_s !== null) {
    throw tryLater(`The organization has sent ${IN_DAY} invitations within a day`, Math.max(1, day_s))
  }
  if (address_s !== null) {
    throw tryLater(
      `The organization has invited this address ${TO_ADDRESS} times within an hour`,
      Math.max(1, address_s),
    )
  }
  await sql`
    insert into invitation_letters (organization_id, id, email_key) values (${organization_id}, ${newId()}, ${key})`
}

/** Forgets letters that no limit counts any more. */
export async function forgetOldLetters({ sql }: Connection): Promise<void> {
  await sql`delete from invitation_letters where sent_at < now() - interval '1 day'`
}
