/** Encrypts all stored secrets anew, after a change of SECRET_KEY or for the form of this release. */
import { ZERO_ID } from '../../base/db/columns'
import type { Connection } from '../../base/db/transact'
import { ENCRYPTED_COLUMNS, encrypt, ownerColumn, presentPrefix, type StoredAt, tryDecrypt } from '../../base/secrets'

/** Rows that are read at a time. */
const BATCH = 500

type EncryptedColumn = StoredAt['column']

/** How many secrets of a column were encrypted anew, and how many no key fits. */
type Rotated = { column: EncryptedColumn; rotated: number; unreadable: number }

/**
 * Encrypts with the present key, and binds to its row, every secret that is not. It may be run again, and beside a
 * running service: a secret that is changed meanwhile stays as it was changed.
 */
export async function rotateSecrets(connection: Connection): Promise<Rotated[]> {
  const results: Rotated[] = []
  for (const column of ENCRYPTED_COLUMNS) results.push(await rotateColumn(connection, column))
  return results
}

type StoredSecret = { organization_id: string; id: string; encrypted: string }

async function rotateColumn(connection: Connection, column: EncryptedColumn): Promise<Rotated> {
  const result: Rotated = { column, rotated: 0, unreadable: 0 }
  let last = { organization_id: ZERO_ID, id: ZERO_ID }
  for (;;) {
    const rows = await readOutdated(connection, column, last)
    for (const row of rows) {
      const plain = tryDecrypt(row.encrypted, { column, organization_id: row.organization_id, id: row.id })
      if (plain === undefined) result.unreadable++
      else result.rotated += await replace(connection, column, row, plain)
    }
    if (rows.length < BATCH) return result
    last = rows.at(-1)!
  }
}

async function readOutdated(
  { sql }: Connection,
  column: EncryptedColumn,
  after: { organization_id: string; id: string },
): Promise<StoredSecret[]> {
  const [table, name] = namesOf(column)
  const owner = ownerColumn(column)
  return sql<StoredSecret[]>`
    select ${sql(owner)} as organization_id, id, ${sql(name)} as encrypted from ${sql(table)}
    where not starts_with(${sql(name)}, ${presentPrefix()})
      and (${sql(owner)}, id) > (${after.organization_id}, ${after.id})
    order by ${sql(owner)}, id limit ${BATCH}`
}

/** Stores a secret anew, unless it was changed. @returns how many rows there are with the old one: 1 or 0 */
async function replace(
  { sql }: Connection,
  column: EncryptedColumn,
  row: StoredSecret,
  plain: string,
): Promise<number> {
  const [table, name] = namesOf(column)
  const { organization_id, id, encrypted } = row
  const { count } = await sql`
    update ${sql(table)} set ${sql(name)} = ${encrypt(plain, { column, organization_id, id })}
    where ${sql(ownerColumn(column))} = ${organization_id} and id = ${id} and ${sql(name)} = ${encrypted}`
  return count
}

function namesOf(column: EncryptedColumn): [table: string, column: string] {
  const [table, name] = column.split('.')
  return [table!, name!]
}
