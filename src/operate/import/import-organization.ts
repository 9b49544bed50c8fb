/**
 * Imports an organization's things from a folder, beside a running service: files of JSON lines as an export has them,
 * in the order in which one refers to another. Each batch is one transaction, which also notes what it has brought: an
 * import that was killed goes on where it was.
 */
import fs from 'node:fs'
import path from 'node:path'
import { audit, OPERATOR } from '../../base/audit/audit'
import { NO_LIMITS } from '../../base/db/driver-client'
import { connection } from '../../base/db/pool'
import { closeRenderer } from '../../base/html/render'
import { type Progress, startProgress } from '../../base/long-work'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import { BackupError, explained } from '../backup/backup-error'
import { enterFolder } from '../backup/operator-folder'
import { bytesOf, countLines } from '../backup/read-file'
import { openDatabase } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { importBatch, type Run } from './import-batch'
import { KINDS } from './import-kinds'
import { importParents } from './import-parents'
import { type Numbers, openReport } from './import-report'
import type { Kind, Line } from './kind'
import { passNumbersOf } from './numbers'
import { batchesOf } from './read-lines'
import { readRow } from './read-row'

const WHAT = 'the import'

/** Batches at a time: while the database writes one, the next is read and rendered. */
const BATCHES_AT_ONCE = 2

type Options = { dry_run: boolean; report: string | undefined }

/**
 * Imports a folder, or only says what an import would do.
 * @returns numbers for each file that is there, and whether lines have failed
 * @throws BackupError when there is nothing to import, or the organization does not exist
 */
export async function importOrganization(
  organization_id: string,
  folder: string,
  { dry_run, report: file }: Options,
): Promise<{ numbers: Record<string, Numbers>; has_failed: boolean }> {
  if (!isUuid(organization_id)) throw new BackupError('--organization must be a UUID')
  const report = openReport(file, WHAT)
  try {
    enterFolder(path.resolve(folder), WHAT)
    // Whatever the lines of a file hold, its own kind reads them.
    const files = (Object.values(KINDS) as Kind<unknown>[]).filter(({ name }) => fs.existsSync(`${name}.jsonl`))
    if (files.length === 0) throw new BackupError(`${folder} has no file of an export, such as tickets.jsonl`)
    // Not before: a folder that is named by mistake, such as /etc, stays root's.
    await dropRoot('refuse', undefined, '.')
    await withScope(organization_id.toLowerCase(), (scope) =>
      importFiles({ scope, report, dry: dry_run ? new Set() : undefined }, files),
    )
    return { numbers: report.numbers, has_failed: report.has_failed }
  } catch (error) {
    throw explained(error, WHAT)
  } finally {
    report.close()
  }
}

async function withScope(organization_id: string, work: (scope: Scope) => Promise<void>): Promise<void> {
  const pool_size = BATCHES_AT_ONCE + 1
  const database = await openDatabase({ other_service: 'join', no_database: 'refuse', pool_size, limits: NO_LIMITS })
  try {
    const scope: Scope = { ...connection(), organization_id, actor: SYSTEM }
    const [organization] = await scope.sql`select from organizations where id = ${organization_id}`
    if (!organization) throw new BackupError('there is no such organization')
    await work(scope)
  } finally {
    await closeRenderer()
    await database.close()
  }
}

async function importFiles(run: Run, files: Kind<unknown>[]): Promise<void> {
  let total = 0
  for (const { name } of files) total += await countLines(bytesOf(`${name}.jsonl`))
  using progress = startProgress('import', { total, unit: 'lines' })
  for (const file of files) {
    progress.part = file.name
    if (file.name === KINDS.tickets.name && !run.dry)
      await passNumbersOf(`${file.name}.jsonl`, run.scope.organization_id)
    await importFile(run, file, progress)
    if (file.name === KINDS.tickets.name) await importParents(run)
  }
  if (run.dry) return
  const { numbers } = run.report
  const data = Object.fromEntries(
    Object.entries(numbers).map(([name, { created, updated }]) => [name, { created, updated }]),
  )
  await inTransaction(run.scope, async (scope) => {
    const resource = { type: 'organization', id: scope.organization_id } as const
    await audit({ ...scope, actor: OPERATOR }, { action: 'operator.import', resource })
    await publish(scope, [{ type: 'organization.imported', data }])
  })
}

async function importFile(run: Run, kind: Kind<unknown>, progress: Progress): Promise<void> {
  run.report.begin(kind.name)
  const under_way = new Set<Promise<void>>()
  for await (const batch of batchesOf(`${kind.name}.jsonl`, kind.most)) {
    const lines: Line<unknown>[] = []
    for (const one of batch) {
      const row = readRow(kind, one)
      if ('faults' in row) {
        run.report.refuse({ file: kind.name, line: row.line, key: row.name, result: 'failed', errors: row.faults })
      } else lines.push(row)
    }
    const importing = lines.length > 0 ? importBatch(run, kind, lines) : Promise.resolve()
    const work: Promise<void> = importing.then(() => progress.add(batch.length)).finally(() => under_way.delete(work))
    // Whoever waits for it gets its error.
    work.catch(() => {})
    under_way.add(work)
    if (under_way.size >= BATCHES_AT_ONCE) await Promise.race(under_way)
  }
  await Promise.all(under_way)
}
