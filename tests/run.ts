/**
 * Runs the tests: `bun run test [file or folder] [options of bun test]` with one PostgreSQL for all files and one
 * migrated template. Without a file it leaves out those that are slow by nature (`slow.ts`); `--all` runs them too.
 * `bun run test:long [part of a name]` runs those of tests/long, which take minutes. A file of several with a failed
 * test runs once more, alone: what fails twice has failed, and what passes then is named.
 * DESKWIRE_TEST_DATABASE_URL uses that server instead of an embedded one. CITUS_URL, a database with Citus that knows
 * its workers, uses that cluster: each file gets a database that is distributed over it. `bun run test:citus` runs
 * there what talks to a service. `bun run test:rls` runs what clients see once more with policies:
 * `support/policed.ts`.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onStopRequest } from '../src/base/process/stop-request'
import { SETTINGS } from '../src/base/settings/table'
import { OWN_MODULES, SHARING, SLOW } from './slow'
import { bunTest, type FailedTest, type RunResult } from './support/bun-test'
import { closeDatabase, createClusterDatabase, createOwner, dropOwner, findNodes, NODE_URLS } from './support/cluster'
import { SOCKET_FOLDER, TEMPLATE_URL, urlOf } from './support/database'
import { startDns } from './support/dns'
import { runOnServer, withDatabase } from './support/on-server'
import { addPolicies, POLICED } from './support/policed'
import { freePort } from './support/ports'
import { SAMPLE } from './support/sampled'

/** Settings that a shell may hold and that tests must not act on: all but those of the log. */
const FOREIGN_SETTINGS = Object.keys(SETTINGS).filter((name) => !name.startsWith('LOG_'))

/** Everything that makes a commit durable or a table small is off: this data is thrown away. */
const FAST_SETTINGS = {
  ...{ fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', autovacuum: 'off' },
  max_connections: '200',
}

/**
 * A statement of a test runs a few times on its connection. To plan it for its values each of the first five times
 * takes a fifth of the server's time. Tests of plans name the way themselves, and long tests run as the service does.
 */
const PLANNED_ONCE = { plan_cache_mode: 'force_generic_plan' }

/**
 * Most code of a test runs a few times only: to optimize it as early as a service does takes a sixth of the processor
 * time of all files. Long tests measure, and run as the service does.
 */
const OPTIMIZED_LATE = {
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '30000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '30000',
}

/**
 * The service collects garbage as on a machine of 512 MB (`src/launch.sh`). Tests have more, and so spend less on it.
 * Those that measure memory say how much there is themselves.
 */
const MORE_MEMORY = { BUN_JSC_forceRAMSize: String(4 * 2 ** 30) }

/** Time limit of a test or hook, long enough for a slow and busy machine, and longer than what a test waits for. */
const TIMEOUT_MS = 300_000

/** A file system in memory. A container has often 64 MB there, and runs no program from it. */
const MEMORY_DIR = '/dev/shm'
const MEMORY_LEAST_BYTES = 4 * 2 ** 30

const ALL = '--all'
const LONG = '--long'
const CITUS = '--citus'
const RLS = '--rls'
const MODES = [ALL, LONG, CITUS, RLS]
const FOLDERS = {
  /**
   * The folders that run on a cluster: requests, mail, the outbox, and the rooms of clusters alone. Those left out
   * say why at their place: `http/cursor-plans`, `delivery/outbox/outbox-plans`, the last commit of
   * `delivery/outbox/outbox-faults`, and one test of `mail/inbound/mail-organizations`.
   */
  [CITUS]: foldersOf(
    'contract delivery desk http mail/domains mail/end-to-end.test.ts mail/inbound mail/mailboxes mail/outbound mail/smtp ' +
      'people operate/backup/cluster-moves.test.ts operate/backup/export.test.ts operate/start/cluster-commands.test.ts ' +
      'operate/start/psql.test.ts operate/doctor/cluster-state.test.ts base/db/cleared-references.test.ts ' +
      'base/db/distribute.test.ts base/db/triggers.test.ts base/db/violations.test.ts',
  ),
  /** The folders that run with policies: every room whose requests are those of an organization. */
  [RLS]: foldersOf('base/db/policed.test.ts client contract delivery desk http mail people'),
}
const ROOT = path.dirname(import.meta.dirname)
const LONG_DIR = path.join(import.meta.dirname, 'long')
/** Long tests that measure memory or time: each runs alone. The others mostly wait, and run by twos. */
const MEASURED = ['memory', 'mail-load', 'outbox-fairness', 'import-kill', 'console-inbox']

/** The slowest files begin first: none runs alone at the end. `--update-timings` measures them anew. */
const TIMINGS = `--timings=${path.join(import.meta.dirname, 'timings.json')}`

const TEMPLATE = `deskwire_template_${process.pid}`

run(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    console.error(error)
    process.exit(1)
  },
)

