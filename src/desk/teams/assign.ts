/** Gives tickets that come to a team to its members, in the transaction that brings them there. */
import type { ASSIGNMENTS } from '../../base/db/schema'
import type { Fragment } from '../../base/db/transact'
import { type Scope, together } from '../../base/scope'

/** A ticket that comes to a team and has no assignee. */
export type Coming = { id: string; team_id: string }

export type Assignee = { id: string; name: string }

/** An active, available member of a team. */
type Candidate = {
  team_id: string
  user_id: string
  name: string
  turn: number
  /** The highest of the team. */
  last_turn: number
  assign: (typeof ASSIGNMENTS)[number]
  capacity: number | null
  /** Open and pending tickets of the member. Those that decide nothing are not counted. */
  held: number
  /** Set when it was chosen. */
  is_taken?: boolean
}

/**
 * Gives tickets to members of their teams, in the caller's transaction.
 * @param coming in the order in which they are given
 * @returns by ticket; one that nobody may get is missing
 */
export async function chooseAssignees(scope: Scope, coming: Coming[]): Promise<Map<string, Assignee>> {
  if (coming.length === 0) return new Map()
  const candidates = await lockCandidates(
    scope,
    coming.map(({ team_id }) => team_id),
  )
  const chosen = choose(candidates, coming)
  await keepTurns(scope, candidates)
  return chosen
}

/**
 * Reads who may get tickets of teams. Until the caller's transaction ends nobody else gives tickets to the members of
 * these teams, also by another team: so each count is that of the moment, and each takes its turn. Teams without a
 * common member do not wait for each other.
 */
export async function lockCandidates(scope: Scope, team_ids: string[]): Promise<Candidate[]> {
  if (team_ids.length === 0) return []
  const { sql, organization_id } = scope
  const locks = lockMembers(
    scope,
    sql`m.user_id = any(array(
      select x.user_id from team_members x
      join teams t on t.organization_id = ${organization_id} and t.id = x.team_id
      where x.organization_id = ${organization_id} and x.team_id = any(${team_ids}::uuid[]) and t.assign <> 'none'
    ))`,
  )
  const [, candidates] = await together([locks, findCandidates(scope, team_ids)])
  return candidates
}

/**
 * Chooses the assignees of tickets, and notes it with the candidates. Pure.
 * @returns as `chooseAssignees`
 */
export function choose(candidates: Candidate[], coming: Coming[]): Map<string, Assignee> {
  const chosen = new Map<string, Assignee>()
  for (const { id, team_id } of coming) {
    const one = next(candidates.filter((candidate) => candidate.team_id === team_id))
    if (!one) continue
    chosen.set(id, { id: one.user_id, name: one.name })
    one.turn = one.last_turn + 1
    one.is_taken = true
    for (const other of candidates) {
      if (other.team_id === team_id) other.last_turn = one.turn
      if (other.user_id === one.user_id) other.held += 1
    }
  }
  return chosen
}

/** Locks memberships of teams, always in one order. @param condition on `team_members m` */
export async function lockMembers({ sql, organization_id }: Scope, condition: Fragment): Promise<void> {
  await sql`
    select from team_members m where m.organization_id = ${organization_id} and ${condition}
    order by m.user_id, m.team_id for no key update`
}

/** Reads in a second statement, because one that waited for a lock counts the tickets of before. */
async function findCandidates({ sql, organization_id }: Scope, team_ids: string[]): Promise<Candidate[]> {
  return sql<Candidate[]>`
    select m.team_id, m.user_id, u.name, m.turn::float8 as turn, (
      select max(x.turn)::float8 from team_members x
      where x.organization_id = ${organization_id} and x.team_id = m.team_id
    ) as last_turn, t.assign, t.capacity, (
      select count(*)::integer from (
        select from tickets x
        where x.organization_id = ${organization_id} and x.assignee_id = m.user_id
          and x.status in ('open', 'pending') and x.deleted_at is null
        limit case when t.assign = 'least_open' then null else coalesce(t.capacity, 0) end
      ) as counted
    ) as held
    from team_members m
    join teams t on t.organization_id = ${organization_id} and t.id = m.team_id and t.assign <> 'none'
    join memberships s on s.organization_id = ${organization_id} and s.user_id = m.user_id
      and s.active and s.available and s.removed_at is null
    join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.team_id = any(${team_ids}::uuid[])
    order by m.user_id, m.team_id`
}

/** The member of a team who gets its next ticket. */
function next(candidates: Candidate[]): Candidate | undefined {
  const free = candidates.filter(({ held, capacity }) => capacity === null || held < capacity)
  const loadOf = ({ assign, held }: Candidate) => (assign === 'least_open' ? held : 0)
  return free.toSorted((a, b) => loadOf(a) - loadOf(b) || a.turn - b.turn)[0]
}

/** Writes down the turns of those who were chosen. */
export async function keepTurns({ sql, organization_id }: Scope, candidates: Candidate[]): Promise<void> {
  const taken = candidates.filter(({ is_taken }) => is_taken)
  if (taken.length === 0) return
  const turns = taken.map(({ team_id, user_id, turn }) => ({ team_id, user_id, turn }))
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(turns)}::text::json) as x (team_id uuid, user_id uuid, turn bigint)
    )
    update team_members m set turn = g.turn from given g
    where m.organization_id = ${organization_id} and m.team_id = g.team_id and m.user_id = g.user_id`
}
