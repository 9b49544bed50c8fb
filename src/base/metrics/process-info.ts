/** Shows what runs here: versions, and the disk under DATA_DIR. */
import { Counter, Gauge } from 'prom-client'
import { diskBytes } from '../disk/free-space'
import { droppedLines } from '../log'
import { build } from '../process/build'

/** Registers the gauges of the process, beside the usual ones (`process_*`). */
export function showProcess(): void {
  new Gauge({
    name: 'deskwire_build_info',
    help: 'Always 1. Its labels are the version, the commit of the build, and the version of Bun',
    labelNames: ['version', 'commit', 'bun'],
  }).set(build, 1)
  new Counter({
    name: 'deskwire_log_lines_dropped_total',
    help: 'Lines of the log that were dropped, because the disk is full or nobody reads them',
    collect() {
      this.reset()
      this.inc(droppedLines())
    },
  })
  const disk = [
    ['free', 'Bytes that may still be written under DATA_DIR'],
    ['size', 'Bytes of the file system under DATA_DIR'],
  ] as const
  for (const [name, help] of disk) {
    new Gauge({
      name: `deskwire_data_dir_${name}_bytes`,
      help,
      async collect() {
        this.reset()
        const bytes = (await diskBytes())?.[name]
        if (bytes !== undefined) this.set(bytes)
      },
    })
  }
}
