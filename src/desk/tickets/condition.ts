/** The form of a condition of the ticket list, and the SQL of those that are longer than a line. */
import type { Static, TSchema } from '@sinclair/typebox'
import { TICKET_PRIORITIES, type TICKET_STATUSES } from '../../base/db/schema'
import { dueKey, LAST_ID, messageKey } from '../../base/db/schema/ticket-order'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import type { TallyKind } from '../tallies/tallies'

type TicketStatus = (typeof TICKET_STATUSES)[number]
type TicketPriority = (typeof TICKET_PRIORITIES)[number]

export type Asks = 'row' | 'id' | 'labels' | 'words'

/** A condition of the list. Beside others it holds as well. */
export type Condition<Query extends TSchema> = {
  /** As a parameter of a URL, and as views keep it. */
  query: Query
  /** As a field of a body. */
  body: TSchema
  /** Reads what a body has. Without it the value is the same as that of the parameter. */
  read?(given: never): Static<Query> | undefined
  /** Writes it as SQL that begins with `and`, on `tickets t`, whose id is given. */
  sql(scope: Scope, value: Static<Query>, id: Fragment): Fragment
  /** The part that the SQL looks at: the row of the ticket, its id alone, its labels, or its search document. */
  asks: Asks
  /**
   * Gives lists of facets of the search document (`desk/search/words.ts`): the ticket has one of each list.
   * @returns undefined for a value that is no facet
   */
  words(scope: Scope, value: Static<Query>): string[][] | Promise<string[][]> | undefined
  /** The number of its tickets. */
  counted: Counted<Static<Query>>
  /** An index has its tickets by time of creation, whatever else is asked for. */
  is_indexed?: true
}

/**
 * How the number of tickets is kept: for the condition alone or beside a status, for priority and assignee together, or
 * for times together. `beside any` of them is the status. At most one ticket has an external id. `null`: it is counted.
 */
type Counted<Value> =
  | 'beside any'
  | 'by priority and assignee'
  | 'by time'
  | 'by merge'
  | 'at most one'
  | null
  | { kind: TallyKind; keys(value: Value, organization_id: string): string[][] }

export function condition<Query extends TSchema>(entry: Condition<Query>): Condition<Query> {
  return entry
}

/** SQL: a ticket `t` has one of these statuses. For one it is an equality, whose plan is kept. */
export function inStatus(sql: Sql, statuses: TicketStatus[], column = sql`t.status`): Fragment {
  return statuses.length === 1 ? sql`${column} = ${statuses[0]!}` : sql`${column} = any(${statuses}::text[])`
}

/** SQL: a ticket `t` has one of these priorities. */
export function inPriority(sql: Sql, priorities: TicketPriority[]): Fragment {
  const ranks = priorities.map(rankOf)
  const rank = sql`ticket_rank(t.priority)`
  return ranks.length === 1 ? sql`${rank} = ${ranks[0]!}` : sql`${rank} = any(${ranks}::integer[])`
}

/** The value of `ticket_rank`. */
export function rankOf(priority: TicketPriority): number {
  return TICKET_PRIORITIES.indexOf(priority) + 1
}

/** SQL: a customer waits for an answer to a ticket `t`. */
export function isWaiting(sql: Sql, waiting: boolean): Fragment {
  const waits = sql`t.waiting_message_id is not null and t.status in ('open', 'pending')`
  if (!waiting) return sql`not (${waits})`
  // The columns tell the planner how few wait, the key has an index.
  return sql`${waits} and ${sql.unsafe(`${messageKey('waiting_since', 'asc', 't.')} < '${LAST_ID}'::uuid`)}`
}

/** SQL: a ticket has a draft. */
export function hasDraft({ sql, organization_id }: Scope, has_draft: boolean, id: Fragment): Fragment {
  const draft = sql`exists (
    select 1 from drafts d where d.organization_id = ${organization_id} and d.ticket_id = ${id}
  )`
  return has_draft ? draft : sql`not ${draft}`
}

/**
 * The condition of labels as a scalar, which the planner cannot turn into a join: a walk asks each ticket for its
 * labels. With `coalesce` the labels are compared one by one: an index that is searched for 50 labels took 40 us for
 * each ticket.
 */
export function isLabelled({ sql, organization_id }: Scope, label_ids: string[], id: Fragment): Fragment {
  return sql`(
    select true from ticket_labels where organization_id = ${organization_id} and ticket_id = ${id}
      and coalesce(label_id, label_id) = any(${label_ids}::uuid[]) limit 1
  )`
}

/** The word of a label stays in documents when the label is deleted. */
export async function labelsThatExist({ sql, organization_id }: Scope, ids: string[]): Promise<string[][]> {
  const labels = await sql<{ id: string }[]>`
    select id from labels where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return [labels.map(({ id }) => id)]
}

/** Tells whether a promise of `tickets t` is breached, or the last fifth of the one runs that ends next. */
export function isDue(sql: Sql, word: 'breached' | 'due_soon'): Fragment {
  const due_at = sql.unsafe(dueKey('asc', 't.'))
  const now = sql`${new Date(sharedTime()).toISOString()}::timestamptz`
  if (word === 'breached') return sql`${due_at} <= ${now}`
  return sql`${due_at} > ${now} and ${due_at} < 'infinity' and t.sla_soon_at <= ${now}`
}
