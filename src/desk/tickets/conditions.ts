/**
 * The filters of the ticket list, each told once. The query of the list, the filters of bulk changes and of views, the
 * conditions of lists and searches, and the totals that are kept follow from this table.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { TICKET_PRIORITIES, TICKET_STATUSES } from '../../base/db/schema'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { externalIdFilter, externalIdInput } from '../../base/shapes/external-id'
import { flag, oneOf, optional, text } from '../../base/shapes/fields'
import { firstIdAt, isUuid } from '../../base/shapes/ids'
import { propertyOf } from '../../base/shapes/property-of'
import {
  isMember,
  queryFlag,
  queryId,
  queryIds,
  queryInstant,
  queryMember,
  queryText,
  queryWord,
} from '../../base/shapes/query'
import { timeOf } from '../../base/shapes/time'
import { hasWords, wordsOfFilter } from '../custom/custom-words'
import type { CustomFilter } from '../custom/model'
import type { TallyKind } from '../tallies/tallies'

type Asks = 'row' | 'id' | 'labels' | 'words'

/** A condition of the list. Beside others it holds as well. */
type Condition<Query extends TSchema> = {
  /** As a parameter of a URL, and as views keep it. */
  query: Query
  /** As a field of a body. */
  body: TSchema
  /** Reads what a body has. Without it the value is the same as that of the parameter. */
  read?(given: string): Static<Query> | undefined
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

function condition<Query extends TSchema>(entry: Condition<Query>): Condition<Query> {
  return entry
}

const idInput = text({ max: 36, rule: isUuid, fault: 'must be a UUID' })
const instantInput = text({
  max: 64,
  rule: (value) => timeOf(value.trim()) !== undefined,
  fault: 'must be a time with offset, such as 2026-01-31T09:00:00Z',
})
const noWord = () => undefined

/** In the order of the documentation. */
export const CONDITIONS = {
  status: condition({
    query: queryWord(TICKET_STATUSES, { code: 'INVALID_STATUS' }),
    body: optional(oneOf(TICKET_STATUSES, { code: 'INVALID_STATUS' })),
    sql: ({ sql }, status) => sql`and t.status = ${status}`,
    asks: 'row',
    words: (_, status) => [[status]],
    counted: 'beside any',
  }),
  priority: condition({
    query: queryWord(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' }),
    body: optional(oneOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' })),
    sql: ({ sql }, priority) => sql`and ticket_rank(t.priority) = ${TICKET_PRIORITIES.indexOf(priority) + 1}`,
    asks: 'row',
    words: (_, priority) => [[priority]],
    counted: 'by priority and assignee',
  }),
  assignee_id: condition({
    query: queryMember({ description: 'A user, `me`, or `none` for unassigned tickets' }),
    body: optional(text({ max: 36, rule: isMember, fault: 'must be a UUID, me or none' })),
    sql: ({ sql }, id) => (id === 'none' ? sql`and t.assignee_id is null` : sql`and t.assignee_id = ${id}`),
    asks: 'row',
    words: (_, id) => (id === 'none' ? undefined : [[id]]),
    counted: 'by priority and assignee',
  }),
  contact_id: condition({
    query: queryId(),
    body: optional(idInput),
    sql: ({ sql }, id) => sql`and t.contact_id = ${id}`,
    asks: 'row',
    words: noWord,
    counted: { kind: 'tickets_of_contact', keys: (id) => [[id]] },
  }),
  company_id: condition({
    query: queryId(),
    body: optional(idInput),
    sql: ({ sql }, id) => sql`and t.company_id = ${id}`,
    asks: 'row',
    words: noWord,
    counted: { kind: 'tickets_of_company', keys: (id) => [[id]] },
  }),
  label_ids: condition({
    query: queryIds({ description: 'Tickets with any of these labels, separated by commas' }),
    body: optional(
      Type.Array(idInput, {
        minItems: 1,
        maxItems: 50,
        fault: 'must be a list of 1 to 50 UUIDs',
        description: 'Any of them',
      }),
    ),
    sql: isLabelled,
    asks: 'labels',
    words: (scope, ids) => (ids.length === 1 ? labelsThatExist(scope, ids) : undefined),
    counted: { kind: 'tickets_of_label', keys: (ids) => [ids] },
  }),
  search: condition({
    query: queryText({
      description:
        'Subject and messages: all words must match, "words in quotes" as a phrase, the last word also as a prefix; or a ticket code',
    }),
    body: optional(text({ min: 1, max: 255 })),
    // A text that holds no word matches nothing. For any other one a list has `found`.
    sql: ({ sql }) => sql`and false`,
    asks: 'words',
    words: noWord,
    counted: null,
  }),
  external_id: condition({
    query: externalIdFilter,
    body: optional(externalIdInput),
    sql: ({ sql }, id) => sql`and t.external_id = ${id}`,
    asks: 'row',
    words: noWord,
    counted: 'at most one',
  }),
  merged: condition({
    query: queryFlag({ description: 'Whether it was merged into another ticket' }),
    body: optional(flag()),
    sql: ({ sql }, merged) => (merged ? sql`and t.merged_into_id is not null` : sql`and t.merged_into_id is null`),
    asks: 'row',
    words: noWord,
    counted: 'by merge',
  }),
  custom: condition({
    // `queryWithCustom` gathers it of the parameters `custom.<key>`.
    query: optional(Type.Unsafe<CustomFilter>({})),
    body: optional(
      Type.Record(Type.String(), Type.String({ fault: 'must be text' }), {
        minProperties: 1,
        fault: 'must be an object with at least one text',
        description: 'As `custom.<key>` of the list',
      }),
    ),
    sql: ({ sql, organization_id }, custom) =>
      hasWords(sql, sql`t.custom_words`, wordsOfFilter(organization_id, custom)),
    asks: 'row',
    words: ({ organization_id }, custom) => wordsOfFilter(organization_id, custom),
    counted: { kind: 'tickets_of_custom', keys: (custom, organization_id) => wordsOfFilter(organization_id, custom) },
  }),
  // Times of creation are bounds of ids: every index on (organization_id, X, id) serves them.
  created_after: condition({
    query: queryInstant({ description: 'Exclusive' }),
    body: optional(instantInput),
    read: timeOf,
    sql: ({ sql }, time_ms, id) => sql`and ${id} >= ${firstIdAt(time_ms + 1)}`,
    asks: 'id',
    words: noWord,
    counted: 'by time',
  }),
  created_before: condition({
    query: queryInstant({ description: 'Exclusive' }),
    body: optional(instantInput),
    read: timeOf,
    sql: ({ sql }, time_ms, id) => sql`and ${id} < ${firstIdAt(time_ms)}`,
    asks: 'id',
    words: noWord,
    counted: 'by time',
  }),
}

export type ConditionName = keyof typeof CONDITIONS

/** The conditions of a ticket list: it shows the tickets for which all given ones hold. */
export type TicketConditions = { [Name in ConditionName]?: Static<(typeof CONDITIONS)[Name]['query']> }

const { custom: _, ...named } = CONDITIONS

/** The conditions as a query spells them, and as views keep them. Custom fields have no single parameter. */
export const TICKET_FILTERS = propertyOf(named, 'query')

/** The conditions as a body spells them. */
export const FILTER_FIELDS = propertyOf(CONDITIONS, 'body')

/** The conditions of a list, with that of its search (`isFound`) unless it holds no word. */
export type Conditions = TicketConditions & { found?: Fragment }

/** The conditions that are given, with their entries, in the order of the table. */
export function givenOf(conditions: TicketConditions) {
  return (Object.keys(CONDITIONS) as ConditionName[]).flatMap((name) => {
    const value: unknown = conditions[name]
    return value === undefined || value === '' ? [] : { name, value, entry: CONDITIONS[name] as Condition<TSchema> }
  })
}

/** Reads conditions as a body spells them. */
export function readConditions(given: Record<string, unknown>): TicketConditions {
  const values = Object.entries(given).map(([name, value]) => {
    const { read } = CONDITIONS[name as ConditionName] as Condition<TSchema>
    return [name, read ? read(value as string) : value]
  })
  return Object.fromEntries(values)
}

/**
 * Conditions as SQL, each with `and` before it.
 * @param id of the ticket, as a column
 * @param asks leaves out those that look at something else; without it all are written
 */
export function filters(scope: Scope, id: Fragment, conditions: Conditions, ...asks: Asks[]): Fragment {
  const { sql } = scope
  return givenOf(conditions)
    .filter(({ entry }) => asks.length === 0 || asks.includes(entry.asks))
    .reduce((all, { value, entry }) => {
      const found = entry.asks === 'words' ? conditions.found : undefined
      return sql`${all} ${found ?? entry.sql(scope, value, id)}`
    }, sql``)
}

/**
 * The condition of labels as a scalar, which the planner cannot turn into a join: a walk asks each ticket for its
 * labels. With `coalesce` the labels are compared one by one: an index that is searched for 50 labels took 40 us for
 * each ticket.
 */
function isLabelled({ sql, organization_id }: Scope, label_ids: string[], id: Fragment): Fragment {
  return sql`and (
    select true from ticket_labels where organization_id = ${organization_id} and ticket_id = ${id}
      and coalesce(label_id, label_id) = any(${label_ids}::uuid[]) limit 1
  )`
}

/** The word of a label stays in documents when the label is deleted. */
async function labelsThatExist({ sql, organization_id }: Scope, ids: string[]): Promise<string[][]> {
  const labels = await sql<{ id: string }[]>`
    select id from labels where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return [labels.map(({ id }) => id)]
}
