/** Asks every machine of a cluster. */
import type postgres from 'postgres'

type Answer = { node: string; success: boolean; result: string }

/**
 * Runs a statement on every machine, the coordinator too, outside of any transaction.
 * @param statement a SELECT without parameters
 * @returns the rows of all of them. A machine that does not answer has none.
 */
export async function askMachines<T extends object = { name: string }>(
  sql: postgres.ISql,
  statement: string,
): Promise<T[]> {
  const answers = await askEachMachine<T[]>(
    sql,
    `select coalesce(json_agg(row_to_json(t)), '[]') from (${statement}) t`,
  )
  return answers.flatMap(({ value }) => value ?? [])
}

/**
 * Asks each machine for one JSON value.
 * @param statement a SELECT without parameters that returns one value
 * @returns the value of each, the coordinator's first, or the error with which a machine did not answer
 */
export async function askEachMachine<T>(
  sql: postgres.ISql,
  statement: string,
): Promise<({ node: string; value: T; error?: undefined } | { node: string; value?: undefined; error: string })[]> {
  const answers = await sql<Answer[]>`
    select n.nodename || ':' || n.nodeport as node, r.success, r.result
    from run_command_on_all_nodes(${statement}) r join pg_dist_node n using (nodeid) order by n.groupid`
  return answers.map(({ node, success, result }) =>
    success ? { node, value: JSON.parse(result) as T } : { node, error: result },
  )
}
