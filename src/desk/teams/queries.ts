import type { Fragment } from '../../base/db/transact'
import { ApiError, unknownIds } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { Team } from './model'

/** The teams of the organization, by name. */
export function listTeams(scope: Scope, query: Paging): Promise<Page<Team>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'teams',
    sort: {
      keys: [
        { sql: sql`lower(t.name)`, field: 'name', bound: (name) => sql`lower(${name})` },
        { sql: sql`t.id`, field: 'id' },
      ],
      direction: 'asc',
    },
    rows: ({ slice }) => selectTeams(scope, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from teams where organization_id = ${organization_id}`,
  })
}

/** @throws TEAM_NOT_FOUND */
export async function getTeam(scope: Scope, id: string): Promise<Team> {
  const [team] = await selectTeams(scope, scope.sql`and t.id = ${id}`)
  if (!team) throw new ApiError('TEAM_NOT_FOUND')
  return team
}

/** Checks a team that a body names. @throws TEAM_NOT_FOUND (422) */
export async function requireTeam(scope: Scope, id: string | null | undefined): Promise<void> {
  if (typeof id !== 'string') return
  const { sql, organization_id } = scope
  const found = await sql`
    select from teams where organization_id = ${organization_id} and id = any(${asIds([id])}::uuid[])`
  if (found.length === 0) throw unknownIds('TEAM_NOT_FOUND', '/team_id', [id])
}

/** The select list is the response: its columns are the fields of `Team`. */
function selectTeams({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<Team[]>`
    select t.id, t.name, array(
        select m.user_id from team_members m
        where m.organization_id = ${organization_id} and m.team_id = t.id order by m.user_id
      ) as member_ids, t.assign, t.capacity, t.created_at, t.updated_at
    from teams t where t.organization_id = ${organization_id} ${rest}`
}
