/** Reads the folder of migrations that drizzle-kit makes, and compares it with the database. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import type postgres from 'postgres'
import { isEarlierForm, mendsOf } from './earlier-forms'
import { MigrationError } from './migration-faults'

export type Migration = {
  /** Its file without extension: `0016_timers`. */
  name: string
  statements: string[]
  hash: string
  /** Its time in the journal, by which the database remembers it. */
  when: number
  /** It brings an earlier form of a migration that the database has to the present one. */
  replaces?: boolean
}

export const MIGRATIONS_FOLDER = path.join(import.meta.dir, '../../../drizzle')

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
 * Finds the migrations that the database lacks, and first what it lacks of one that it has in an earlier form. Takes no
 * lock.
 * @throws MigrationError when the database has migrations of a newer release, which would not expect what this one
 *   writes, or
 *   is in a state that no release leaves
 */
export async function findMissing(sql: postgres.ISql, migrations: Migration[]): Promise<Migration[]> {
  // `to_regclass` would answer from a cache, which does not know yet what another process has just committed.
  const [table] = await sql<{ version: string | null }[]>`
    select obj_description(c.oid, 'pg_class') as version from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'drizzle' and c.relname = '__drizzle_migrations'`
  if (!table) return migrations
  const rows = await sql<{ when: number; hash: string }[]>`
    select created_at::float8 as when, hash from drizzle.__drizzle_migrations order by id`
  const known = new Set(migrations.map(({ when }) => when))
  const unknown = rows.filter(({ when }) => !known.has(when)).length
  if (unknown > 0) {
    const newer = table.version ? `a newer release, ${table.version}` : 'a newer release'
    throw new MigrationError(
      `the database was migrated by ${newer} (${unknown} of its migrations are not in this one): use that release`,
    )
  }
  const hashes = new Map(rows.map(({ when, hash }) => [when, hash]))
  const missing = migrations.filter(({ when }) => !hashes.has(when))
  refuseStrange(migrations, missing, hashes)
  const applied = migrations.flatMap(({ name, when }) => (hashes.has(when) ? [[name, hashes.get(when)!] as const] : []))
  return [...mendsOf(migrations, new Map(applied)), ...missing]
}

/** @throws MigrationError when the database has another text of a migration, or a later one than one that it lacks */
function refuseStrange(migrations: Migration[], missing: Migration[], hashes: Map<number, string>): void {
  const why = 'a program that was never released has changed it. Nothing was changed now. Restore a backup of a release'
  const other = migrations.find(({ name, when, hash }) => {
    const noted = hashes.get(when)
    return noted !== undefined && noted !== hash && !isEarlierForm(name, noted)
  })
  if (other) {
    throw new MigrationError(`the database has another form of migration ${other.name} than any release: ${why}`)
  }
  const last = migrations.findLastIndex(({ when }) => hashes.has(when))
  const [below] = missing.filter((migration) => migrations.indexOf(migration) < last)
  if (below) throw new MigrationError(`the database lacks migration ${below.name} and has later ones: ${why}`)
}
