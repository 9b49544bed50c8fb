/** The common parts of tables: their kinds, columns, keys and checks. */
import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  date,
  foreignKey,
  index,
  integer,
  jsonb,
  numeric,
  pgTableCreator,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { id } from '../columns'
import { TALLY_KINDS, TICKET_STATUSES } from './word-lists'

/**
 * Where the rows of a table are when the database is spread over several machines (`cluster/distribute.ts`). On one
 * machine it means nothing.
 * - distributed: with the other rows of their organization, on one of the machines;
 * - reference: a copy on every machine, for what is read over all organizations or written seldom;
 * - local: on the first machine alone, for what has no organization, or must be written while the others are away.
 */
export type TableKind = 'distributed' | 'reference' | 'local'

/** The kinds of all tables, by name. */
export const TABLE_KINDS = new Map<string, TableKind>()

export const distributedTable = tableOfKind('distributed')

export const referenceTable = tableOfKind('reference')

export const localTable = tableOfKind('local')

function tableOfKind(kind: TableKind) {
  return pgTableCreator((name) => {
    TABLE_KINDS.set(name, kind)
    return name
  })
}

export function figure() {
  return bigint({ mode: 'number' }).notNull().default(0)
}

/**
 * Key columns of tables that are written often. Their other keys prove the organization; this one would lock its row.
 */
export function tenant() {
  return { organization_id: uuid().notNull(), id: id() }
}

/** Columns of what moves when tickets are merged. */
export function moved() {
  return {
    /** The ticket that it was written on; null while it is there. */
    original_ticket_id: uuid(),
  }
}

/** Columns for custom fields, with their words (`desk/custom/custom-words.ts`): null when there are none. */
export function customFields() {
  return {
    custom: jsonb().$type<Record<string, string | number | boolean | string[]>>().notNull().default({}),
    custom_words: uuid().array(),
  }
}

/** The index of such words: each belongs to one organization. */
export function withWords(name: string, words: AnyPgColumn) {
  return index(name).using('gin', words).where(sql`${words} is not null`)
}

/** Columns of a tally and of its changes. */
export function tallied() {
  return {
    kind: text({ enum: TALLY_KINDS }).notNull(),
    /**
     * Id of the contact, company or label, word of a custom field, zeros for all tickets and for no company. Of a day
     * the first id that can be made on it.
     */
    key: uuid().notNull(),
    /** Status of the tickets; null for contacts. */
    status: text({ enum: TICKET_STATUSES }),
    n: integer().notNull(),
  }
}

/** Columns of the sums of a day and of their changes. */
export function summedUp() {
  return {
    date: date().notNull(),
    currency: text().notNull(),
    billable: boolean().notNull(),
    entries: integer().notNull(),
    minutes: bigint({ mode: 'number' }).notNull(),
    /** Entries that have a rate, and so an amount. */
    priced: integer().notNull(),
    amount: numeric({ mode: 'number' }).notNull(),
  }
}

/**
 * A foreign key inside the organization. By default a deletion clears only the second column. drizzle-kit cannot
 * express `on delete set null (column)`, so that is written into the migration by hand.
 */
export function reference(
  name: string,
  columns: [AnyPgColumn, AnyPgColumn],
  table: { organization_id: AnyPgColumn; id: AnyPgColumn },
  onDelete: 'set null' | 'cascade' | 'restrict' = 'set null',
) {
  return foreignKey({ name: `${name}_fk`, columns, foreignColumns: [table.organization_id, table.id] }).onDelete(
    onDelete,
  )
}

export function isOneOf(column: AnyPgColumn, words: readonly string[]) {
  return sql`${column} in (${sql.raw(words.map((word) => `'${word}'`).join(', '))})`
}

/** The form of `desk/attachments/storage-key.ts`: another key could lead to other files of the machine. */
export function isStorageKey(column: AnyPgColumn, folder: string) {
  return sql`${column} ~ ${sql.raw(`'^${folder}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`)}`
}

export function isRate(column: AnyPgColumn) {
  return sql`${column} between 0 and 1000000`
}

export function isCurrency(column: AnyPgColumn) {
  return sql`${column} ~ '^[A-Z]{3}$'`
}

export function isPrefix(column: AnyPgColumn) {
  return sql`${column} ~ '^[A-Z][A-Z0-9]{0,9}$'`
}
