/** Looks at the machines of a cluster that the database is spread over. */
import { askEachMachine } from '../../base/db/cluster/machines'
import { findUnplaced, isDistributed } from '../../base/db/cluster/place-tables'
import type { Connection } from '../../base/db/transact'
import { counted, type Finding, failure, firstOf, warning } from './finding'

/** Citus ends what a crash has left prepared within a minute. */
const PREPARED_MOST_S = 600

const PREPARED = `
  select count(*)::int from pg_prepared_xacts
  where database = current_database() and gid like 'citus%' and prepared < now() - make_interval(secs => ${PREPARED_MOST_S})`

/**
 * Finds machines that are away or hold nothing, tables that are on one machine only, and transactions that were left.
 */
export async function checkCluster({ sql }: Connection): Promise<Finding[]> {
  if (!(await isDistributed(sql))) return []
  const [machines, unplaced, idle] = await Promise.all([
    askEachMachine<number>(sql, PREPARED),
    findUnplaced(sql),
    sql<{ node: string }[]>`
      select nodename || ':' || nodeport as node from pg_dist_node n
      where noderole = 'primary' and isactive and shouldhaveshards
        and not exists (select 1 from pg_dist_placement p where p.groupid = n.groupid)`,
  ])
  const findings: Finding[] = []
  for (const { node, value, error } of machines) {
    if (error !== undefined) {
      findings.push(
        failure(
          `The machine ${node} of the cluster does not answer: requests of the organizations on it are answered 503, and their mail waits at its senders`,
          `Start it, or see why the coordinator cannot connect: ${error}`,
        ),
      )
    } else if (value > 0) {
      findings.push(
        warning(
          `${counted(value, 'transaction')} on ${node} ${value === 1 ? 'has' : 'have'} been prepared for over ${PREPARED_MOST_S / 60} minutes and not ended: their rows stay locked`,
          'Citus ends them by itself once it reaches the machine: on the coordinator select recover_prepared_transactions(), as a superuser, says if it can.',
        ),
      )
    }
  }
  if (unplaced.length > 0) {
    const names = unplaced.map(({ name }) => name)
    findings.push(
      failure(
        `${counted(names.length, 'table')} (${firstOf(names)}) ${names.length === 1 ? 'is' : 'are'} on the coordinator alone, and others are not: statements over both fail`,
        'Stop the service, and run bun run cli distribute.',
        { tables: names },
      ),
    )
  }
  for (const { node } of idle) {
    findings.push(
      warning(
        `The machine ${node} of the cluster holds no rows: the others do all the work`,
        'Move some to it, while the service runs: select citus_rebalance_start(), as a superuser.',
      ),
    )
  }
  return findings
}
