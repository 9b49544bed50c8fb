/**
 * Exports an organization to a folder: a file of JSON lines for each kind of thing, in the shapes of the API, and the
 * files of its messages and mail. It reads one moment of the database, in steps, and holds no secret.
 */
import path from 'node:path'
import { version } from '../../../package.json'
import { audit, OPERATOR } from '../../base/audit/audit'
import { NO_LIMITS } from '../../base/db/driver-client'
import { connection } from '../../base/db/pool'
import { type Connection, transact } from '../../base/db/transact'
import { type Progress, startProgress } from '../../base/long-work'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { holdRemovals } from '../../desk/attachments/removals'
import { fileStore, storage } from '../../desk/attachments/storage'
import type { Store } from '../../desk/attachments/store'
import { openDatabase } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { BackupError, DamagedFilesError, explained } from './backup-error'
import { fileNames, KINDS, type Kind } from './export-kinds'
import { enterNewFolder } from './operator-folder'
import { linesOf } from './read-file'
import { openIfThere } from './stored-files'

const WHAT = 'the export'

/** Files to copy, as the snapshot names them: a line for each, with its name in the export and its key in the store. */
const NAMES = 'files.names'

/** The tables whose names are not those of their kinds. */
const TABLES: Record<string, string> = { users: 'memberships', activity: 'activities' }

/** The report to the operator about an export. */
type Exported = {
  folder: string
  rows: Record<string, number>
  files: number
  file_bytes: number
  missing_files: number
}

/**
 * Exports to a new or empty folder, beside a running service. Noted in the audit log of the organization.
 * @throws BackupError; DamagedFilesError when the export is made but the store lacks files
 */
export async function exportOrganization(organization_id: string, folder: string): Promise<Exported> {
  if (!isUuid(organization_id)) throw new BackupError('--organization must be a UUID')
  const name = path.resolve(folder)
  const target = enterNewFolder(name, WHAT)
  try {
    await dropRoot('refuse', undefined, '.')
    const exported = {
      folder: name,
      ...(await withDatabase((outer) => writeExport(outer, organization_id.toLowerCase()))),
    }
    target.keep()
    if (exported.missing_files > 0) {
      throw new DamagedFilesError(
        `the export in ${name} lacks ${exported.missing_files} files that the store does not have`,
      )
    }
    return exported
  } catch (error) {
    if (error instanceof DamagedFilesError) throw error
    target.discard()
    throw explained(error, WHAT)
  }
}

async function withDatabase<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  const database = await openDatabase({ other_service: 'join', no_database: 'refuse', pool_size: 2, limits: NO_LIMITS })
  try {
    return await work(connection())
  } finally {
    await database.close()
  }
}

async function writeExport(outer: Connection, organization_id: string): Promise<Omit<Exported, 'folder'>> {
  const to = fileStore('.')
  return transact(outer, async (hold) => {
    await holdRemovals(hold.sql)
    const { rows, named } = await transact(outer, async (inner) => {
      await inner.sql`set transaction isolation level repeatable read, read only`
      return writeRows({ ...inner, organization_id, actor: SYSTEM, after_commit: [] }, to)
    })
    const files = await copyNamed(to, named)
    const exported = { rows, ...files }
    await to.put('README.txt', Buffer.from(readme()))
    await to.put(
      'export.json',
      Buffer.from(`${JSON.stringify({ organization_id, release: version, ...exported }, null, 1)}\n`),
    )
    const scope = { ...outer, organization_id, actor: OPERATOR }
    const resource = { type: 'organization', id: organization_id } as const
    await inTransaction(scope as Scope, (inner) => audit(inner, { action: 'operator.export', resource }))
    return exported
  })
}

/** @returns the rows of each kind, and how many files are named */
async function writeRows(scope: Scope, to: Store): Promise<{ rows: Record<string, number>; named: number }> {
  const [organization] = await scope.sql`select from organizations where id = ${scope.organization_id}`
  if (!organization) throw new BackupError('there is no such organization')
  const rows: Record<string, number> = {}
  using progress = startProgress('export', { total: await countRows(scope) })
  for (const kind of KINDS) rows[kind.name] = await writeKind(scope, kind, to, progress)
  const counted = { rows: 0 }
  await to.put(NAMES, textOf(fileNames(scope), counted))
  return { rows, named: counted.rows }
}

/** Counts the rows of an organization; those of deleted tickets too, which are left out. */
async function countRows({ sql, organization_id }: Scope): Promise<number> {
  let total = 0
  for (const { name } of KINDS) {
    const table = TABLES[name] ?? name
    if (table === 'organization') continue
    const [counted] = await sql<[{ n: number }]>`
      select count(*)::int as n from ${sql(table)} t where t.organization_id = ${organization_id}`
    total += counted.n
  }
  return total
}

async function writeKind(scope: Scope, { name, read }: Kind, to: Store, progress: Progress): Promise<number> {
  const counted = { rows: 0 }
  progress.part = name
  await to.put(`${name}.jsonl`, textOf(read(scope), counted, progress))
  return counted.rows
}

async function* textOf(
  steps: AsyncIterable<readonly object[]>,
  counted: { rows: number },
  progress?: Progress,
): AsyncGenerator<Uint8Array> {
  for await (const step of steps) {
    counted.rows += step.length
    progress?.add(step.length)
    if (step.length > 0) yield Buffer.from(step.map((row) => `${JSON.stringify(row)}\n`).join(''))
  }
}

async function copyNamed(to: Store, named: number): Promise<Pick<Exported, 'files' | 'file_bytes' | 'missing_files'>> {
  const counts = { files: 0, file_bytes: 0, missing_files: 0 }
  using progress = startProgress('export', { total: named, unit: 'files' })
  for await (const line of linesOf(NAMES)) {
    progress.add()
    const { file, storage_key } = JSON.parse(line) as { file: string; storage_key: string }
    const bytes = await openIfThere(storage(), storage_key)
    if (!bytes) {
      counts.missing_files++
      continue
    }
    const { size } = await to.put(file, bytes)
    counts.files++
    counts.file_bytes += size
  }
  await to.remove(NAMES)
  return counts
}

function readme(): string {
  const kinds = KINDS.map(({ name, meaning }) => `${`${name}.jsonl`.padEnd(24)}${meaning}\n`).join('')
  return `An export of one organization. Each line of a .jsonl file is a JSON object, as the API answers it (see /swagger).
The "url" of a file is its place in this folder. Passwords, keys and secrets are left out, and so are deleted tickets.

${kinds}${'files/attachments/ID'.padEnd(24)}bytes of an attachment
${'files/inbound/ID.eml'.padEnd(24)}original of an inbound message, as long as it is kept
${'export.json'.padEnd(24)}how many there are of each; it is written last
`
}
