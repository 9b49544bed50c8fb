/** Processor time of processes, from /proc: on a busy machine it says more than requests per second. Linux only. */
import fs from 'node:fs'

/** Milliseconds in all of the server and of the database that it uses. */
export type Cpu = { server_ms: number; database_ms: number }

/** `/proc/<pid>/stat` counts in hundredths of a second on every Linux. */
const TICK_MS = 10

/**
 * What both have used so far; 0 where there is no /proc.
 * @param database_dir every process that works in this folder, or below it, is the database's
 */
export function cpuOf(server_pid: number, database_dir: string): Cpu {
  if (!fs.existsSync('/proc/self/stat')) return { server_ms: 0, database_ms: 0 }
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && folderOf(name).startsWith(database_dir))
  return { server_ms: timeOf(String(server_pid)), database_ms: pids.reduce((sum, pid) => sum + timeOf(pid), 0) }
}

function folderOf(pid: string): string {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

/** User and system time: the fields after the name, which may hold spaces, are counted from its closing bracket. */
function timeOf(pid: string): number {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    return 0
  }
}
