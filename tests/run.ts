/**
 * Runs the tests: `bun run test [file or folder] [options of bun test]` with one PostgreSQL for all files and one
 * migrated template. `bun run test:long [part of a name]` runs those of tests/long, which take minutes.
 * A file of several with a failed test runs once more, alone: what fails twice has failed, and what passes then is named.
 * DESKWIRE_TEST_DATABASE_URL uses that server instead of an embedded one.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onStopRequest } from '../src/process/stop-request'
import { SETTINGS } from '../src/settings/table'
import { bunTest, type FailedTest, type RunResult } from './support/bun-test'
import { runOnServer, TEMPLATE_URL, urlOf, withDatabase } from './support/database'
import { startDns } from './support/dns'
import { freePort } from './support/ports'

/** Settings that a shell may hold and that tests must not act on: all but those of the log. */
const FOREIGN_SETTINGS = Object.keys(SETTINGS).filter((name) => !name.startsWith('LOG_'))

/** Everything that makes a commit durable is off: this data is thrown away. */
const FAST_SETTINGS = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '200' }

/** Time limit of a test or hook, long enough for a slow and busy machine, and longer than what a test waits for. */
const TIMEOUT_MS = 300_000

const LONG = '--long'
const LONG_DIR = path.join(import.meta.dirname, 'long')
/** Long tests that mostly wait: for leases, for late transactions, and beside a small load. The longest is first. */
const WAITING = ['rolling-restart', 'upgrade', 'following', 'replicas', 'migrate-wait']

const TEMPLATE = `deskwire_template_${process.pid}`

run(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    console.error(error)
    process.exit(1)
  },
)

async function run(args: string[]): Promise<number> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'deskwire-tests-'))
  // As root the server runs as another user, who has to get in.
  fs.chmodSync(dir, 0o711)
  // Other servers that tests start have users of their own too, whatever the shell's mask.
  process.umask(0o022)
  for (const name of FOREIGN_SETTINGS) delete process.env[name]
  Object.assign(process.env, { NODE_ENV: 'test', LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent', TMPDIR: dir })

  const stopped = new AbortController()
  onStopRequest((signal) => stopped.abort(signal))
  process.on('SIGHUP', () => stopped.abort('SIGHUP'))
  try {
    const server = await startServer(dir)
    // The senders of mail are looked up there: no name exists, unless a test has a DNS server of its own.
    using dns = await startDns()
    process.env.DNS_SERVERS = dns.address
    try {
      const template = await createTemplate(server.url)
      return stopped.signal.aborted ? exitCode(stopped.signal.reason) : await runTests(args, template, stopped.signal)
    } finally {
      await server.stop()
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

async function startServer(dir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env.DESKWIRE_TEST_DATABASE_URL
  if (given) return { url: given, stop: () => dropTemplate(given) }
  const { startEmbedded } = await import('../src/db/embedded/supervise')
  const port = await freePort()
  const settings = { ...FAST_SETTINGS, listen_addresses: '127.0.0.1', port: String(port) }
  const server = await startEmbedded(path.join(dir, 'data'), { settings })
  return { url: urlOf(server.connection, port, 'postgres'), stop: server.stop }
}

async function createTemplate(server_url: string): Promise<string> {
  const { migrateDatabase } = await import('../src/db/migrate')
  await runOnServer(server_url, (server) => server`create database ${server(TEMPLATE)}`)
  const template = withDatabase(server_url, TEMPLATE)
  await migrateDatabase(template)
  return template
}

async function dropTemplate(server_url: string) {
  await runOnServer(server_url, (server) => server`drop database if exists ${server(TEMPLATE)} with (force)`)
}

/** Runs the tests, shows their output, and adds the failed tests and the line with the counts. */
async function runTests(args: string[], template: string, stopped: AbortSignal): Promise<number> {
  const isOption = (arg: string, place: number) => arg.startsWith('-') || args[place - 1] === '-t'
  const names = args.filter((arg, place) => !isOption(arg, place))
  const options = [`--timeout=${TIMEOUT_MS}`, ...args.filter((arg, place) => isOption(arg, place) && arg !== LONG)]
  const start = (more: string[]) => bunTest([...options, ...more], { [TEMPLATE_URL]: template }, stopped)

  const result: RunResult = { files: new Map(), outside: 0 }
  const parallel = options.some((option) => option.startsWith('--parallel')) ? [] : ['--parallel=3']
  for (const more of args.includes(LONG) ? longRuns(names) : [[...parallel, ...names]]) {
    if (!stopped.aborted) addTo(result, await start(more))
  }
  const at_first = failuresOf(result)
  for (const file of result.files.size > 1 ? new Set(at_first.map((failure) => failure.file)) : []) {
    if (!stopped.aborted) addTo(result, await start([path.resolve(file)]))
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

/** The arguments of one run after the other: what waits by twos, then what is busy or measured, each file alone. */
function longRuns(names: string[]): string[][] {
  // Bun finds by itself only what is called *.test.ts.
  const files = fs.readdirSync(LONG_DIR).filter((file) => file.endsWith('.long.ts'))
  const wanted = files.filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
  const pathsOf = (some: string[]) => some.map((file) => path.join(LONG_DIR, file))
  const waiting = WAITING.map((name) => `${name}.long.ts`).filter((file) => wanted.includes(file))
  const others = wanted.filter((file) => !waiting.includes(file))
  return [['--parallel=2', ...pathsOf(waiting)], pathsOf(others)].filter((run) =>
    run.some((arg) => !arg.startsWith('-')),
  )
}

/** As the shell tells the end by a signal. */
function exitCode(signal: NodeJS.Signals | null): number {
  return signal ? 128 + os.constants.signals[signal] : 1
}
