/** Tells if the secret keys open the secrets that the database holds. */
import type { Transaction } from '../../base/db/session'
import { ENCRYPTED_COLUMNS, ownerColumn, type StoredAt, tryDecrypt } from '../../base/secrets'
import { BackupError } from './backup-error'

/** Rows that are read at a time. */
const BATCH = 200

type Stored = { organization_id: string; id: string; encrypted: string }

/**
 * Tries all stored secrets. Prints a line when some cannot be opened: they could not be before either.
 * @param advice for the operator, when no secret can be opened
 * @throws BackupError when there are secrets and none can be opened
 */
export async function tryStoredSecrets(sql: Transaction, advice: string): Promise<void> {
  const counts = { opened: 0, closed: 0 }
  for (const column of ENCRYPTED_COLUMNS) {
    for await (const rows of await readSecrets(sql, column)) {
      for (const { encrypted, ...place } of rows) {
        counts[tryDecrypt(encrypted, { column, ...place }) === undefined ? 'closed' : 'opened']++
      }
    }
  }
  if (counts.closed === 0) return
  if (counts.opened === 0)
    throw new BackupError(`the secret key opens none of the ${counts.closed} stored secrets: ${advice}`)
  process.stderr.write(`deskwire: ${counts.closed} stored secrets cannot be opened with the secret key\n`)
}

/** The secrets of a column, in steps. A database of an older release may not have the column. */
async function readSecrets(sql: Transaction, column: StoredAt['column']): Promise<AsyncIterable<Stored[]>> {
  const [table, name] = column.split('.')
  const [found] = await sql`
    select from information_schema.columns
    where table_schema = 'public' and table_name = ${table!} and column_name = ${name!}`
  if (!found) return (async function* () {})()
  return sql<Stored[]>`
    select ${sql(ownerColumn(column))} as organization_id, id, ${sql(name!)} as encrypted
    from ${sql(table!)} where ${sql(name!)} is not null`.cursor(BATCH)
}
