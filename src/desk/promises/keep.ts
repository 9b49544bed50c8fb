/**
 * Keeps promises, the columns of tickets that show them, and the row of the outbox that tells of them in time. Whoever
 * changes what they follow from has locked the ticket, and keeps them in the same transaction.
 */
import { newId } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import { insertRows } from '../../base/db/insert-rows'
import { sharedTime } from '../../base/db/shared-time'
import { type Scope, together } from '../../base/scope'
import { scheduleAll, scheduleWork, withdrawWork } from '../../delivery/outbox/schedule'
import type { Sla } from './model'
import { findPolicies, type Policy, policyOf } from './policies'
import { type Facts, historyOf, msOf, readFacts, type Stored } from './promise-facts'
import { type History, isBreached, outcomeOf, promisesOf, type Standing, shownOf } from './promises-of'
import { presentSla } from './shown-sla'

/** A ticket whose promises were computed anew. */
type Kept = {
  id: string
  sla: Sla
  /** Promises of which nobody was told that they are due soon, or breached. */
  soon: Stored[]
  breached: Stored[]
  /** When somebody is to be told next; null: never. */
  next_ms: number | null
}

/** Computes the promises of tickets, and writes what differs. @returns by ticket; without policies none */
export async function keepPromises(scope: Scope, ticket_ids: string[]): Promise<Map<string, Kept>> {
  const kept = await keepAll(scope, await together(readAll(scope, ticket_ids)), 'later')
  return new Map(kept.map((one) => [one.id, one]))
}

/**
 * Reads facts and policies: for `together`, behind what the caller writes. The statements are sent once somebody waits
 * for them, as those of the caller.
 */
export function readAll(scope: Scope, ticket_ids: string[]) {
  return [readFacts(scope, ticket_ids), findPolicies(scope)] as const
}

/**
 * @param told `now`: the caller publishes the events of those that are due soon or breached, and has the row of the
 *   outbox, which it keeps for what comes next
 */
export async function keepAll(
  scope: Scope,
  [facts, policies]: [Facts[], Policy[]],
  told: 'now' | 'later',
): Promise<Kept[]> {
  if (facts.length === 0) return []
  const now_ms = sharedTime()
  const computed = facts.map((one) => computedOf(one, policies, now_ms, told))
  const { sql, organization_id } = scope
  const rows = computed.flatMap(({ facts, promises }) => {
    const before = new Map(facts.promises.map((one) => [one.id, JSON.stringify(one)]))
    return promises.filter((one) => before.get(one.id) !== JSON.stringify(one)).map((one) => [facts.id, one] as const)
  })
  const shown = computed.filter(({ facts, columns }) => JSON.stringify(columnsIn(facts)) !== JSON.stringify(columns))
  await together([
    insertRows(
      sql,
      'promises',
      rows.map(([ticket_id, promise]) => promiseRow(organization_id, ticket_id, promise)),
      sql`on conflict (organization_id, id) do update set policy_id = excluded.policy_id, minutes = excluded.minutes,
        due_at = excluded.due_at, soon_at = excluded.soon_at, breached_at = excluded.breached_at,
        ended_at = excluded.ended_at, outcome = excluded.outcome, is_soon_told = excluded.is_soon_told,
        is_breach_told = excluded.is_breach_told`,
    ),
    showOn(
      scope,
      shown.map(({ facts, columns }) => ({ id: facts.id, ...columns })),
    ),
    ...computed.map(({ facts, next_ms, is_moved }) => is_moved && tellAt(scope, facts.id, next_ms)),
  ])
  return computed.map(({ facts, sla, soon, breached, next_ms }) => ({ id: facts.id, sla, soon, breached, next_ms }))
}

/** The promises of a new ticket, with its columns; undefined without a policy. */
export function promiseNew(
  policies: Policy[],
  ticket: { id: string; priority: string; label_ids: string[]; waiting_id: string | null } & {
    [id in 'company_id' | 'team_id' | 'mailbox_id']: string | null
  },
) {
  if (policies.length === 0) return undefined
  const facts: Facts = {
    ...{ is_gone: false, status: 'open', policy_id: null, metric: null, shown_due_ms: null, shown_soon_ms: null },
    ...{ imported_ms: null, is_begun_by_team: false, statuses: [], answered_id: null, last_answer_id: null },
    ...{ promises: [], ...ticket },
  }
  const { columns, promises, next_ms, sla } = computedOf(facts, policies, sharedTime(), 'later')
  return { id: ticket.id, columns, promises, next_ms, sla }
}

