import { and, eq, sql } from 'drizzle-orm'
import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { teams } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { type Deed, deleteInSteps, leaveSome } from '../deeds/deeds'
import { emptyNames } from '../naming/empty-names'
import { lockMembers } from './assign'
import type { NewTeam, Team, TeamChanges } from './model'
import { getTeam } from './queries'

/** Creates a team. @throws TEAM_NAME_EXISTS, USER_NOT_FOUND */
export function createTeam(scope: Scope, { member_ids = [], ...team }: NewTeam): Promise<Team> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const id = newId()
    const created = await db
      .insert(teams)
      .values({ ...team, organization_id, id })
      .onConflictDoNothing()
      .returning({ id: teams.id })
    if (!created[0]) throw fieldError('TEAM_NAME_EXISTS', '/name')
    await setMembers(scope, id, member_ids)
    const after = await getTeam(scope, id)
    await auditTeam(scope, 'team.created', null, after)
    return after
  })
}

/**
 * Changes a team. Tickets that it has keep their assignees; `assign` and `capacity` count for those that come.
 * @throws TEAM_NOT_FOUND, TEAM_NAME_EXISTS, USER_NOT_FOUND
 */
export function updateTeam(scope: Scope, id: string, { member_ids, ...changes }: TeamChanges): Promise<Team> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockTeam(scope, id)
    if (Object.keys(changes).length > 0 || member_ids) {
      await db
        .update(teams)
        .set({ ...changes, updated_at: sql`now()` })
        .where(and(eq(teams.organization_id, organization_id), eq(teams.id, id)))
        .catch(nameExists)
    }
    if (member_ids) await setMembers(scope, id, member_ids)
    const after = await getTeam(scope, id)
    await auditTeam(scope, 'team.updated', before, after)
    return after
  })
}

/** Deletes a team. Its tickets belong to none then, and keep their assignees. @throws TEAM_NOT_FOUND */
export function deleteTeam(scope: Scope, id: string): Promise<void> {
  const note = async (scope: Scope) => auditTeam(scope, 'team.deleted', await lockTeam(scope, id), null)
  return deleteInSteps(scope, 'delete team', id, note, deleteSome)
}

/** A step of it: tickets, members, and then the team, in the order of those who give it a ticket. */
export async function deleteSome(scope: Scope, { subject_id: id }: Pick<Deed, 'subject_id'>): Promise<boolean> {
  const { db, sql, organization_id } = scope
  if (!(await leaveSome(scope, 'team_id', id))) return false
  await sql`update mailboxes set team_id = null where organization_id = ${organization_id} and team_id = ${id}`
  await lockMembers(scope, sql`m.team_id = ${id}`)
  await sql`select from teams where organization_id = ${organization_id} and id = ${id} for update`
  // On a cluster no foreign key clears them, and some may have come meanwhile.
  await sql`update tickets set team_id = null where organization_id = ${organization_id} and team_id = ${id}`
  await sql`update mailboxes set team_id = null where organization_id = ${organization_id} and team_id = ${id}`
  await db.delete(teams).where(and(eq(teams.organization_id, organization_id), eq(teams.id, id)))
  await emptyNames(scope, 'team', id)
  return true
}

/** Takes a member who leaves the organization out of its teams, in the caller's transaction. */
export async function leaveTeams(scope: Scope, user_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await lockMembers(scope, sql`m.user_id = ${user_id}`)
  await sql`delete from team_members where organization_id = ${organization_id} and user_id = ${user_id}`
}

/** Locks a team against other changes until the caller's transaction ends. Tickets still come. */
async function lockTeam(scope: Scope, id: string): Promise<Team> {
  const { sql, organization_id } = scope
  await sql`select from teams where organization_id = ${organization_id} and id = ${id} for no key update`
  return getTeam(scope, id)
}

/** Sets the members of a team that the caller has locked; those who stay keep their turn. @throws USER_NOT_FOUND */
async function setMembers(scope: Scope, team_id: string, given: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const ids = asIds(given)
  // Nobody is removed from the organization until the member is listed.
  const members = await sql<{ user_id: string }[]>`
    select user_id from memberships
    where organization_id = ${organization_id} and user_id = any(${ids}::uuid[]) and removed_at is null
    order by user_id for share`
  const known = new Set(members.map(({ user_id }) => user_id))
  const unknown = [...new Set(given)].filter((id) => !known.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('USER_NOT_FOUND', '/member_ids', unknown)
  await lockMembers(scope, sql`m.team_id = ${team_id}`)
  await sql`
    delete from team_members
    where organization_id = ${organization_id} and team_id = ${team_id} and not user_id = any(${ids}::uuid[])`
  const rows = ids.map((user_id) => ({ organization_id, team_id, user_id }))
  await insertRows(sql, 'team_members', rows, sql`on conflict do nothing`)
}

async function auditTeam(
  scope: Scope,
  action: 'team.created' | 'team.updated' | 'team.deleted',
  before: Team | null,
  after: Team | null,
): Promise<void> {
  await auditChanges(scope, {
    action,
    resource: { type: 'team', id: (after ?? before)!.id },
    changes: changesOf(before, after),
  })
}

function nameExists(error: unknown): never {
  throw violates(error, 'teams_name') ? fieldError('TEAM_NAME_EXISTS', '/name') : error
}
