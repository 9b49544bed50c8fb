/** Processor time of processes, as Linux counts it. */
import fs from 'node:fs'

/** Clock ticks of a second: the same on every Linux. */
const TICKS = 100

/** Seconds that the ended and waited-for children of this process have used. */
export function secondsOfChildren(): number {
  return timesOf('self').ended
}

/** Seconds that a process and all that it has started have used, such as a PostgreSQL by the pid of its postmaster. */
export function secondsOfTree(pid: number): number {
  const { own, ended } = timesOf(String(pid))
  return own + ended + childrenOf(pid).reduce((sum, child) => sum + secondsIfThere(child), 0)
}

/** The processes that the first thread of a process has started and that have not ended. */
export function childrenOf(pid: number): number[] {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return children.flatMap((child) => (child.trim() === '' ? [] : Number(child)))
}

function secondsIfThere(pid: number): number {
  try {
    return secondsOfTree(pid)
  } catch {
    return 0
  }
}

function timesOf(pid: string): { own: number; ended: number } {
  const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const at = (place: number) => Number(fields[place - 3]) / TICKS
  return { own: at(14) + at(15), ended: at(16) + at(17) }
}
