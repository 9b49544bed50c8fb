/** Services with a continuous backup in tests, and restores of it. */
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { connectionTo } from '../../src/base/db/embedded/access'
import { OWNER } from '../../src/base/db/embedded/data-directory'
import { prepareHome } from '../../src/base/db/embedded/home'
import type { BackupState } from '../../src/operate/continuous/state'
import { type Ended, runCli } from './backups'
import { until } from './service'

/** The key that the services of a test have: a backup holds none. */
export const SECRET_KEY = 'a secret key that only tests of backups use'

/** What a service noted of its backup. */
export function readBackupState(data_dir: string): BackupState | undefined {
  try {
    return JSON.parse(fs.readFileSync(path.join(data_dir, 'backup.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** Waits until everything that was committed before now is in the backup. */
export async function untilCovered(data_dir: string): Promise<void> {
  const now = new Date().toISOString()
  await until(`the backup has what came before ${now}`, () => (readBackupState(data_dir)?.covered_until ?? '') > now)
}

/** Works in the embedded database of a running service, as its superuser. */
export async function inDatabase<T>(data_dir: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres({ ...connectionTo(prepareHome(data_dir, 5432), OWNER), max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

/** Restores into a new DATA_DIR. */
export function restoreTo(data_dir: string, source: string, options: string[] = [], env = {}): Promise<Ended> {
  return runCli(['restore', source, ...options], { DATA_DIR: data_dir, SECRET_KEY, ...env })
}

/** Names of objects in a folder of backups. */
export function objectsIn(folder: string, part = ''): string[] {
  const all = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return all.filter((name) => name.includes(part) && fs.statSync(path.join(folder, name)).isFile()).toSorted()
}
