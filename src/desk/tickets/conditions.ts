/**
 * The filters of the ticket list, each told once. The query of the list, the filters of bulk changes and of views, the
 * conditions of lists and searches, and the totals that are kept follow from this table.
 */
import { type Static, Type } from '@sinclair/typebox'
import { RATING_SCORES, TICKET_PRIORITIES, TICKET_STATUSES } from '../../base/db/schema'
import { externalIdFilter, externalIdInput } from '../../base/shapes/external-id'
import { flag, instantInput, oneOf, optional, someOf, text } from '../../base/shapes/fields'
import { firstIdAt, isUuid } from '../../base/shapes/ids'
import { propertyOf } from '../../base/shapes/property-of'
import {
  isIdOrNone,
  isMember,
  queryFlag,
  queryId,
  queryIdOrNone,
  queryIds,
  queryInstant,
  queryMember,
  queryText,
  queryWord,
  queryWords,
} from '../../base/shapes/query'
import { timeOf } from '../../base/shapes/time'
import { hasWords, wordsOfFilter } from '../custom/custom-words'
import { type CustomFilter, CustomFilterValue } from '../custom/model'
import { isUnread } from '../read-marks/unread'
import { condition, hasDraft, inPriority, inStatus, isDue, isLabelled, isWaiting, labelsThatExist } from './condition'

const idInput = text({ max: 36, rule: isUuid, fault: 'must be a UUID' })
const noWord = () => undefined
/** A condition on the row alone, of which no number is kept. */
const OF_ROW = { asks: 'row', words: noWord, counted: null } as const
const wordsIn = <Word>(given: Word | Word[]): Word[] => [...new Set([given].flat() as Word[])]

