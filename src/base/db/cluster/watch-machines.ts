/** Asks every few seconds if the machines of the cluster answer, so that nothing is sent to one that does not. */
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../../flow/within'
import { log, safeError } from '../../log'
import { organizationsByMachine } from '../all-organizations'
import type { Client } from '../driver-client'
import { knownMachines, type Machine, machinesAway, setMachines } from './away'

type EndConnections = typeof import('../pool').endConnections

/** Distance of the questions. */
const ASK_EVERY_MS = 3000
/** A machine that has taken no connection within this time counts as away. */
const CONNECT_MOST_MS = 4000
/** A machine that was waited for as long hangs. One that refuses does so at once, or later under load. */
const HANGS_MS = CONNECT_MOST_MS / 2
/** A machine may stop between connection and question: then the answer never comes. */
const ANSWER_MOST_MS = 60_000
/** After a machine was found to hang, for so long the connections that wait for it are ended. */
const END_SILENT_FOR_MS = 15_000

/** `waited_ms`: how long the coordinator waited for it. A busy service does not lengthen that. */
type Asked = Machine & { waited_ms: number }

/**
 * Begins to watch the machines of a cluster.
 * @param sql connections that `endConnections` does not end
 */
export async function watchMachines(sql: Client, endConnections: EndConnections): Promise<void> {
  let end_until_ms = 0
  await look()
  void watch()
  setInterval(() => {
    if (performance.now() < end_until_ms) endConnections('silent', CONNECT_MOST_MS)
    else if (machinesAway().length > 0) endConnections('overdue')
  }, 1000).unref()

  async function watch(): Promise<never> {
    for (;;) {
      await sleep(ASK_EVERY_MS, undefined, { ref: false })
      await look()
    }
  }

  async function look(): Promise<void> {
    const before = machinesAway()
    try {
      const machines = await within(
        ANSWER_MOST_MS,
        askMachines(sql),
        'a machine of the database stopped as it was asked',
      )
      await note(sql, machines)
      // One that refuses connections ends the statements by itself.
      const hangs = ({ name, is_up, waited_ms }: Asked) => !is_up && waited_ms >= HANGS_MS && !before.includes(name)
      if (!machines.some(hangs)) return
      endConnections('idle')
      end_until_ms = performance.now() + END_SILENT_FOR_MS
    } catch (error) {
      // The coordinator does not answer: statements say so themselves.
      log.debug({ error: safeError(error) }, 'the machines of the database cannot be asked')
      setMachines(
        knownMachines().map(({ name }) => ({ name, is_up: true })),
        [],
      )
    }
  }
}

/**
 * Opens a connection to each machine, and keeps none: a statement on a kept one would wait for a machine that hangs.
 */
function askMachines(sql: Client): Promise<Asked[]> {
  return sql.begin(async (tx) => {
    await tx.unsafe(`
      set local citus.node_connection_timeout = ${CONNECT_MOST_MS}; set local citus.max_cached_conns_per_worker = 0`)
    return [
      ...(await tx<Asked[]>`
        select name, is_up, extract(epoch from clock_timestamp() - asked_at)::float8 * 1000 as waited_ms
        from (
          select name, asked_at, citus_check_connection_to_node(nodename, nodeport) as is_up
          from (
            select nodename || ':' || nodeport as name, nodename, nodeport, clock_timestamp() as asked_at
            from pg_dist_node where groupid > 0 and noderole = 'primary' and isactive order by name
          ) machines
        ) asked`),
    ]
  })
}

async function note(sql: Client, machines: Machine[]): Promise<void> {
  const before = machinesAway()
  const away = machines.flatMap(({ name, is_up }) => (is_up ? [] : [name]))
  const nodes = away.length > 0 ? await organizationsByMachine(sql) : []
  setMachines(
    machines,
    nodes.filter(({ name }) => away.includes(name)).flatMap(({ organization_ids }) => organization_ids),
  )
  if (away.join() === before.join()) return
  if (away.length === 0) log.info('all machines of the database answer again')
  else log.warn({ machines: away }, 'machines of the database do not answer: their organizations wait')
}