async function run(args: string[]): Promise<number> {
  if (args.includes(CITUS) && !process.env.CITUS_URL) {
    console.error('CITUS_URL names no database with Citus that knows its workers: there is no cluster to test on')
    return 1
  }
  const dir = fs.mkdtempSync(path.join(parentFolder(args), 'deskwire-tests-'))
  // As root the server runs as another user, who has to get in.
  fs.chmodSync(dir, 0o711)
  // Other servers that tests start have users of their own too, whatever the shell's mask.
  process.umask(0o022)
  for (const name of [...FOREIGN_SETTINGS, SOCKET_FOLDER]) delete process.env[name]
  Object.assign(process.env, { NODE_ENV: 'test', LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent', TMPDIR: dir })

  if (!args.includes(LONG)) Object.assign(process.env, OPTIMIZED_LATE, MORE_MEMORY)
  if (isDaily(args)) process.env[SAMPLE] = 'yes'

  if (args.includes(RLS)) {
    process.env[POLICED] = 'yes'
    // The role is made in a server of the run alone.
    for (const name of ['CITUS_URL', 'DESKWIRE_TEST_DATABASE_URL']) delete process.env[name]
  }

  const stopped = new AbortController()
  onStopRequest((signal) => stopped.abort(signal))
  process.on('SIGHUP', () => stopped.abort('SIGHUP'))
  try {
    const server = await startServer(dir, args)
    // The senders of mail are looked up there: no name exists, unless a test has a DNS server of its own.
    using dns = await startDns()
    process.env.DNS_SERVERS = dns.address
    try {
      const template = await server.createTemplate()
      return stopped.signal.aborted ? exitCode(stopped.signal.reason) : await runTests(args, template, stopped.signal)
    } finally {
      await server.stop()
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * Where everything that the tests write goes: memory, if there is enough. A copy of the template is a thousand small
 * files, which take 0.3 s of a processor on ext4 and 0.02 s in memory. Long tests write more.
 */
function parentFolder(args: string[]): string {
  if (process.env.TMPDIR || args.includes(LONG) || !fs.existsSync(MEMORY_DIR)) return os.tmpdir()
  if (/ \/dev\/shm .*noexec/.test(fs.readFileSync('/proc/mounts', 'latin1'))) return os.tmpdir()
  const { bavail, bsize } = fs.statfsSync(MEMORY_DIR)
  return bavail * bsize >= MEMORY_LEAST_BYTES && process.availableMemory() >= MEMORY_LEAST_BYTES
    ? MEMORY_DIR
    : os.tmpdir()
}

type TestServer = {
  /** Makes the migrated database that the others are copies of. @returns its URL */
  createTemplate(): Promise<string>
  stop(): Promise<void>
}

async function startServer(dir: string, args: string[]): Promise<TestServer> {
  if (process.env.CITUS_URL) return useCluster(process.env.CITUS_URL)
  const given = process.env.DESKWIRE_TEST_DATABASE_URL
  if (given) return { createTemplate: () => createTemplate(given), stop: () => dropTemplate(given) }
  const { startEmbedded } = await import('../src/base/db/embedded/supervise')
  const port = await freePort()
  const planned = args.includes(LONG) ? {} : PLANNED_ONCE
  const settings = { ...FAST_SETTINGS, ...planned, listen_addresses: '127.0.0.1', port: String(port) }
  const server = await startEmbedded(path.join(dir, 'data'), { settings })
  const url = urlOf(server.connection, port, 'postgres')
  process.env[SOCKET_FOLDER] = path.dirname(server.connection.path)
  return {
    async createTemplate() {
      const template = await createTemplate(url)
      if (process.env[POLICED]) await addPolicies(template)
      return template
    },
    stop: server.stop,
  }
}

async function createTemplate(server_url: string): Promise<string> {
  const { migrateDatabase } = await import('../src/base/db/migrate')
  await runOnServer(server_url, (server) => server`create database ${server(TEMPLATE)}`)
  const template = withDatabase(server_url, TEMPLATE)
  await migrateDatabase(template)
  return template
}

async function dropTemplate(server_url: string) {
  await runOnServer(server_url, (server) => server`drop database if exists ${server(TEMPLATE)} with (force)`)
}

async function useCluster(coordinator_url: string): Promise<TestServer> {
  const nodes = await findNodes(coordinator_url)
  process.env[NODE_URLS] = JSON.stringify(nodes)
  return {
    async createTemplate() {
      const { migrateDatabase } = await import('../src/base/db/migrate')
      const { distributeDatabase } = await import('../src/base/db/cluster/distribute')
      const template = await createClusterDatabase(nodes, await createOwner(nodes, TEMPLATE), TEMPLATE)
      await migrateDatabase(template)
      await distributeDatabase(template)
      await closeDatabase(nodes, TEMPLATE)
      return template
    },
    stop: () => dropOwner(nodes, TEMPLATE),
  }
}

/** Runs the tests, shows their output, and adds the failed tests and the line with the counts. */
async function runTests(args: string[], template: string, stopped: AbortSignal): Promise<number> {
  const names = args.filter((arg, place) => !isOption(arg, place, args))
  const options = [
    `--timeout=${TIMEOUT_MS}`,
    ...args.filter((arg, place) => isOption(arg, place, args) && !MODES.includes(arg)),
  ]
  const start = (more: string[]) => bunTest([...options, ...more], { [TEMPLATE_URL]: template }, stopped)

  const result: RunResult = { files: new Map(), outside: 0 }
  const parallel = options.some((option) => option.startsWith('--parallel')) ? [] : ['--parallel=4']
  for (const more of args.includes(LONG) ? longRuns(names) : testRuns(args, names)) {
    if (!stopped.aborted) addTo(result, await start([...(args.includes(LONG) ? [] : parallel), TIMINGS, ...more]))
  }
  const at_first = failuresOf(result)
  for (const file of result.files.size > 1 ? new Set(at_first.map((failure) => failure.file)) : []) {
    if (!stopped.aborted) addTo(result, await start([TIMINGS, path.resolve(file)]))
  }
  const failures = failuresOf(result)
  const isPassed = (one: Failure) => !failures.some(({ file, name }) => file === one.file && name === one.name)
  printFailures('failed at first, passed alone', at_first.filter(isPassed))
  printFailures('failed', failures)
  if (result.outside > 0) console.log(`failed: ${result.outside} outside of the tests, shown above`)
  const passed = [...result.files.values()].reduce((sum, file) => sum + file.passed, 0)
  const failed = failures.length + result.outside
  console.log(`${passed} passed, ${failed} failed`)
  if (stopped.aborted) return exitCode(stopped.reason)
  return failed > 0 ? 1 : 0
}

/** Adds what another run has found. It replaces what was known of the same files. */
function addTo(result: RunResult, { files, outside }: RunResult) {
  for (const [file, one] of files) result.files.set(file, one)
  result.outside += outside
}

type Failure = FailedTest & { file: string }

function failuresOf({ files }: RunResult): Failure[] {
  return [...files].flatMap(([file, { failed }]) => failed.map((one) => ({ file, ...one })))
}

function printFailures(what: string, failures: Failure[]) {
  for (const { file, name, error } of failures) console.log(`${what}: ${file} > ${name}\n${error.replace(/^/gm, '  ')}`)
}

function isOption(arg: string, place: number, args: string[]): boolean {
  return arg.startsWith('-') || args[place - 1] === '-t'
}

/** Tells if it is the run of every day: no mode, and no file by name. */
function isDaily(args: string[]): boolean {
  return args.every((arg, place) => isOption(arg, place, args) && !MODES.includes(arg))
}

/** The arguments of one run after the other: files that share the modules of their worker, then those that cannot. */
function testRuns(args: string[], names: string[]): string[][] {
  const mode = args.find((arg) => arg === CITUS || arg === RLS)
  const wanted = (mode && names.length === 0 ? FOLDERS[mode] : names).map((name) => path.relative(ROOT, name))
  const slow = isDaily(args) ? filesOf(Object.values(SLOW).flat()) : []
  const found = [...new Bun.Glob('tests/**/*.test.ts').scanSync(ROOT)].filter(
    (file) => !slow.includes(file) && (wanted.length === 0 || wanted.some((name) => file.includes(name))),
  )
  // Files with other names: those that a test of this runner makes elsewhere, and the requests of `fuzz`.
  const isOther = (name: string) =>
    !found.includes(path.relative(ROOT, name)) && fs.existsSync(name) && /\.ts$/.test(name)
  const files = [...found, ...names.filter(isOther)]
  if (files.length === 0) throw new Error(`there is no test in ${names.join(' ')}`)
  const own = filesOf(OWN_MODULES)
  const isSharing = (file: string) =>
    !own.includes(file) && SHARING.some((folder) => file.startsWith(`tests/${folder}`))
  const runs = [
    ['--no-isolate', ...files.filter(isSharing)],
    ['--isolate', ...files.filter((file) => !isSharing(file))],
  ]
  return runs.filter((run) => run.length > 1)
}

/** @throws Error for a name that is no file */
function filesOf(names: string[]): string[] {
  return names.map((name) => {
    const file = `tests/${name}.test.ts`
    if (!fs.existsSync(path.join(ROOT, file))) throw new Error(`tests/slow.ts names ${name}: no file`)
    return file
  })
}

function foldersOf(names: string): string[] {
  return names.split(' ').map((name) => `tests/${name}`)
}

/** The arguments of one run after the other: most files by twos, then those that are measured, each alone. */
function longRuns(names: string[]): string[][] {
  // Bun finds by itself only what is called *.test.ts.
  const files = fs.readdirSync(LONG_DIR).filter((file) => file.endsWith('.long.ts'))
  const wanted = files.filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
  const pathsOf = (some: string[]) => some.map((file) => path.join(LONG_DIR, file))
  const measured = wanted.filter((file) => MEASURED.some((name) => file === `${name}.long.ts`))
  const others = wanted.filter((file) => !measured.includes(file))
  return [['--parallel=2', ...pathsOf(others)], pathsOf(measured)].filter((run) =>
    run.some((arg) => !arg.startsWith('-')),
  )
}

/** As the shell tells the end by a signal. */
function exitCode(signal: NodeJS.Signals | null): number {
  return signal ? 128 + os.constants.signals[signal] : 1
}
