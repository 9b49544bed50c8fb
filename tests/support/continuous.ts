/** Services with a continuous backup in tests, and restores of it. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import postgres from 'postgres'
import { connectionTo } from '../../src/base/db/embedded/access'
import { OWNER } from '../../src/base/db/embedded/data-directory'
import { prepareHome } from '../../src/base/db/embedded/home'
import type { BackupState } from '../../src/operate/continuous/state'
import { type Ended, runCli } from './backups'
import { until } from './service'

/** The key that the services of a test have: a backup holds none. */
export const SECRET_KEY = 'a secret key that only tests of backups use'

/** The notes of a service about its backup. */
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

/** The content of an object without encryption: zstd skips all else. */
export function contentOfObject(folder: string, name: string): Buffer {
  const zstd = spawnSync('zstd', ['-dc'], { input: fs.readFileSync(path.join(folder, name)), maxBuffer: 1e9 })
  if (zstd.error) throw zstd.error
  return zstd.stdout
}

/** Writes an object in the form that anybody can make: with a checksum, and without a proof whose it is. */
export function forgeObject(folder: string, name: string, content: Buffer): void {
  const note = (magic: number, data: Buffer) => {
    const header = Buffer.alloc(8)
    header.writeUInt32LE(0x184d2a50 + magic, 0)
    header.writeUInt32LE(data.length, 4)
    return Buffer.concat([header, data])
  }
  const blocks: Buffer[] = []
  for (let at = 0; at < content.length; at += 1024 * 1024) {
    const frame = zstdCompressSync(content.subarray(at, at + 1024 * 1024))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(frame.length)
    blocks.push(note(1, length), frame)
  }
  const sha256 = createHash('sha256').update(content).digest('hex')
  const [head, end] = [{ name }, { size: content.length, sha256 }].map((each) => Buffer.from(JSON.stringify(each)))
  fs.writeFileSync(path.join(folder, name), Buffer.concat([note(0, head!), ...blocks, note(2, end!)]))
}
