/** Reads the memory of the service with all its processes, at moments of a run. */
import path from 'node:path'
import { type Memory, memoryOf, treeOf } from './processes'
import { printHead, printTable, rounded, verdict } from './report'
import { startAsOperator } from './rig'

/** A new service is done with its first jobs. */
const START_MS = 15_000
/** After this long without work the service has freed what it can. */
const REST_MS = Number(process.env.BENCH_REST_MS ?? 60_000)
const AIMS = { service_mb: 120, database_most_mb: 200 }

/** Collects what the table shows. */
export function startMemoryNotes() {
  const notes: { moment: string; memory: Memory }[] = []
  return {
    note(moment: string, memory: Memory) {
      notes.push({ moment, memory })
    },
    print() {
      printHead('Memory in MB: proportional set size (PSS) of all processes')
      const rows = notes.map(({ moment, memory: { service_mb, database_mb, database_most_mb } }) => [
        moment,
        ...[service_mb, database_mb, service_mb + database_mb, database_most_mb].map(rounded),
      ])
      printTable(['Moment', 'service', 'PostgreSQL', 'both', 'PostgreSQL with all its shared memory'], rows)
      const { service_mb, database_most_mb } = notes.at(-1)!.memory
      console.log(
        `\nAfter a rest: service <= ${AIMS.service_mb} ${verdict('service after a rest, MB', service_mb, { at_most: AIMS.service_mb })}, ` +
          `PostgreSQL <= ${AIMS.database_most_mb} ${verdict('PostgreSQL after a rest, MB', database_most_mb, { at_most: AIMS.database_most_mb })}`,
      )
    },
  }
}

/** The memory of a new service with an empty database, after a rest. */
export async function memoryOfIdle(dir: string): Promise<Memory> {
  const service = await startAsOperator(path.join(dir, 'idle'))
  await settleIn()
  const memory = memoryOf(treeOf(service.process.pid!))
  await service.stop()
  return memory
}

/** Resolves when a service that has just started is at rest. */
export function settleIn(): Promise<void> {
  return Bun.sleep(START_MS)
}

export function rest(): Promise<void> {
  return Bun.sleep(REST_MS)
}
