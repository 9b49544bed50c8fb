/** Reads the memory of the service with all its processes, at moments of a run. */
import path from 'node:path'
import { type Memory, memoryOf, treeOf } from './processes'
import { printHead, printTable, rounded } from './report'
import { startAsOperator } from './rig'

/** After this long without work the service has freed what it can. */
const REST_MS = Number(process.env.BENCH_REST_MS ?? 15_000)

/** Collects what the table shows. */
export function startMemoryNotes() {
  const notes: { moment: string; memory: Memory }[] = []
  return {
    note(moment: string, memory: Memory) {
      notes.push({ moment, memory })
    },
    print() {
      printHead('Memory in MB: proportional set size (PSS) of all processes')
      const rows = notes.map(({ moment, memory: { service_mb, database_mb } }) => [
        moment,
        ...[service_mb, database_mb, service_mb + database_mb].map(rounded),
      ])
      printTable(['Moment', 'service', 'PostgreSQL', 'all'], rows)
    },
  }
}

/** The memory of a new service with an empty database, after a rest. */
export async function memoryOfIdle(dir: string): Promise<Memory> {
  const service = await startAsOperator(path.join(dir, 'idle'))
  await rest()
  const memory = memoryOf(treeOf(service.process.pid!))
  await service.stop()
  return memory
}

export function rest(): Promise<void> {
  return Bun.sleep(REST_MS)
}
