/**
 * Runs the tests: `bun run test [file or folder] [options of bun test]` with one PostgreSQL for all files and one
 * migrated template. `bun run test:long [part of a name]` runs those of tests/long, which take minutes, one by one.
 * DESKWIRE_TEST_DATABASE_URL uses that server instead of an embedded one. CITUS_URL, a database with Citus that knows its
 * workers, uses that cluster: each file gets a database that is distributed over it. `bun run test:citus` runs there what
 * talks to a service. `bun run test:rls` runs what clients see once more with policies: `support/policed.ts`.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onStopRequest } from '../src/process/stop-request'
import { SETTINGS } from '../src/settings/table'
import { closeDatabase, createClusterDatabase, dropDatabase, findNodes, NODE_URLS } from './support/cluster'
import { TEMPLATE_URL, urlOf } from './support/database'
import { startDns } from './support/dns'
import { runOnServer, withDatabase } from './support/on-server'
import { addPolicies, POLICED } from './support/policed'
import { freePort } from './support/ports'

/** Settings that a shell may hold and that tests must not act on: all but those of the log. */
const FOREIGN_SETTINGS = Object.keys(SETTINGS).filter((name) => !name.startsWith('LOG_'))

/** Everything that makes a commit durable is off: this data is thrown away. */
const FAST_SETTINGS = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '200' }

/** Time limit of a test or hook, long enough for a slow or busy machine. */
const TIMEOUT_MS = 120_000

const LONG = '--long'
const CITUS = '--citus'
const RLS = '--rls'
const FOLDERS = {
  /** What runs on a cluster: everything that a client or a mail server sees, and what works it off. */
  [CITUS]: foldersOf(
    'api-keys attachments audit-log auth companies contacts contract http inbound-messages labels mail mailboxes messages outbox tickets webhooks',
  ),
  /** What runs with policies: every room whose requests are those of an organization. */
  [RLS]: foldersOf(
    'db/policed.test.ts api-keys attachments audit-log auth client companies contacts contract domains http invitations labels mail mailboxes messages organizations outbox participants privacy stats tickets time-entries timers users webhooks',
  ),
}
const LONG_DIR = path.join(import.meta.dirname, 'long')

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
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'deskwire-tests-'))
  // As root the server runs as another user, who has to get in.
  fs.chmodSync(dir, 0o711)
  // Other servers that tests start have users of their own too, whatever the shell's mask.
  process.umask(0o022)
  for (const name of FOREIGN_SETTINGS) delete process.env[name]
  Object.assign(process.env, { NODE_ENV: 'test', LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent', TMPDIR: dir })

  if (args.includes(RLS)) {
    process.env[POLICED] = 'yes'
    // The role is made in a server of the run alone.
    for (const name of ['CITUS_URL', 'DESKWIRE_TEST_DATABASE_URL']) delete process.env[name]
  }

  const stopped = new AbortController()
  onStopRequest((signal) => stopped.abort(signal))
  process.on('SIGHUP', () => stopped.abort('SIGHUP'))
  try {
    const server = await startServer(dir)
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

type TestServer = {
  /** Makes the migrated database that the others are copies of. @returns its URL */
  createTemplate(): Promise<string>
  stop(): Promise<void>
}

async function startServer(dir: string): Promise<TestServer> {
  if (process.env.CITUS_URL) return useCluster(process.env.CITUS_URL)
  const given = process.env.DESKWIRE_TEST_DATABASE_URL
  if (given) return { createTemplate: () => createTemplate(given), stop: () => dropTemplate(given) }
  const { startEmbedded } = await import('../src/db/embedded/supervise')
  const port = await freePort()
  const settings = { ...FAST_SETTINGS, listen_addresses: '127.0.0.1', port: String(port) }
  const server = await startEmbedded(path.join(dir, 'data'), { settings })
  const url = urlOf(server.connection, port, 'postgres')
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
  const { migrateDatabase } = await import('../src/db/migrate')
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
      const { migrateDatabase } = await import('../src/db/migrate')
      const { distributeDatabase } = await import('../src/db/cluster/distribute')
      const template = await createClusterDatabase(nodes, TEMPLATE)
      await migrateDatabase(template)
      await distributeDatabase(template)
      await closeDatabase(nodes, TEMPLATE)
      return template
    },
    stop: () => dropDatabase(nodes, TEMPLATE),
  }
}

/** Runs `bun test`, shows its output and adds the line with the counts. */
async function runTests(args: string[], template: string, stopped: AbortSignal): Promise<number> {
  const asked = testsOf(args)
  const parallel = args.some((arg) => arg.startsWith('--parallel') || arg === LONG) ? [] : ['--parallel=3']
  const tests = spawn(process.execPath, ['test', '--no-orphans', `--timeout=${TIMEOUT_MS}`, ...parallel, ...asked], {
    env: { ...process.env, ...(process.stderr.isTTY && { FORCE_COLOR: '1' }), [TEMPLATE_URL]: template },
    stdio: ['inherit', 'inherit', 'pipe'],
  })
  stopped.addEventListener('abort', () => tests.kill(stopped.reason))
  const counts = { pass: 0, fail: 0 }
  let rest = ''
  tests.stderr.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [, count, outcome] = /^ *(\d+) (pass|fail)$/.exec(Bun.stripANSI(line)) ?? []
      if (outcome === 'pass' || outcome === 'fail') counts[outcome] = Number(count)
    }
  })
  const code = await new Promise<number>((resolve) => {
    tests.on('close', (status, signal) => resolve(status ?? exitCode(signal)))
  })
  // An error outside of a test fails the run without being counted by Bun.
  const failed = code === 0 ? counts.fail : Math.max(counts.fail, 1)
  console.log(`${counts.pass} passed, ${failed} failed`)
  return code
}

function testsOf(args: string[]): string[] {
  if (args.includes(LONG)) return longTests(args.filter((arg) => arg !== LONG))
  const mode = args.find((arg) => arg === CITUS || arg === RLS)
  if (!mode) return args
  const asked = args.filter((arg) => arg !== mode)
  return asked.some((arg) => !arg.startsWith('-')) ? asked : [...FOLDERS[mode], ...asked]
}

function foldersOf(names: string): string[] {
  return names.split(' ').map((name) => `tests/${name}`)
}

/** Bun finds by itself only what is called *.test.ts. */
function longTests(args: string[]): string[] {
  const isOption = (arg: string, place: number) => arg.startsWith('-') || args[place - 1] === '-t'
  const [options, names] = [args.filter(isOption), args.filter((arg, place) => !isOption(arg, place))]
  const files = fs.readdirSync(LONG_DIR).filter((file) => file.endsWith('.long.ts'))
  const wanted = files.filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
  return [...wanted.map((file) => path.join(LONG_DIR, file)), ...options]
}

/** As the shell tells the end by a signal. */
function exitCode(signal: NodeJS.Signals | null): number {
  return signal ? 128 + os.constants.signals[signal] : 1
}
