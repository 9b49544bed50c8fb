/**
 * `npm run migration -- --name words`: writes the migration to the schema of the program, and what the schema is then.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startEmbedded } from '../src/base/db/embedded/supervise'
import { migrateDatabase } from '../src/base/db/migrate'
import { withSession } from '../src/base/db/session'
import { withoutTables } from './checks'
import { dumpSchema } from './dump'

const KIT = path.join(import.meta.dirname, '../node_modules/drizzle-kit/bin.cjs')
const CONFIG = path.join('drizzle', 'config.ts')

const known = listMigrations()
const { status } = spawnSync(
  process.execPath,
  ['--bun', KIT, 'generate', `--config=${CONFIG}`, ...process.argv.slice(2)],
  { stdio: 'inherit', cwd: path.join(import.meta.dirname, '..') },
)
if (status !== 0) process.exit(status ?? 1)

for (const file of listMigrations().filter((one) => !known.includes(one))) {
  writeFileSync(file, withoutTables(readFileSync(file, 'utf8')))
}
keepLastSnapshot(path.join(import.meta.dirname, 'meta'))
const folder = mkdtempSync(path.join(tmpdir(), 'deskwire-migration-'))
const server = await startEmbedded(folder)
try {
  await migrateDatabase(server.connection)
  const schema = await withSession(server.connection, dumpSchema)
  writeFileSync(path.join(import.meta.dirname, 'schema.sql'), schema)
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

/**
 * The generator reads the last snapshot alone. Nobody else reads it: in one line it does not hide the rest of a change.
 */
function keepLastSnapshot(meta: string): void {
  const files = readdirSync(meta)
    .filter((file) => file.endsWith('_snapshot.json'))
    .sort()
    .map((file) => path.join(meta, file))
  const last = files.pop()!
  for (const file of files) rmSync(file)
  writeFileSync(last, `${JSON.stringify(JSON.parse(readFileSync(last, 'utf8')))}\n`)
}

function listMigrations(): string[] {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.sql') && file !== 'schema.sql')
  return files.map((file) => path.join(import.meta.dirname, file))
}
