/**
 * The orders of ticket lists, each told once. The sorts of the query, the order of SQL, the positions of cursors and
 * the columns that matches bring along until they are sorted follow from here.
 */
import { dueKey, messageKey } from '../../base/db/schema/ticket-order'
import type { Fragment, Sql } from '../../base/db/transact'
import { exactTime } from '../../base/shapes/settled'
import type { Sorting } from '../../base/shapes/sorting'

/** The fields of a page's row that its keys are read from. */
export type SortedRow = {
  id: string
  priority: string
  /** `updated_at` with all its digits, in a list that is sorted by it. */
  changed_at: string
  /** The message that the time is taken from, in a list that is sorted by one. */
  sort_id: string
  /** When the promise that is shown is due, with all digits, in a list that is sorted by it. */
  sort_due: string
}

type Key = {
  /** The columns of `tickets t` that it is computed from. */
  columns: string[]
  /** The value in SQL. */
  sql(sql: Sql, direction: Order['direction']): Fragment
  /** The field of a row from which a cursor takes it. */
  field: Exclude<keyof SortedRow, 'id'>
  /** That field as a column, unless the ticket itself has it. */
  extra?(sql: Sql, direction: Order['direction']): Fragment
  /** Makes of the field's value one that the value in SQL is compared with. */
  bound?(sql: Sql, value: string | number): Fragment
  /** An ascending list has no end for its readers: what changes comes later. */
  is_followed?: true
}

/** Lists by time of creation need none: an id begins with that time. */
const KEYS = {
  updated_at: {
    columns: ['updated_at'],
    sql: (sql) => sql`t.updated_at`,
    field: 'changed_at',
    extra: (sql) => sql`${exactTime(sql, sql`t.updated_at`)} as changed_at`,
    is_followed: true,
  },
  priority: {
    columns: ['priority'],
    sql: (sql) => sql`ticket_rank(t.priority)`,
    field: 'priority',
    bound: (sql, priority) => sql`ticket_rank(${priority})`,
  },
  last_message_at: byMessage('last_message_at', ['last_message_id']),
  waiting_since: byMessage('waiting_since', ['status', 'waiting_message_id']),
  due_at: {
    columns: ['sla_due_at'],
    sql: (sql, direction) => sql.unsafe(dueKey(direction, 't.')),
    field: 'sort_due',
    extra: (sql, direction) => sql`${sql.unsafe(dueKey(direction, 't.'))}::text as sort_due`,
    bound: (sql, due) => sql`${due}::text::timestamptz`,
  },
} satisfies Record<string, Key>

/** An order by the time of a message, which its id begins with. Tickets without one come last, in both directions. */
function byMessage(sort: Parameters<typeof messageKey>[0], columns: string[]): Key {
  const key: Key['sql'] = (sql, direction) => sql.unsafe(messageKey(sort, direction, 't.'))
  return {
    columns,
    sql: key,
    field: 'sort_id',
    extra: (sql, direction) => sql`${key(sql, direction)} as sort_id`,
    bound: (sql, id) => sql`${id}::uuid`,
  }
}

type Named = keyof typeof KEYS
type Sortable = 'created_at' | Named
export type TicketSort = Sortable | `-${Sortable}`

const SORTABLE: Sortable[] = ['created_at', ...(Object.keys(KEYS) as Named[])]

/** The sorts of a list, `-` for descending. */
export const TICKET_SORTS = SORTABLE.flatMap((name): TicketSort[] => [name, `-${name}`])

/** Ties are broken by id, in the same direction. */
export type Order = { by: 'id' | Named; direction: 'asc' | 'desc' }

/** The order of a list, newest first unless it has a sort. */
export function orderOf(sort: TicketSort = '-created_at'): Order {
  const name = sort.replace('-', '') as Sortable
  return { by: name === 'created_at' ? 'id' : name, direction: sort.startsWith('-') ? 'desc' : 'asc' }
}

/** SQL for the value that a list is sorted by, on `tickets t`. */
export function keyOf(sql: Sql, { by, direction }: Order): Fragment {
  return by === 'id' ? sql`t.id` : keyNamed(by).sql(sql, direction)
}

/**
 * The order as `page` walks it.
 * @param key the statement's own, if it is another column than that of `tickets t`
 * @param id breaks ties
 */
export function sorting(sql: Sql, order: Order, key = keyOf(sql, order), id = sql`t.id`): Sorting<SortedRow> {
  const { by, direction } = order
  const last = { sql: id, field: 'id' } as const
  if (by === 'id') return { keys: [last], direction }
  const { field, bound, is_followed } = keyNamed(by)
  const first = { sql: key, field, ...(bound && { bound: (value: string | number) => bound(sql, value) }) }
  return { keys: [first, last], direction, ...(is_followed && direction === 'asc' && { end: 'followed' }) }
}

/** The columns that matches bring along until they are sorted, of `tickets t`. */
export function columnsToSort(sql: Sql): Fragment {
  const names = new Set(['id', ...Object.values<Key>(KEYS).flatMap(({ columns }) => columns)])
  return sql.unsafe([...names].map((name) => `t.${name}`).join(', '))
}

/** The columns of a ticket's place in an order, of `tickets t`. */
export function columnsOfPlace(sql: Sql, order: Order): Fragment {
  const columns = order.by === 'id' ? [] : keyNamed(order.by).columns
  return sql`${sql.unsafe(['id', ...columns].map((name) => `t.${name}`).join(', '))} ${extraColumn(sql, order)}`
}

/** The column of a page's rows beside those of tickets, with a comma before it. */
export function extraColumn(sql: Sql, { by, direction }: Order): Fragment {
  const extra = by === 'id' ? undefined : keyNamed(by).extra?.(sql, direction)
  return extra ? sql`, ${extra}` : sql``
}

function keyNamed(name: Named): Key {
  return KEYS[name]
}
