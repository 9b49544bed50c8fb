/** Triggers that tests put on tables, and functions that work with them. */
import { allowPlacing } from '../../src/db/cluster/place-tables'
import { driverPool } from '../../src/db/pool'

/** Changes the schema in a transaction. On a cluster triggers are taken on request alone, and several statements only one by one. */
export async function changeSchema(...statements: string[]): Promise<void> {
  await driverPool().begin(async (sql) => {
    await allowPlacing(sql)
    for (const statement of statements) await sql.unsafe(statement)
  })
}
