/** Reads the folder of migrations that drizzle-kit makes, and compares it with the database. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import type postgres from 'postgres'
import { MigrationError } from './migration-faults'

export type Migration = {
  /** Its file without extension: `0016_timers`. */
  name: string
  statements: string[]
  hash: string
  /** Its time in the journal, by which the database remembers it. */
  when: number
}

/** The release whose schema the first migration makes. A database of one before cannot be migrated by this one. */
const BASE = 'release 0.2.0 (commit dd9e549b)'
/** SHA-256 of the last migration of that release, in whose place its databases have the first one of this release. */
const LAST_OF_BASE = 'ff2f7590971668788f4844158f671678517772b1f4e3d2da0975536c446c38fe'

export const MIGRATIONS_FOLDER = path.join(import.meta.dirname, '../../../drizzle')

/** All migrations in their order. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<Migration[]> {
  const text = await readFile(path.join(folder, 'meta/_journal.json'), 'utf8')
  const journal: { entries: { when: number; tag: string }[] } = JSON.parse(text)
  const names = new Map(journal.entries.map(({ when, tag }) => [when, tag]))
  return readMigrationFiles({ migrationsFolder: folder }).map(({ sql, hash, folderMillis }) => ({
    name: names.get(folderMillis) ?? String(folderMillis),
    statements: sql.filter((statement) => statement.trim()),
    hash,
    when: folderMillis,
  }))
}

/**
 * Leaves the migrations of a database, by their times, that this release has as well: what came before the first one is
 * part of it.
 * @param whens in their order
 * @throws MigrationError when all of them came before the first one
 */
export function sinceBase(migrations: Migration[], whens: number[]): number[] {
  const since = whens.filter((when) => when >= migrations[0]!.when)
  if (since.length > 0 || whens.length === 0) return since
  throw new MigrationError(
    `the database is older than ${BASE}: use that one first, which brings it to its own schema, then this one`,
  )
}

/**
 * Finds the migrations that the database lacks. Takes no lock.
 * @throws MigrationError when the database has migrations of a newer release, which would not expect what this one
 *   writes, is older than any that this release can migrate, or is in a state that no release leaves
 */
export async function findMissing(sql: postgres.ISql, migrations: Migration[]): Promise<Migration[]> {
  // `to_regclass` would answer from a cache, which does not know yet what another process has just committed.
  const [table] = await sql<{ version: string | null }[]>`
    select obj_description(c.oid, 'pg_class') as version from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'drizzle' and c.relname = '__drizzle_migrations'`
  if (!table) return migrations
  const rows = await sql<{ when: number; hash: string }[]>`
    select created_at::float8 as when, hash from drizzle.__drizzle_migrations order by id`
  const hashes = new Map(rows.map(({ when, hash }) => [when, hash]))
  const known = new Set(migrations.map(({ when }) => when))
  const unknown = sinceBase(migrations, [...hashes.keys()]).filter((when) => !known.has(when)).length
  if (unknown > 0) {
    const newer = table.version ? `a newer release, ${table.version}` : 'a newer release'
    throw new MigrationError(
      `the database was migrated by ${newer} (${unknown} of its migrations are not in this one): use that release`,
    )
  }
  const missing = migrations.filter(({ when }) => !hashes.has(when))
  refuseStrange(migrations, missing, hashes)
  return missing
}

/** @throws MigrationError when the database has another text of a migration, or a later one than one that it lacks */
function refuseStrange(migrations: Migration[], missing: Migration[], hashes: Map<number, string>): void {
  const why = 'a program that was never released has changed it. Nothing was changed now. Restore a backup of a release'
  const other = migrations.find(({ when, hash }, index) => {
    const noted = hashes.get(when)
    return noted !== undefined && noted !== hash && !(index === 0 && noted === LAST_OF_BASE)
  })
  if (other) {
    throw new MigrationError(`the database has another form of migration ${other.name} than any release: ${why}`)
  }
  const last = migrations.findLastIndex(({ when }) => hashes.has(when))
  const [below] = missing.filter((migration) => migrations.indexOf(migration) < last)
  if (below) throw new MigrationError(`the database lacks migration ${below.name} and has later ones: ${why}`)
}
