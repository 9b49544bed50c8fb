/** Tells the operator about accounts whose passwords may be known to people in another organization. */
import { config } from '../config'
import type { Connection } from '../db/transact'

/** Accounts that are listed; the warning counts all. */
const LISTED = 100

/** An account that several organizations share, with a password that one of their admins, or the operator, has set. */
type AccountInDoubt = { email: string; organizations: string[] }

/** Lists the accounts in doubt, oldest first, with the number of all of them and what the doctor says about them. */
export async function findAccountDoubts({ sql }: Connection): Promise<{
  accounts_in_doubt: AccountInDoubt[]
  warnings: string[]
}> {
  const accounts = await sql<(AccountInDoubt & { total: number })[]>`
    select u.email, array_agg(o.name order by m.created_at) as organizations, count(*) over () as total
    from users u
    join memberships m on m.user_id = u.id and m.removed_at is null
    join organizations o on o.id = m.organization_id
    where not u.is_password_held
    group by u.id having count(*) > 1
    order by u.id limit ${LISTED}`
  const [counts] = await sql<{ organizations: number }[]>`select count(*) as organizations from organizations`
  const warnings: string[] = []
  const [first] = accounts
  if (first) {
    warnings.push(
      `${first.total} accounts of several organizations have a password that an admin may know (accounts_in_doubt): ` +
        'ask these people to set a new one through the link for a forgotten password',
    )
  }
  if (counts!.organizations > 1 && !config.SYSTEM_SMTP_URL) {
    warnings.push(
      'There are several organizations and no SYSTEM_SMTP_URL: invitations leave by their own mailboxes, ' +
        'and people in two of them get no link for a forgotten password',
    )
  }
  return { accounts_in_doubt: accounts.map(({ email, organizations }) => ({ email, organizations })), warnings }
}
