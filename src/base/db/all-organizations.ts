/**
 * Finds organizations that have work, and works in each of them, for background jobs and the outbox.
 *
 * A read over all organizations takes no locks and writes nothing. On a cluster it goes to every node, and fails as a
 * whole while one of them is away. Then each node is asked apart for the organizations whose rows it has, and those of
 * the node that is away wait for its return. What is found is worked on by statements that name one organization.
 */
import { turns } from '../flow/turns'
import { log, safeError } from '../log'
import { machinesAway, requireMachine } from './cluster/away'
import type { Fragment, Sql } from './transact'
import { isNodeAway } from './violations'

/** SQL that restricts a read to the organizations of a node: ` and organization_id = any(…)`, or nothing. */
export type Among = (column?: Fragment) => Fragment

/** Reads which organizations have work. */
type Find = (among: Among) => PromiseLike<readonly { organization_id: string }[]>

/** A node of the cluster, and the organizations whose rows it has. */
type Node = { name: string; organization_ids: string[] }

/** A node that did not answer is asked again after this time: a machine that is off keeps who asks waiting. */
const ASK_AGAIN_MS = 5000
/** After this time the nodes are read anew: there may be new organizations. */
const NODES_MS = 30_000
/** Distance of the warnings while a node is away. */
const REMINDER_MS = 60_000
/** Organizations that one job works on at the same time. */
const AT_ONCE = 4

/** The nodes, while one of them is away. */
let apart: { nodes: Node[]; read_ms: number } | undefined
/** Nodes that did not answer, with the time when they are asked again. */
const away = new Map<string, number>()
let warned_ms = Number.NEGATIVE_INFINITY

/**
 * Reads rows of all organizations.
 * @param read runs the statement; `among` belongs into its condition, for each table that it reads
 * @returns the rows that can be had: without those of a node that is away
 */
export async function readOfAll<Row>(sql: Sql, read: (among: Among) => PromiseLike<readonly Row[]>): Promise<Row[]> {
  if (!apart && machinesAway().length === 0) {
    try {
      return [...(await read(() => sql``))]
    } catch (error) {
      if (!isNodeAway(error)) throw error
      noteAway(error)
      // When the coordinator stops, this fails, too.
      await nodesOf(sql).catch(() => Promise.reject(error))
    }
  }
  return readApart(sql, read)
}

async function readApart<Row>(sql: Sql, read: (among: Among) => PromiseLike<readonly Row[]>): Promise<Row[]> {
  const nodes = await nodesOf(sql)
  const known = machinesAway()
  const asked = nodes.filter(({ name }) => !known.includes(name) && (away.get(name) ?? 0) <= performance.now())
  const answers = await Promise.allSettled(
    asked.map(({ organization_ids }) =>
      read((column = sql`organization_id`) => sql`and ${column} = any(${organization_ids}::uuid[])`),
    ),
  )
  for (const [place, answer] of answers.entries()) {
    const { name } = asked[place]!
    if (answer.status === 'fulfilled') away.delete(name)
    else if (isNodeAway(answer.reason)) {
      away.set(name, performance.now() + ASK_AGAIN_MS)
      noteAway(answer.reason)
    } else throw answer.reason
  }
  if (away.size === 0 && known.length === 0) apart = undefined
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [...answer.value] : []))
}

/** The nodes, read now and then. Only a cluster has nodes that are away, and so these tables. */
async function nodesOf(sql: Sql): Promise<Node[]> {
  if (apart && performance.now() - apart.read_ms < NODES_MS) return apart.nodes
  const nodes = await organizationsByMachine(sql)
  apart = { nodes, read_ms: performance.now() }
  return nodes
}

/** Reads where the rows of each organization are. Asks the coordinator alone. */
export async function organizationsByMachine(sql: Sql): Promise<Node[]> {
  return sql<Node[]>`
    select n.nodename || ':' || n.nodeport as name, array_agg(o.id::text) as organization_ids
    from organizations o
    join pg_dist_shard s on s.logicalrelid = 'outbox'::regclass
      and s.shardid = get_shard_id_for_distribution_column('outbox', o.id)
    join pg_dist_placement p on p.shardid = s.shardid
    join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
    group by 1`
}

/**
 * Does work in organizations, some of them at the same time. One whose work fails stops no other.
 * @returns what the work returned, without those whose node is away
 * @throws the first other error, once all have ended
 */
export async function inEach<T>(
  organization_ids: Iterable<string>,
  work: (organization_id: string) => Promise<T>,
): Promise<T[]> {
  const inTurn = turns(AT_ONCE)
  const results = await Promise.allSettled(
    [...organization_ids].map((id) =>
      inTurn(async () => {
        requireMachine(id)
        return work(id)
      }),
    ),
  )
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  for (const error of errors) {
    if (!isNodeAway(error)) throw error
    noteAway(error)
  }
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

/**
 * Reads rows of all organizations, and works on those of each. Once: what comes meanwhile waits for the next call.
 * @param read as in `readOfAll`
 * @param work gets the rows of an organization in the order in which they were read
 * @returns what the work returned, without those whose node is away
 */
export async function workOnRows<Row extends { organization_id: string }, T>(
  sql: Sql,
  read: (among: Among) => PromiseLike<readonly Row[]>,
  work: (organization_id: string, rows: Row[]) => Promise<T>,
): Promise<T[]> {
  const own = Map.groupBy(await readOfAll(sql, read), ({ organization_id }) => organization_id)
  return inEach(own.keys(), (organization_id) => work(organization_id, own.get(organization_id)!))
}

/**
 * Does the work that is left in all organizations, until nothing is found or nothing can be done.
 * @param find reads rows with the `organization_id` of some that have work
 * @param work does what is left in an organization, and returns how many rows that were
 * @returns how many rows in all
 */
export async function workOff(
  sql: Sql,
  find: Find,
  work: (organization_id: string) => Promise<number>,
): Promise<number> {
  for (let total = 0; ; ) {
    const counts = await workOnRows(sql, find, work)
    const done = counts.reduce((sum, count) => sum + count, 0)
    total += done
    if (done === 0) return total
  }
}

/** Warns that a node is away: once in a while, because work meets it every second. */
export function noteAway(error: unknown): void {
  if (performance.now() - warned_ms < REMINDER_MS) return
  warned_ms = performance.now()
  log.warn({ error: safeError(error) }, 'a node of the database is away: the work of its organizations waits')
}
