/** Finds accounts whose passwords may be known to people in another organization. */
import type { Connection } from '../../base/db/transact'
import { counted, type Finding, warning } from './finding'

/** Accounts that are listed; the finding counts all. */
const LISTED = 100

/** An account that several organizations share, with a password that one of their admins, or the operator, has set. */
type AccountInDoubt = { email: string; organizations: string[] }

/** Lists the accounts in doubt, oldest first, with the number of all of them. */
export async function readAccountDoubts({ sql }: Connection): Promise<{ accounts: AccountInDoubt[]; total: number }> {
  const rows = await sql<(AccountInDoubt & { total: number })[]>`
    select u.email, array_agg(o.name order by m.created_at) as organizations, count(*) over () as total
    from users u
    join memberships m on m.user_id = u.id and m.removed_at is null
    join organizations o on o.id = m.organization_id
    where not u.is_password_held
    group by u.id having count(*) > 1
    order by u.id limit ${LISTED}`
  const accounts = rows.map(({ email, organizations }) => ({ email, organizations }))
  return { accounts, total: rows[0]?.total ?? 0 }
}

/** Says how many accounts are in doubt. */
export async function checkAccounts(connection: Connection): Promise<Finding[]> {
  const { total } = await readAccountDoubts(connection)
  if (total === 0) return []
  return [
    warning(
      `${counted(total, 'account')} of several organizations with a password that an admin of one of them may know`,
      'Ask these people (accounts_in_doubt with --json) to set a new one through the link for a forgotten password.',
    ),
  ]
}