/** In the order of the documentation. */
export const CONDITIONS = {
  status: condition({
    query: queryWords(TICKET_STATUSES, { code: 'INVALID_STATUS' }),
    body: optional(someOf(TICKET_STATUSES, { code: 'INVALID_STATUS' })),
    read: wordsIn,
    sql: ({ sql }, statuses) => sql`and ${inStatus(sql, statuses)}`,
    asks: 'row',
    words: (_, statuses) => [statuses],
    counted: 'beside any',
  }),
  priority: condition({
    query: queryWords(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' }),
    body: optional(someOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' })),
    read: wordsIn,
    sql: ({ sql }, priorities) => sql`and ${inPriority(sql, priorities)}`,
    asks: 'row',
    words: (_, priorities) => [priorities],
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
    is_indexed: true,
  }),
  company_id: condition({
    query: queryId(),
    body: optional(idInput),
    sql: ({ sql }, id) => sql`and t.company_id = ${id}`,
    asks: 'row',
    words: noWord,
    counted: { kind: 'tickets_of_company', keys: (id) => [[id]] },
    is_indexed: true,
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
    sql: (scope, ids, id) => scope.sql`and ${isLabelled(scope, ids, id)}`,
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
  parent_id: condition({
    query: queryId({ description: 'Tickets with this parent' }),
    body: optional(idInput),
    sql: ({ sql, organization_id }, id) => sql`
      and t.parent_id = any(array(
        select p.id from tickets p
        where p.organization_id = ${organization_id} and p.deleted_at is null
          and (p.merged_into_id = ${id} or (p.id = ${id} and p.merged_into_id is null))
      ))`,
    ...OF_ROW,
  }),
  merged: condition({
    query: queryFlag({ description: 'Whether it was merged into another ticket' }),
    body: optional(flag()),
    sql: ({ sql }, merged) => (merged ? sql`and t.merged_into_id is not null` : sql`and t.merged_into_id is null`),
    asks: 'row',
    words: noWord,
    counted: 'by merge',
  }),
  snoozed: condition({
    query: queryFlag({ description: 'Whether it is pending until a moment' }),
    body: optional(flag()),
    sql: ({ sql }, snoozed) =>
      snoozed
        ? sql`and t.status = 'pending' and t.snoozed_until is not null`
        : sql`and (t.status <> 'pending' or t.snoozed_until is null)`,
    ...OF_ROW,
  }),
  team_id: condition({
    query: queryIdOrNone({ description: 'A team, or `none` for tickets of no team' }),
    body: optional(text({ max: 36, rule: isIdOrNone, fault: 'must be a UUID or none' })),
    sql: ({ sql }, id) => (id === 'none' ? sql`and t.team_id is null` : sql`and t.team_id = ${id}`),
    ...OF_ROW,
    is_indexed: true,
  }),
  mailbox_id: condition({
    query: queryId({ description: 'Tickets of this mailbox' }),
    body: optional(idInput),
    sql: ({ sql }, id) => sql`and t.mailbox_id = ${id}`,
    ...OF_ROW,
    is_indexed: true,
  }),
  rating: condition({
    query: queryWord(RATING_SCORES, { description: 'Tickets whose contact has said so' }),
    body: optional(oneOf(RATING_SCORES)),
    sql: ({ sql }, score) => sql`and t.rating_score = ${score}`,
    ...OF_ROW,
    is_indexed: true,
  }),
  sla: condition({
    query: queryWord(['breached', 'due_soon'], {
      description: '`breached`: a promise is; `due_soon`: the last fifth of one runs that ends next',
    }),
    body: optional(oneOf(['breached', 'due_soon'])),
    sql: ({ sql }, word) => sql`and ${isDue(sql, word)}`,
    ...OF_ROW,
    is_indexed: true,
  }),
  waiting: condition({
    query: queryFlag({ description: 'Whether a customer waits for an answer' }),
    body: optional(flag()),
    sql: ({ sql }, waiting) => sql`and ${isWaiting(sql, waiting)}`,
    ...OF_ROW,
  }),
  has_draft: condition({
    query: queryFlag({
      description: 'Whether somebody has begun an answer or a note. A key needs `drafts:read`',
      'x-needs': 'drafts:read',
    }),
    body: optional(flag()),
    sql: (scope, has_draft, id) => scope.sql`and ${hasDraft(scope, has_draft, id)}`,
    ...OF_ROW,
  }),
  unread: condition({
    query: queryFlag({ description: 'Whether the caller, a person, has something to read there', 'x-needs': 'member' }),
    body: optional(flag()),
    sql: (scope, unread, id) =>
      unread ? scope.sql`and ${isUnread(scope, id)}` : scope.sql`and not ${isUnread(scope, id)}`,
    ...OF_ROW,
  }),
  custom: condition({
    // `queryWithCustom` gathers it of the parameters `custom.<key>`.
    query: optional(Type.Unsafe<CustomFilter>({})),
    body: optional(
      Type.Record(Type.String(), CustomFilterValue, {
        minProperties: 1,
        fault: 'must be an object with at least one field',
        description: 'As `custom.<key>` of the list, with the values of JSON',
      }),
    ),
    read: (given: Record<string, string | number | boolean>) =>
      Object.fromEntries(Object.entries(given).map(([key, value]) => [key, String(value)])),
    sql: ({ sql, organization_id }, custom) =>
      hasWords(sql, sql`t.custom_words`, wordsOfFilter(organization_id, custom)),
    asks: 'row',
    words: ({ organization_id }, custom) => wordsOfFilter(organization_id, custom),
    counted: { kind: 'tickets_of_custom', keys: (custom, organization_id) => wordsOfFilter(organization_id, custom) },
  }),
  // Times of creation are bounds of ids: every index on (organization_id, X, id) serves them.
  created_after: condition({
    query: queryInstant({ description: 'Exclusive' }),
    body: optional(instantInput()),
    read: timeOf,
    sql: ({ sql }, time_ms, id) => sql`and ${id} >= ${firstIdAt(time_ms + 1)}`,
    asks: 'id',
    words: noWord,
    counted: 'by time',
  }),
  created_before: condition({
    query: queryInstant({ description: 'Exclusive' }),
    body: optional(instantInput()),
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
