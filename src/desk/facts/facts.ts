/**
 * Facts: what happened to tickets, as reports count it. Triggers write a row for each event, in the transaction of the
 * event and whoever writes (`add_fact` and its callers in `drizzle/schema.sql`). They keep in all rows of a ticket the
 * groups and the policy that it has now, so that a report joins nothing. Here they are told anew: replies when messages
 * move or go, and all of it for tickets that are older than the facts.
 */
import { timeOfId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { FACT_KINDS } from '../../base/db/schema'
import type { Scope } from '../../base/scope'
import { exactTime } from '../../base/shapes/settled'

type Tenant = Pick<Scope, 'sql' | 'organization_id'>

type Fact = {
  at: string
  kind: (typeof FACT_KINDS)[number]
  seconds?: number
  user_id?: string | null
  promise_id?: string
}

/** A ticket with its groups, and its times in full. */
type Ticket = {
  id: string
  is_over: boolean
  changed_at: string
  rating_score: 'good' | 'bad' | null
  rated_at: string | null
  groups: {
    assignee_id: string | null
    team_id: string | null
    mailbox_id: string | null
    company_id: string | null
    priority: string
    sla_policy_id: string | null
    hidden: boolean
  }
  label_ids: string[]
}

type Reply = { id: string; ticket_id: string; author_id: string | null; begins_ticket: boolean }
type Promised = { id: string; ticket_id: string; kind: 'kept' | 'breached'; at: string }
type StatusChange = { id: string; ticket_id: string; was_over: boolean; is_over: boolean }

/** Tells anew of the replies on tickets that have lost or gained messages. The caller has locked the tickets. */
export async function tellReplies(tenant: Tenant, ticket_ids: string[]): Promise<void> {
  const { sql, organization_id } = tenant
  const tickets = await readTickets(tenant, ticket_ids, 'told')
  if (tickets.length === 0) return
  const ids = tickets.map(({ id }) => id)
  await sql`
    delete from ticket_facts
    where organization_id = ${organization_id} and ticket_id = any(${ids}::uuid[]) and kind in ('began', 'replied')`
  const replies = Map.groupBy(await readReplies(tenant, ids), ({ ticket_id }) => ticket_id)
  await insertFacts(
    tenant,
    tickets.map((ticket) => [ticket, factsOfReplies(ticket, replies.get(ticket.id))]),
  )
}

/** Tells all of tickets that have no facts yet. The caller has locked the tickets. */
export async function tellOld(tenant: Tenant, ticket_ids: string[]): Promise<void> {
  const { sql, organization_id } = tenant
  const tickets = await readTickets(tenant, ticket_ids, 'not told')
  if (tickets.length === 0) return
  const ids = tickets.map(({ id }) => id)
  const changes = await sql<StatusChange[]>`
    select id, ticket_id, data ->> 'from' in ('resolved', 'closed') as was_over,
      data ->> 'to' in ('resolved', 'closed') as is_over
    from activities
    where organization_id = ${organization_id} and ticket_id = any(${ids}::uuid[]) and type = 'changed'
      and data ->> 'field' = 'status'
    order by id`
  const replies = Map.groupBy(await readReplies(tenant, ids), ({ ticket_id }) => ticket_id)
  const changed = Map.groupBy(changes, ({ ticket_id }) => ticket_id)
  const promised = Map.groupBy(await readPromises(tenant, ids), ({ ticket_id }) => ticket_id)
  await insertFacts(
    tenant,
    tickets.map((ticket) => [
      ticket,
      [
        { at: timeOfId(ticket.id), kind: 'created' },
        ...factsOfReplies(ticket, replies.get(ticket.id)),
        ...factsOfStatus(ticket, changed.get(ticket.id)),
        ...(promised.get(ticket.id) ?? []).map(({ id, kind, at }) => ({ kind, at, promise_id: id })),
        ...(ticket.rating_score ? [{ at: ticket.rated_at!, kind: ticket.rating_score }] : []),
      ],
    ]),
  )
}

/** Reads tickets, of which nothing is left once they are purged. @param which those that have facts, or the others */
async function readTickets({ sql, organization_id }: Tenant, ids: string[], which: 'told' | 'not told') {
  const is_told = sql`exists (
    select 1 from ticket_facts f
    where f.organization_id = ${organization_id} and f.ticket_id = t.id and f.kind = 'created'
  )`
  return sql<Ticket[]>`
    select t.id, coalesce(t.status_before_merge, t.status) in ('resolved', 'closed') as is_over,
      ${exactTime(sql, sql`greatest(t.updated_at, t.created_at)`)} as changed_at, t.rating_score,
      ${exactTime(sql, sql`t.rated_at`)} as rated_at,
      json_build_object('assignee_id', t.assignee_id, 'team_id', t.team_id, 'mailbox_id', t.mailbox_id,
        'company_id', t.company_id, 'priority', t.priority, 'sla_policy_id', t.sla_policy_id,
        'hidden', t.deleted_at is not null or t.merged_first_into_id is not null) as groups,
      array(
        select l.label_id from ticket_labels l where l.organization_id = ${organization_id} and l.ticket_id = t.id
        order by l.label_id
      ) as label_ids
    from tickets t
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[]) and t.purged_at is null
      and ${which === 'told' ? is_told : sql`not ${is_told}`}`
}

async function readReplies({ sql, organization_id }: Tenant, ticket_ids: string[]): Promise<Reply[]> {
  return sql<Reply[]>`
    select id, ticket_id, author_id, begins_ticket from messages
    where organization_id = ${organization_id} and ticket_id = any(${ticket_ids}::uuid[]) and direction = 'outbound'
      and not auto_reply
    order by id`
}

/** Reads the promises that were kept or breached. */
async function readPromises({ sql, organization_id }: Tenant, ticket_ids: string[]): Promise<Promised[]> {
  const at = sql`case when outcome = 'kept' then ended_at else coalesce(breached_at, ended_at) end`
  return sql<Promised[]>`
    select id, ticket_id, case when outcome = 'kept' then 'kept' else 'breached' end as kind, ${exactTime(sql, at)} as at
    from promises
    where organization_id = ${organization_id} and ticket_id = any(${ticket_ids}::uuid[])
      and outcome is distinct from 'void' and (outcome is not null or breached_at is not null)
    order by id`
}

/** The first reply is the first one since the ticket came, unless the team began the ticket. */
function factsOfReplies({ id }: Ticket, replies: Reply[] = []): Fact[] {
  const created_at = timeOfId(id)
  const first =
    replies.find((reply) => reply.begins_ticket) ?? replies.find((reply) => timeOfId(reply.id) >= created_at)
  return replies.map((reply) => {
    const at = timeOfId(reply.id)
    const kind = reply.begins_ticket ? 'began' : 'replied'
    return { at, kind, user_id: reply.author_id, ...(reply === first && { seconds: secondsBetween(created_at, at) }) }
  })
}

/** An import tells of no change: then the time of the last change stands for it. */
function factsOfStatus({ id, is_over, changed_at }: Ticket, changes: StatusChange[] = []): Fact[] {
  const created_at = timeOfId(id)
  const told = changes.filter((change) => change.was_over !== change.is_over)
  const ends: { at: string; is_over: boolean }[] = told.map((change) => ({ ...change, at: timeOfId(change.id) }))
  if ((ends.at(-1)?.is_over ?? false) !== is_over) ends.push({ at: changed_at, is_over })
  return ends.map(({ at, is_over }) =>
    is_over ? { at, kind: 'resolved', seconds: secondsBetween(created_at, at) } : { at, kind: 'reopened' },
  )
}

/** Whole seconds between the times as answers show them. */
function secondsBetween(from: string, to: string): number {
  const [from_s, to_s] = [from, to].map((time) => Math.floor(Date.parse(time) / 1000))
  return to_s! - from_s!
}

async function insertFacts({ sql, organization_id }: Tenant, told: [Ticket, Fact[]][]): Promise<void> {
  const rows = told.flatMap(([{ id: ticket_id, groups, label_ids }, facts]) =>
    facts.map(({ at, kind, seconds, user_id, promise_id }) => ({
      ...{ organization_id, ticket_id, at, kind, seconds: seconds ?? null, user_id: user_id ?? null },
      promise_id: promise_id ?? null,
      ...{ ...groups, label_ids },
    })),
  )
  await insertRows(sql, 'ticket_facts', rows)
}
