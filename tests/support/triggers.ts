/** Triggers that tests put on tables, and functions that work with them. */
import { allowPlacing } from '../../src/base/db/cluster/place-tables'
import { driverPool } from '../../src/base/db/pool'
import { nodeUrls } from './cluster'

/**
 * Changes the schema in a transaction. On a cluster triggers are taken on request alone, and several statements only
 * one by one.
 */
export async function changeSchema(...statements: string[]): Promise<void> {
  await driverPool().begin(async (sql) => {
    await allowPlacing(sql)
    for (const statement of statements) await sql.unsafe(statement)
  })
}

/**
 * Runs a statement without parameters on every node by itself: there is what triggers of tests read and write.
 * @returns its value as text, of each node
 */
export async function onEachNode(statement: string): Promise<(string | null)[]> {
  const sql = driverPool()
  if (!nodeUrls()) return [Object.values<string | null>((await sql.unsafe(statement))[0] ?? {})[0] ?? null]
  const answers = await sql<{ success: boolean; result: string }[]>`
    select success, result from run_command_on_all_nodes(${statement})`
  for (const { success, result } of answers) if (!success) throw new Error(result)
  return answers.map(({ result }) => result)
}
