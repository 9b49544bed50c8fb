/** Imports teams, with the members of theirs that the organization has. */
import { addressKey } from '../../base/address/email'
import { insertRows } from '../../base/db/insert-rows'
import type { Scope } from '../../base/scope'
import { type Kind, matchNames, type Placed, timesOf, upsert } from './kind'
import { ImportedTeam } from './model'

export const TEAMS: Kind<ImportedTeam> = {
  name: 'teams',
  model: ImportedTeam,
  most: 50,
  shape: (given) => given,
  match: (scope, lines) => matchNames(scope, 'teams', lines),
  states: (scope, ids) => timesOf(scope, 'teams', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeTeams,
}

async function writeTeams(scope: Scope, lines: Placed<ImportedTeam>[]): Promise<undefined> {
  const { sql, organization_id } = scope
  const rows = lines.map(({ id, input: { name, assign = 'none', capacity = null }, updated_at }) => {
    return { organization_id, id, name, assign, capacity, updated_at }
  })
  await upsert(scope, 'teams', rows)
  const members = await findMembers(scope, lines)
  const ids = lines.map(({ id }) => id)
  await sql`delete from team_members where organization_id = ${organization_id} and team_id = any(${ids}::uuid[])`
  const listed = lines.flatMap(({ id: team_id, input, losses }) =>
    [...new Set((input.member_emails ?? []).map(addressKey))].flatMap((email, at) => {
      const user_id = members.get(email)
      if (user_id) return { organization_id, team_id, user_id }
      losses.left_out.push({ path: `/member_emails/${at}`, message: 'is no member of the organization' })
      return []
    }),
  )
  await insertRows(sql, 'team_members', listed)
}

/** Finds the members of lines, and keeps them from being removed. @returns ids by the key of the address */
async function findMembers(
  { sql, organization_id }: Scope,
  lines: Placed<ImportedTeam>[],
): Promise<Map<string, string>> {
  const keys = lines.flatMap(({ input }) => (input.member_emails ?? []).map(addressKey))
  const rows = await sql<{ email_key: string; user_id: string }[]>`
    select u.email_key, m.user_id from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.removed_at is null and u.email_key = any(${keys}::text[])
    order by m.user_id for share of m`
  return new Map(rows.map(({ email_key, user_id }) => [email_key, user_id]))
}
