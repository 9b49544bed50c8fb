/** Processor time of processes, from /proc: on a busy machine it says more than requests per second. Linux only. */
import fs from 'node:fs'

/** Milliseconds in all of the server and of the database that it uses. */
export type Cpu = { server_ms: number; database_ms: number }

/** `/proc/<pid>/stat` counts in hundredths of a second on every Linux. */
const TICK_MS = 10

/**
 * Processor time of both so far; 0 where there is no /proc.
 * @param database_dir every process that works in this folder, or below it, is the database's
 * @param with_children counts the processes of the server too, such as the parser of mail
 */
export function cpuOf(server_pid: number, database_dir: string, with_children = true): Cpu {
  if (!fs.existsSync('/proc/self/stat')) return { server_ms: 0, database_ms: 0 }
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const isDatabase = (pid: string) => folderOf(pid).startsWith(database_dir)
  const isServer = (pid: string) =>
    pid === String(server_pid) || (with_children && parentOf(pid) === String(server_pid) && !isDatabase(pid))
  return { server_ms: timeOfAll(pids.filter(isServer)), database_ms: timeOfAll(pids.filter(isDatabase)) }
}

function timeOfAll(pids: string[]): number {
  return pids.reduce((sum, pid) => sum + timeOf(pid), 0)
}

function folderOf(pid: string): string {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

function parentOf(pid: string): string {
  return fieldsOf(pid)[1] ?? ''
}

/** User and system time. */
function timeOf(pid: string): number {
  const [user = 0, system = 0] = fieldsOf(pid).slice(11, 13).map(Number)
  return (user + system) * TICK_MS
}

/** Fields of `/proc/<pid>/stat` after the name, which may hold spaces and ends with the last bracket; none when it ended. */
function fieldsOf(pid: string): string[] {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
