/** Reads processor time and memory of processes from /proc. Linux only: elsewhere there are no processes to see. */
import fs from 'node:fs'
import path from 'node:path'

/** Milliseconds of processor time: on a busy machine they say more than requests per second. */
export type Cpu = { service_ms: number; database_ms: number }

/**
 * Megabytes. A page that n processes share counts as 1/n in each (PSS), so that a sum counts it once.
 * `database_most_mb` counts all shared memory of the database: PSS leaves out what only ended processes have used.
 */
export type Memory = { service_mb: number; database_mb: number; database_most_mb: number }

type Process = { pid: number; parent: number; is_database: boolean; cpu_ms: number }

/** `/proc/<pid>/stat` counts in hundredths of a second on every Linux. */
const TICK_MS = 10

/** The process and all below it. */
export function treeOf(pid: number): Process[] {
  const children = Map.groupBy(readProcesses(), ({ parent }) => parent)
  const root = readProcess(pid)
  const tree = root ? [root] : []
  for (const one of tree) tree.push(...(children.get(one.pid) ?? []))
  return tree
}

/**
 * Processor time so far, with that of children which have ended.
 * @param server everything in it that is not of PostgreSQL counts as the service
 * @param owner_of_database everything in it that is of PostgreSQL counts as the database
 */
export function cpuOf(server: Process[], owner_of_database: Process[]): Cpu {
  const sum = (all: Process[]) => all.reduce((total, { cpu_ms }) => total + cpu_ms, 0)
  return {
    service_ms: sum(server.filter(({ is_database }) => !is_database)),
    database_ms: sum(owner_of_database.filter(({ is_database }) => is_database)),
  }
}

/** Processor time between two readings, for each of `count` operations. */
export function cpuOfEach(before: Cpu, after: Cpu, count: number): Cpu {
  return {
    service_ms: (after.service_ms - before.service_ms) / count,
    database_ms: (after.database_ms - before.database_ms) / count,
  }
}

export function memoryOf(tree: Process[]): Memory {
  const sum = (all: Process[], part: string) =>
    all.reduce((total, { pid }) => total + proportionalMegabytes(pid, part), 0)
  const database = tree.filter(({ is_database }) => is_database)
  const database_mb = sum(database, 'Pss')
  const shared = database[0] ? readProc(database[0].pid, 'smaps').match(/ rw-s .*\nSize: +\d+/g) : undefined
  const shared_mb = (shared ?? []).reduce((total, mapping) => total + Number(/\d+$/.exec(mapping)![0]) / 1024, 0)
  return {
    service_mb: sum(
      tree.filter(({ is_database }) => !is_database),
      'Pss',
    ),
    database_mb,
    database_most_mb: database_mb - sum(database, 'Pss_Shmem') + shared_mb,
  }
}

function readProcesses(): Process[] {
  if (!fs.existsSync('/proc/self/stat')) return []
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => readProcess(Number(pid)) ?? [])
}

/** @returns undefined when it has ended */
function readProcess(pid: number): Process | undefined {
  const stat = readProc(pid, 'stat')
  // The name before the last bracket may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields.length < 15) return undefined
  // User and system time of the process, then of its children that have ended.
  const ticks = fields.slice(11, 15).reduce((total, field) => total + Number(field), 0)
  const [program = ''] = readProc(pid, 'cmdline').split('\0')
  return {
    pid,
    parent: Number(fields[1]),
    is_database: program.startsWith('postgres:') || path.basename(program) === 'postgres',
    cpu_ms: ticks * TICK_MS,
  }
}

function proportionalMegabytes(pid: number, part: string): number {
  const kilobytes = new RegExp(`^${part}:\\s+(\\d+)`, 'm').exec(readProc(pid, 'smaps_rollup'))?.[1]
  return Number(kilobytes ?? 0) / 1024
}

/** @returns the empty text when the process has ended, or is another user's */
function readProc(pid: number, file: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
