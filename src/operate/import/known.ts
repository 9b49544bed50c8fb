/** Rows of earlier imports: which row a key is here, and what it was like when it was imported. */
import { insertRows } from '../../base/db/insert-rows'
import type { Scope } from '../../base/scope'
import { hashOf } from './key-hashes'

/** Kinds that others refer to. */
export const REFERRED = ['companies', 'users', 'contacts', 'labels', 'teams', 'tickets'] as const
export type Referred = (typeof REFERRED)[number]

export type KnownRow = { row_id: string; digest: string | null; state: string | null }

/** The hash by which a key of a kind is known. */
export function keyOf(kind: string, key: string): string {
  return hashOf(kind, key)
}

/** Reads what is known of keys. @param keys as `keyOf` gives them @returns by key */
export async function findKnown(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  keys: string[],
): Promise<Map<string, KnownRow>> {
  if (keys.length === 0) return new Map()
  const rows = await sql<(KnownRow & { key: string })[]>`
    select key, row_id, digest, state from imported_rows
    where organization_id = ${organization_id} and key = any(${[...new Set(keys)]}::uuid[])`
  return new Map(rows.map(({ key, ...row }) => [key, row]))
}

/** Notes rows that were imported, each under its own key and under others by which they are referred to. */
export async function noteKnown(
  { sql, organization_id }: Scope,
  noted: { keys: string[]; row_id: string; digest: string; state: string }[],
): Promise<void> {
  const rows = noted.flatMap(({ keys: [own, ...others], row_id, digest, state }) => [
    { organization_id, key: own!, row_id, digest, state },
    ...others.map((key) => ({ organization_id, key, row_id, digest: null, state: null })),
  ])
  // The first of two keys that are the same counts; a statement may touch a row once.
  const by_key = new Map(rows.toReversed().map((row) => [row.key, row]))
  await insertRows(
    sql,
    'imported_rows',
    [...by_key.values()],
    sql`on conflict (organization_id, key) do update
      set row_id = excluded.row_id, digest = excluded.digest, state = excluded.state`,
  )
}

/** Makes imports of an organization take turns, until the transaction ends. */
export async function lockImport({ sql, organization_id }: Scope): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`import ${organization_id}`}, 0))`
}

/**
 * Finds the rows that keys name, and keeps them until the transaction ends. A contact that was merged is the contact
 * that it is now.
 * @param row_ids as they were imported
 * @returns ids by the ids of the import; what was deleted here is missing
 */
export async function holdRows(scope: Scope, kind: Referred, row_ids: string[]): Promise<Map<string, string>> {
  if (row_ids.length === 0) return new Map()
  const { sql, organization_id } = scope
  const ids = [...new Set(row_ids)]
  if (kind === 'users') {
    const members = await sql<{ id: string }[]>`
      select user_id as id from memberships where organization_id = ${organization_id} and user_id = any(${ids}::uuid[])`
    return new Map(members.map(({ id }) => [id, id]))
  }
  const merged =
    kind === 'contacts'
      ? await sql<{ id: string; contact_id: string }[]>`
          select id, contact_id from merged_contacts
          where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
      : []
  const wanted = new Map(ids.map((id) => [id, id]))
  for (const { id, contact_id } of merged) wanted.set(id, contact_id)
  const held = await sql<{ id: string }[]>`
    select id from ${sql(kind)} where organization_id = ${organization_id} and id = any(${[...wanted.values()]}::uuid[])
    order by id for key share`
  const there = new Set(held.map(({ id }) => id))
  return new Map([...wanted].filter(([, id]) => there.has(id)))
}
