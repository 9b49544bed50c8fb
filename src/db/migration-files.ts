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

export const MIGRATIONS_FOLDER = path.join(import.meta.dir, '../../drizzle')

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
 * Finds the migrations that the database lacks. Takes no lock.
 * @throws MigrationError when the database has migrations of a newer release, which would not expect what this one writes
 */
export async function findMissing(sql: postgres.ISql, migrations: Migration[]): Promise<Migration[]> {
  const [table] = await sql<{ exists: boolean }[]>`
    select exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'drizzle' and c.relname = '__drizzle_migrations'
    ) as exists`
  if (!table!.exists) return migrations
  const rows = await sql<{ when: number }[]>`
    select created_at::float8 as when from drizzle.__drizzle_migrations order by id`
  const known = new Set(migrations.map(({ when }) => when))
  const unknown = rows.filter(({ when }) => !known.has(when)).length
  if (unknown > 0) {
    throw new MigrationError(
      `the database was migrated by a newer release (${unknown} of its migrations are not in this one): use that release`,
    )
  }
  const last = rows.reduce((latest, { when }) => Math.max(latest, when), 0)
  return migrations.filter(({ when }) => when > last)
}
