/**
 * Runs `bun run bench [section ...] [--fresh]`: measures the product beside the bare limits of the same work, in one
 * run, and compares it with what is aimed at. Sections: latency, load, beside, due, mail, memory, console; without one,
 * all of these but beside, due and console. `memory` runs load and mail too. `outbox`, `cluster`, `streams` and
 * `backup` run alone: the tops of their files say what they measure.
 *
 * --fresh makes the data set anew. BENCH_ORGS: sizes of organizations, default 1000000x1,100000x1,10000x1,2000x50, of
 * `console` by itself 100000x1.
 * BENCH_DIR: where data sets are kept, default /tmp/deskwire-bench. Shorter runs: BENCH_SECONDS (5), BENCH_ROUNDS (3),
 * BENCH_MESSAGES (4000), BENCH_LATENCY_MS (700), BENCH_REST_MS (60000).
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { startDns } from '../support/dns'
import { benchBeside } from './beside'
import { benchConsole } from './console'
import { benchDue } from './due'
import { benchLatency } from './latency'
import { benchLoad } from './load'
import { benchMail } from './mail'
import { memoryOfIdle, rest, settleIn, startMemoryNotes } from './memory'
import { printUnmet } from './report'
import { type Rig, startRig } from './rig'
import { makeDataSet } from './volume/data-set'
import { readSizes } from './volume/fill'

const SECTIONS = ['latency', 'load', 'beside', 'due', 'mail', 'memory', 'console']
const ALONE = ['outbox', 'cluster', 'streams', 'backup']
const BY_DEFAULT = ['latency', 'load', 'mail', 'memory']
const { values: options, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { fresh: { type: 'boolean', default: false } },
})
const names = positionals.length > 0 ? positionals : BY_DEFAULT
const ORGS = process.env.BENCH_ORGS ?? (names.join() === 'console' ? '100000x1' : '1000000x1,100000x1,10000x1,2000x50')
const unknown = names.filter((name) => ![...SECTIONS, ...ALONE].includes(name))
if (unknown.length > 0) throw new Error(`bench what? One of ${[...SECTIONS, ...ALONE].join(', ')}`)

const kept = process.env.BENCH_DIR ?? path.join(os.tmpdir(), 'deskwire-bench')
const dir = runFolder()
// A line for each request or delivery would hide the figures.
process.env.LOG_LEVEL ??= 'warn'

const alone = names.find((name) => ALONE.includes(name))
if (alone) {
  await import(`./${alone}.ts`)
} else {
  await runSections()
  process.exit(0)
}

/** A folder that goes with this process. As root the database runs as another user, who has to get in. */
function runFolder(): string {
  process.umask(0o022)
  fs.mkdirSync(kept, { recursive: true })
  const folder = fs.mkdtempSync(path.join(kept, 'run-'))
  fs.chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  return folder
}

async function runSections(): Promise<void> {
  // The senders of mail are looked up there: no name exists.
  using dns = await startDns()
  process.env.DNS_SERVERS = dns.address
  const memory = startMemoryNotes()
  if (isAsked('memory')) memory.note('idle, empty database', await memoryOfIdle(dir))
  const rig = await openRig()
  if (isAsked('memory')) await settleIn()
  memory.note(`idle, ${rig.sizes.reduce((sum, size) => sum + size)} tickets`, rig.memory())
  if (isAsked('latency')) await benchLatency(rig)
  if (isAsked('load', 'memory')) await benchLoad(rig)
  if (isAsked('beside')) await benchBeside(rig)
  if (isAsked('due')) await benchDue(rig)
  if (isAsked('mail', 'memory')) await benchMail(rig)
  if (isAsked('memory')) {
    // Its connections are no memory of the service.
    await rig.stopBare()
    memory.note('after this load', rig.memory())
    await rest()
    memory.note('after a rest', rig.memory())
    memory.print()
  }
  if (isAsked('console')) await benchConsole(rig)
  await rig.stop()
  printUnmet()
}

function isAsked(...sections: string[]): boolean {
  return sections.some((section) => names.includes(section))
}

async function openRig(): Promise<Rig> {
  // PostgreSQL takes no comma in the path of its socket.
  const name = ORGS.replaceAll(',', '+')
  const data_set = path.join(kept, name)
  await makeDataSet(data_set, ORGS, options.fresh ? 'anew' : 'once')
  const rig_dir = path.join(dir, name)
  fs.mkdirSync(rig_dir, { recursive: true })
  return startRig(rig_dir, data_set, readSizes(ORGS))
}