/** The columns of a new ticket that show its promises. */
export function slaColumns(promised: ReturnType<typeof promiseNew>) {
  if (!promised) return {}
  const { policy_id, metric, due_ms, soon_ms } = promised.columns
  const [sla_due_at, sla_soon_at] = [due_ms, soon_ms].map(timeFrom)
  return { sla_policy_id: policy_id, sla_metric: metric, sla_due_at, sla_soon_at }
}

function timeFrom(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** Writes the promises of new tickets, together with their other rows. */
export async function insertPromises(scope: Scope, made: NonNullable<ReturnType<typeof promiseNew>>[]): Promise<void> {
  const { organization_id } = scope
  const rows = made.flatMap(({ id, promises }) => promises.map((one) => promiseRow(organization_id, id, one)))
  const work = made.flatMap(({ id, next_ms }) =>
    next_ms === null ? [] : { id: workOf(id), run_at: new Date(next_ms).toISOString() },
  )
  if (rows.length === 0) return
  await together([insertRows(scope.sql, 'promises', rows), scheduleAll(scope, 'promise', organization_id, work)])
}

type Columns = ReturnType<typeof columnsIn>

/** Computes what is to be written of a ticket. */
function computedOf(facts: Facts, policies: Policy[], now_ms: number, told: 'now' | 'later') {
  const found = facts.is_gone ? undefined : policyOf(policies, facts)
  const history = historyOf(facts)
  const standing = found ? promisesOf(history, found.target, now_ms) : []
  const promises = merged(facts, standing, found?.policy.id, { now_ms, history })
  const soon = promises.filter((one) => isSoon(one, now_ms) && !one.is_soon_told && !one.is_breach_told)
  const breached = promises.filter((one) => one.breached_ms !== null && !one.is_breach_told)
  const before_ms = nextOf(facts.promises, now_ms)
  if (told === 'now') for (const one of soon) one.is_soon_told = true
  if (told === 'now') for (const one of breached) Object.assign(one, { is_soon_told: true, is_breach_told: true })
  const next_ms = nextOf(promises, now_ms)
  const shown = shownOf(promises.filter((one) => standing.some((other) => isSamePromise(one, other))))
  const columns: Columns = {
    policy_id: found?.policy.id ?? null,
    metric: shown?.metric ?? null,
    due_ms: shown?.due_ms ?? null,
    soon_ms: shown?.soon_ms ?? null,
  }
  const is_moved = told === 'later' && before_ms !== next_ms
  const times = [timeFrom(columns.due_ms), timeFrom(columns.soon_ms)] as const
  const sla = presentSla(found ? [found.policy.id, found.policy.name, columns.metric, ...times] : null, now_ms)
  return { facts, promises, columns, sla, soon, breached, next_ms, is_moved }
}

function columnsIn({ policy_id, metric, shown_due_ms: due_ms, shown_soon_ms: soon_ms }: Facts) {
  return { policy_id, metric, due_ms, soon_ms }
}

type At = { now_ms: number; history: History }

/** Stored promises, as they stand now, and those that are new. */
function merged(facts: Facts, standing: Standing[], policy_id: string | undefined, { now_ms, history }: At): Stored[] {
  const stored = facts.promises.map((one): Stored => {
    const now = standing.find((other) => isSamePromise(one, other))
    if (!now) return one.outcome === null ? ended(facts, one, now_ms) : one
    // Once it has ended, what is promised later changes nothing of it.
    const stays = now.outcome !== null && one.outcome !== null && one.outcome !== 'void'
    return stays ? one : { ...one, ...now, policy_id: policy_id!, breached_ms: breachOf(now, now_ms) }
  })
  const fresh = standing.filter((one) => !facts.promises.some((other) => isSamePromise(one, other)))
  return [
    ...stored,
    ...fresh
      // Nobody was promised what was over by then.
      .filter(({ outcome }) => outcome === null || history.status === 'open' || history.status === 'pending')
      .map((one): Stored => {
        const told = { is_soon_told: false, is_breach_told: false }
        return { id: newId(), policy_id: policy_id!, ...one, breached_ms: breachOf(one, now_ms), ...told }
      }),
  ]
}

function isSamePromise(
  one: Pick<Standing, 'metric' | 'began_ms'>,
  other: Pick<Standing, 'metric' | 'began_ms'>,
): boolean {
  return one.metric === other.metric && Math.abs(one.began_ms - other.began_ms) < 1
}

function breachOf(one: Standing, now_ms: number): number | null {
  return isBreached(one, now_ms) ? one.due_ms : null
}

/** Ends a promise that is not made any more: it is kept or breached when the team has answered since, else void. */
function ended({ last_answer_id }: Facts, one: Stored, now_ms: number): Stored {
  const answer_ms = one.metric === 'next_reply' ? msOf(last_answer_id) : null
  const is_met = answer_ms !== null && answer_ms >= one.began_ms
  const ended_ms = is_met ? answer_ms : now_ms
  const is_late = one.due_ms !== null && one.due_ms <= ended_ms
  const outcome = is_met ? outcomeOf(is_late, true) : 'void'
  return { ...one, ended_ms, outcome, breached_ms: is_late && is_met ? one.due_ms : one.breached_ms }
}

function isSoon({ outcome, soon_ms, due_ms }: Stored, now_ms: number): boolean {
  return outcome === null && soon_ms !== null && soon_ms <= now_ms && due_ms! > now_ms
}

/** The next moment at which something is to be told or noted. */
function nextOf(promises: Stored[], now_ms: number): number | null {
  const moments = promises.flatMap((one) => {
    if (one.breached_ms !== null) return one.is_breach_told ? [] : now_ms
    if (one.outcome !== null || one.due_ms === null) return []
    const is_told = one.is_soon_told || one.is_breach_told
    return is_told ? one.due_ms : Math.max(one.soon_ms!, Math.min(now_ms, one.due_ms))
  })
  return moments.length > 0 ? Math.min(...moments) : null
}

function promiseRow(organization_id: string, ticket_id: string, promise: Stored) {
  const { id, policy_id, metric, minutes, outcome, is_soon_told, is_breach_told } = promise
  return {
    ...{ organization_id, id, ticket_id, policy_id, metric, minutes, outcome, is_soon_told, is_breach_told },
    ...{ began_at: timeFrom(promise.began_ms), due_at: timeFrom(promise.due_ms), soon_at: timeFrom(promise.soon_ms) },
    ...{ breached_at: timeFrom(promise.breached_ms), ended_at: timeFrom(promise.ended_ms) },
  }
}

/** Shows promises on tickets. */
async function showOn({ sql, organization_id }: Scope, shown: (Columns & { id: string })[]): Promise<void> {
  if (shown.length === 0) return
  const given = shown.map(({ id, policy_id, metric, due_ms, soon_ms }, place) => {
    const [due_at, soon_at] = [due_ms, soon_ms].map(timeFrom)
    return { place, id, policy_id, metric, due_at, soon_at }
  })
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(given)}::text::json) as x (
        place integer, id uuid, policy_id uuid, metric text, due_at timestamptz, soon_at timestamptz
      )
      where ${hasFewRows(sql)}
    )
    update tickets t set sla_policy_id = given.policy_id, sla_metric = given.metric, sla_due_at = given.due_at,
      sla_soon_at = given.soon_at
    from given where t.organization_id = ${organization_id} and t.id = given.id`
}

/** Has somebody told at a moment, or nobody. */
function tellAt(scope: Scope, ticket_id: string, next_ms: number | null): Promise<void> {
  if (next_ms === null) return withdrawWork(scope, 'promise', [workOf(ticket_id)])
  return scheduleWork(scope, 'promise', workOf(ticket_id), scope.organization_id, new Date(next_ms).toISOString())
}

/** The id of the work in the outbox, where a row of the ticket's own id wakes it: of version 8 (RFC 9562). */
function workOf(ticket_id: string): string {
  return `${ticket_id.slice(0, 14)}8${ticket_id.slice(15)}`
}

/** The ticket of such work. */
export function ticketOfWork(id: string): string {
  return `${id.slice(0, 14)}7${id.slice(15)}`
}
