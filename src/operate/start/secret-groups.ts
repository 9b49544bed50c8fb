/** Tries the stored secrets: after a restore with another SECRET_KEY they cannot be decrypted. */
import type { Connection } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import { ENCRYPTED_COLUMNS, ownerColumn, type StoredAt, tryDecrypt } from '../../base/secrets'

type Column = StoredAt['column']

/**
 * Secrets of one column that were encrypted with one key, by its public id; `is_readable` is what one of them showed.
 */
export type SecretGroup = { column: Column; key_id: string; n: number; is_readable: boolean }

type Sample = { key_id: string; n: number; organization_id: string; id: string; encrypted: string }

/** Counts stored secrets by column and key, and tries one of each. */
export async function readSecretGroups(connection: Connection): Promise<SecretGroup[]> {
  return (await Promise.all(ENCRYPTED_COLUMNS.map((column) => tryColumn(connection, column)))).flat()
}

/** Logs an error when SECRET_KEY is not the key of the database. It never throws. */
export async function logLostSecrets(connection: Connection): Promise<void> {
  try {
    const groups = await readSecretGroups(connection)
    const lost = groups.filter(({ is_readable }) => !is_readable)
    if (lost.length === 0) return
    const counts = { unreadable: sumOf(lost), stored: sumOf(groups) }
    log.error(counts, 'stored secrets cannot be decrypted: SECRET_KEY is not the key of this database, run the doctor')
  } catch (error) {
    log.warn({ error: safeError(error) }, 'the stored secrets could not be tried')
  }
}

/** How many secrets the groups have together. */
export function sumOf(groups: SecretGroup[]): number {
  return groups.reduce((total, { n }) => total + n, 0)
}

async function tryColumn({ sql }: Connection, column: Column): Promise<SecretGroup[]> {
  const [table, name] = column.split('.') as [string, string]
  const rows = await sql<Sample[]>`
    with secrets as (
      select ${sql(ownerColumn(column))} as organization_id, id, ${sql(name)} as encrypted,
        case when position('.' in ${sql(name)}) > 0 then split_part(${sql(name)}, '.', 1) else '' end as key_id
      from ${sql(table)} where ${sql(name)} is not null
    )
    select distinct on (key_id) key_id, (count(*) over (partition by key_id))::int as n, organization_id, id, encrypted
    from secrets order by key_id, id desc`
  return rows.map(({ key_id, n, encrypted, ...place }) => ({
    column,
    key_id,
    n,
    is_readable: tryDecrypt(encrypted, { column, ...place }) !== undefined,
  }))
}
