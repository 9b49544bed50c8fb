/** Limits how many letters with an invitation leave, so that nobody can flood an address, or many, through the service. */
import { addressKey } from '../address/email'
import { newId } from '../db/columns'
import type { Connection } from '../db/transact'
import { tryLater } from '../errors'
import type { Scope } from '../scope'

/** Letters to one address in an hour, of all organizations. */
const TO_ADDRESS = 3
/** Letters of one organization in a day. */
const OF_ORGANIZATION = 100

/**
 * Counts a letter that the transaction of the caller sends. Processes count together: the database does.
 * @throws RATE_LIMITED with the seconds until the next one may leave
 */
export async function countLetter({ sql, organization_id }: Scope, email: string): Promise<void> {
  const key = addressKey(email)
  const [for_address, for_organization] = [`invite ${key}`, `invite from ${organization_id}`]
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${for_address}, 0)),
      pg_advisory_xact_lock(hashtextextended(${for_organization}, 0))`
  const [wait] = await sql<{ address_s: number | null; organization_s: number | null }[]>`
    select (
      select ceil(extract(epoch from min(sent_at) + interval '1 hour' - now()))::int from invitation_letters
      where email_key = ${key} and sent_at > now() - interval '1 hour' having count(*) >= ${TO_ADDRESS}
    ) as address_s, (
      select ceil(extract(epoch from min(sent_at) + interval '1 day' - now()))::int from invitation_letters
      where organization_id = ${organization_id} and sent_at > now() - interval '1 day'
      having count(*) >= ${OF_ORGANIZATION}
    ) as organization_s`
  const { address_s, organization_s } = wait!
  if (organization_s !== null) {
    throw tryLater(`The organization has sent ${OF_ORGANIZATION} invitations within a day`, Math.max(1, organization_s))
  }
  if (address_s !== null) {
    throw tryLater(`${TO_ADDRESS} invitations were sent to this address within an hour`, Math.max(1, address_s))
  }
  await sql`
    insert into invitation_letters (organization_id, id, email_key) values (${organization_id}, ${newId()}, ${key})`
}

/** Forgets letters that no limit counts any more. */
export async function forgetOldLetters({ sql }: Connection): Promise<void> {
  await sql`delete from invitation_letters where sent_at < now() - interval '1 day'`
}
