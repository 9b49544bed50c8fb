/** Shows what runs here: versions, and the disk under DATA_DIR. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Gauge } from 'prom-client'
import { version } from '../../package.json'
import { diskBytes } from '../disk/free-space'

const ROOT = path.join(import.meta.dirname, '../..')

/** Registers the gauges of the process, beside the usual ones (`process_*`). */
export function showProcess(): void {
  new Gauge({
    name: 'deskwire_build_info',
    help: 'Always 1. Its labels are the version, the commit of a checkout, and the version of Bun',
    labelNames: ['version', 'commit', 'bun'],
  }).set({ version, commit: commitOf(ROOT) ?? 'unknown', bun: process.versions.bun ?? 'unknown' }, 1)
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

/** The commit of a git checkout, in twelve digits; undefined where there is none, as in an image. */
function commitOf(folder: string): string | undefined {
  try {
    const head = readFileSync(path.join(folder, '.git/HEAD'), 'utf8').trim()
    const [, ref] = /^ref: (refs\/\S+)$/.exec(head) ?? []
    const commit = ref ? readFileSync(path.join(folder, '.git', ref), 'utf8').trim() : head
    return /^[0-9a-f]{40}/.test(commit) ? commit.slice(0, 12) : undefined
  } catch {
    return undefined
  }
}
