/** The launcher, on a small project that the test makes: what it installs, passes on, and leaves behind. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { whyTooOld } from '../../../src/base/runtime/needed-bun'
import { until } from '../../support/service'

const repository = path.join(import.meta.dir, '../../..')

const SERVICE = `
import { value } from 'part'
import { onStopRequest } from ${JSON.stringify(path.join(repository, 'src/base/process/stop-request'))}
onStopRequest((signal) => {
  console.log(signal)
  if (signal === 'SIGTERM') process.exit(7)
})
const { BUN_CONFIG_MAX_HTTP_REQUESTS, UV_THREADPOOL_SIZE, BUN_JSC_forceRAMSize } = process.env
const settings = { BUN_CONFIG_MAX_HTTP_REQUESTS, UV_THREADPOOL_SIZE, BUN_JSC_forceRAMSize }
console.log(JSON.stringify({ value, args: process.argv.slice(2), pid: process.pid, ...settings }))
if (process.argv[2] === 'serve') setInterval(() => {}, 60_000)
else if (process.argv[2] === 'read') process.stdin.pipe(process.stdout).on('finish', () => process.exit(0))
else process.exit(0)
`

let base: string
let projects = 0

beforeAll(() => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'launch-'))
})

afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

test('the lock names no registry', () => {
  expect(fs.readFileSync(path.join(repository, 'bun.lock'), 'utf8')).not.toContain('://')
})

test('every patch that the manifest names is there', () => {
  const { patchedDependencies } = JSON.parse(fs.readFileSync(path.join(repository, 'package.json'), 'utf8'))
  for (const file of Object.values<string>(patchedDependencies)) {
    expect(fs.existsSync(path.join(repository, file))).toBe(true)
  }
})

// The preparing part runs in Node, or in Bun under the name of Node, whichever the machine has.
for (const [name, program] of Object.entries({ bun: process.execPath, node: Bun.which('node') })) {
  test.skipIf(!program)(`${name}: a first start installs, says so in one line, and becomes the program`, async () => {
    const project = await makeProject()
    const programs = path.join(project, 'programs')
    fs.mkdirSync(programs)
    fs.symlinkSync(program!, path.join(programs, 'node'))
    const PATH = `${programs}:${environment.PATH}`
    const { lines, code, errors, pid } = await run(project, ['src/main.ts', 'a', 'b c'], { ...environment, PATH })
    expect(code).toBe(0)
    expect(errors).toBe('deskwire: installing packages\n')
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      value: 1,
      args: ['a', 'b c'],
      pid,
      BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
      UV_THREADPOOL_SIZE: '16',
      BUN_JSC_forceRAMSize: '536870912',
    })
  })
}

test('as the child of Node the program gets SIGTERM, and its exit code is passed on', async () => {
  const project = await makeProject()
  const child = spawn(process.execPath, [path.join(project, 'src/launch.mjs'), 'src/main.ts', 'serve'], {
    cwd: base,
    env: environment,
  })
  const launched = follow(child)
  await until('the service has started', () => launched.lines.length > 0)
  child.kill('SIGTERM')
  expect(await ended(child)).toBe(7)
  expect(launched.lines.slice(1)).toEqual(['SIGTERM'])
})

test('when what ran the launcher as a script is killed the service is asked to end', async () => {
  const project = await makeProject()
  const shell = spawn('/bin/sh', ['-c', 'sh src/launch.sh src/main.ts serve; true'], {
    cwd: project,
    env: { ...environment, npm_lifecycle_event: 'start' },
  })
  const output = follow(shell)
  await until('the service has started', () => output.lines.length > 0)
  shell.kill('SIGKILL')
  await until('all have ended', () => output.closed)
  expect(output.lines.slice(1)).toEqual(['SIGTERM'])
})

test('input reaches the service', async () => {
  const launched = await launch(await makeProject(), ['read'])
  launched.child.stdin?.end('hello\n')
  expect(await ended(launched.child)).toBe(0)
  expect(launched.lines.slice(1)).toEqual(['hello'])
})

test('what Ctrl-C sends twice at once interrupts once', async () => {
  const project = await makeProject()
  for (let was_at_once = false; !was_at_once; ) {
    const launched = await launch(project, ['serve'])
    const sent_ms = performance.now()
    launched.child.kill('SIGINT')
    await until('the first arrived', () => launched.lines.length > 1)
    launched.child.kill('SIGINT')
    // A busy machine may send the second so late that it counts as another signal.
    was_at_once = performance.now() - sent_ms < 100
    launched.child.kill('SIGTERM')
    await ended(launched.child)
    if (was_at_once) expect(launched.lines.slice(1)).toEqual(['SIGINT', 'SIGTERM'])
  }
})

test('a later start installs nothing, until the lock or the manifest has changed', async () => {
  const project = await makeProject()
  await run(project)
  fs.rmSync(path.join(project, 'node_modules/part'), { recursive: true })
  expect((await run(project)).code).toBe(1)

  fs.appendFileSync(path.join(project, 'package.json'), '\n')
  expect((await run(project)).code).toBe(0)
})

test('without a lock nothing is installed', async () => {
  const project = await makeProject()
  fs.rmSync(path.join(project, 'bun.lock'))
  const { code, errors } = await run(project)
  expect(code).toBe(1)
  expect(errors).toContain('deskwire: bun.lock is missing')
  expect(fs.existsSync(path.join(project, 'node_modules/part'))).toBe(false)
})

test.each(['main.ts', 'cli.ts'])('%s refuses an older Bun than the pinned one, with the command', (program) => {
  const older = path.join(base, 'older.ts')
  fs.writeFileSync(older, `Object.defineProperty(process.versions, 'bun', { value: '1.4.4' })`)
  const file = path.join(repository, 'src', program)
  const { status, stderr } = spawnSync(process.execPath, ['--preload', older, file, 'help'], {
    env: { ...environment, LOG_FORMAT: 'text', DATA_DIR: path.join(base, 'none') },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([
    78,
    expect.stringMatching(
      /^deskwire: .* is Bun 1\.4\.4, .* needs \d.* install -m 0755 "\$\(.*--prepare src\/main\.ts\)" /,
    ),
  ])
  expect(['1.4.10', '1.10.0', '2.0.0'].map(whyTooOld)).toEqual([undefined, undefined, undefined])
})

/** The packages of Debian bring Node.js there, and the guide takes it from there. */
const has_node = fs.existsSync('/usr/bin/node')
test.skipIf(!has_node)(
  'the update of the guide renews Bun as the first hour installs it, also a recent one',
  async () => {
    const [install, update] = ['first-hour', 'deploy'].map((page) => {
      const text = fs.readFileSync(path.join(repository, `src/guide/${page}.md`), 'utf8')
      return /install -m 0755 "\$\([^\n`]*/.exec(text)?.[0]
    })
    expect([install, install]).toEqual([expect.any(String), update!])
    const project = await makeProject()
    const { engines } = JSON.parse(fs.readFileSync(path.join(project, 'package.json'), 'utf8'))
    const programs = path.join(project, 'programs')
    fs.mkdirSync(programs)
    fs.symlinkSync(process.execPath, path.join(programs, 'bun'))
    for (const name of ['linux-x64', 'linux-aarch64']) {
      const fetched = `node_modules/.bun-runtime/${engines.bun.replace('>=', '')}/node_modules/@oven/bun-${name}/bin`
      fs.mkdirSync(path.join(project, fetched), { recursive: true })
      fs.symlinkSync(process.execPath, path.join(project, fetched, 'bun'))
    }
    const env = { ...environment, npm_execpath: '', PATH: `${programs}:${environment.PATH}` }
    const command = install!.replace('/usr/local/bin/bun', 'installed')
    const { status, stderr } = spawnSync('sh', ['-c', command], { cwd: project, env, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('fetching')])
    expect(fs.statSync(path.join(project, 'installed')).size).toBe(fs.statSync(process.execPath).size)
  },
)

test('a lock that does not fit the manifest stops the start', async () => {
  const project = await makeProject()
  const manifest = JSON.parse(fs.readFileSync(path.join(project, 'package.json'), 'utf8'))
  manifest.dependencies.other = 'file:./part'
  fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest))
  const { code, errors } = await run(project)
  expect(code).toBe(1)
  expect(errors).toContain('deskwire: the dependencies cannot be installed')
})

test('launchers that start at the same time install once and all run', async () => {
  const project = await makeProject()
  const runs = await Promise.all([1, 2, 3].map(() => run(project)))
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(runs.filter(({ errors }) => errors.includes('installing')).length).toBe(1)
})

test('an install that was killed does not block the next', async () => {
  const project = await makeProject()
  const lock = path.join(project, 'node_modules/.deskwire-install.lock')
  fs.mkdirSync(path.dirname(lock), { recursive: true })
  fs.writeFileSync(lock, '')
  const long_ago = new Date(Date.now() - 60_000)
  fs.utimesSync(lock, long_ago, long_ago)
  expect((await run(project)).code).toBe(0)
})

test('without Node and Bun the launcher says what is missing', async () => {
  const project = await makeProject()
  const programs = path.join(project, 'programs')
  fs.mkdirSync(programs)
  fs.symlinkSync(Bun.which('dirname')!, path.join(programs, 'dirname'))
  const { code, errors } = await run(project, ['src/main.ts'], { ...environment, PATH: programs })
  expect({ code, errors }).toEqual({ code: 1, errors: 'deskwire: neither Node (with npm) nor Bun is installed\n' })
})

test('where nothing can be written the launcher says what to do', async () => {
  const project = await makeProject()
  fs.symlinkSync('/proc/nothing', path.join(project, 'node_modules'))
  const { code, errors } = await run(project)
  expect(code).toBe(1)
  expect(errors).toMatch(
    /^deskwire: packages are missing and cannot be installed here \(E\w+\): use a checkout that you may write\n$/,
  )
})

test('the service gets nothing that only development needs, other programs get it, and a whole install will do', async () => {
  const project = await makeProject()
  const tool = path.join(project, 'node_modules/tool')
  const first = await run(project)
  expect([first.code, fs.existsSync(tool)]).toEqual([0, false])
  expect((await run(project, ['src/cli.ts'])).errors).toBe('')
  expect((await run(project, ['tests/run.ts'])).code).toBe(0)
  expect(fs.existsSync(tool)).toBe(true)
  expect((await run(project)).errors).toBe('')
  fs.appendFileSync(path.join(project, 'package.json'), '\n')
  expect((await run(project)).errors).toBe('deskwire: installing packages\n')
  expect(fs.existsSync(tool)).toBe(true)
})

const node = Bun.which('node')
test.skipIf(!node || process.platform !== 'linux')('a fetched Bun that is not the known one is not run', async () => {
  const project = await makeProject()
  const programs = path.join(project, 'programs')
  fs.mkdirSync(programs)
  const fake = '#!/bin/sh\necho 1.4.5\n'
  const npm = `#!${process.execPath}
    const [name] = Object.keys((await Bun.file('package.json').json()).dependencies)
    await Bun.write('node_modules/' + name + '/bin/bun', ${JSON.stringify(fake)})
    require('node:fs').chmodSync('node_modules/' + name + '/bin/bun', 0o755)`
  fs.writeFileSync(path.join(programs, 'npm'), npm, { mode: 0o755 })
  fs.symlinkSync(node!, path.join(programs, 'node'))
  fs.symlinkSync(Bun.which('dirname')!, path.join(programs, 'dirname'))
  const poor = { ...environment, npm_execpath: '', PATH: programs }
  const { code, errors } = await run(project, ['src/main.ts'], poor)
  expect(code).toBe(1)
  expect(errors).toMatch(
    /deskwire: the fetched @oven\/bun-.* 1\.4\.5 has another SHA-512 than the known one: it is not run/,
  )
  expect(fs.existsSync(path.join(project, 'node_modules/.bun-runtime/1.4.5'))).toBe(false)
})

/** `npm_execpath` is how `bun run` says which Bun it is: in Node the launcher uses that one. */
const environment: NodeJS.ProcessEnv = { ...process.env, npm_execpath: process.execPath, FORCE_COLOR: '0' }
const UNSET = [
  'NODE_ENV',
  'BUN_CONFIG_MAX_HTTP_REQUESTS',
  'UV_THREADPOOL_SIZE',
  'BUN_JSC_forceRAMSize',
  'npm_lifecycle_event',
]
// The test runner's --no-orphans, which kills at once, is inherited through this one.
for (const name of [...UNSET, 'BUN_FEATURE_FLAG_NO_ORPHANS']) delete environment[name]

/** A copy of the launcher with a local dependency, one for development, and the lock, not installed. */
async function makeProject(): Promise<string> {
  projects += 1
  const project = path.join(base, String(projects))
  fs.mkdirSync(path.join(project, 'src'), { recursive: true })
  fs.mkdirSync(path.join(project, 'part'))
  fs.mkdirSync(path.join(project, 'tests'))
  for (const file of ['src/launch.sh', 'src/launch.mjs']) {
    fs.copyFileSync(path.join(repository, file), path.join(project, file))
  }
  for (const file of ['src/main.ts', 'src/cli.ts', 'tests/run.ts']) {
    fs.writeFileSync(path.join(project, file), SERVICE)
  }
  fs.writeFileSync(path.join(project, 'part/package.json'), '{"name":"part","version":"1.0.0","main":"part.js"}')
  fs.writeFileSync(path.join(project, 'part/part.js'), 'export const value = 1')
  fs.mkdirSync(path.join(project, 'tool'))
  fs.writeFileSync(path.join(project, 'tool/package.json'), '{"name":"tool","version":"1.0.0"}')
  const needed = { dependencies: { part: 'file:./part' }, devDependencies: { tool: 'file:./tool' } }
  const { engines } = JSON.parse(fs.readFileSync(path.join(repository, 'package.json'), 'utf8'))
  const manifest = { name: 'project', type: 'module', engines, ...needed }
  fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest))
  const made = spawn(process.execPath, ['install', '--lockfile-only'], {
    cwd: project,
    stdio: 'ignore',
    env: environment,
  })
  expect(await ended(made)).toBe(0)
  return project
}

async function run(project: string, args = ['src/main.ts'], env = environment) {
  const output = start(project, args, env)
  const code = await ended(output.child)
  await until('all have ended', () => output.closed)
  return { code, lines: output.lines, errors: output.errors(), pid: output.child.pid }
}

/** Starts a service and waits for its first line. */
async function launch(project: string, args: string[]) {
  const output = start(project, ['src/main.ts', ...args])
  await until('the service has started', () => output.lines.length > 0)
  return output
}

function start(project: string, args: string[], env = environment) {
  return follow(spawn('/bin/sh', [path.join(project, 'src/launch.sh'), ...args], { cwd: base, env }))
}

function follow(child: ChildProcess) {
  const lines: string[] = []
  let errors = ''
  const output = { child, lines, errors: () => errors, closed: false }
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  if (child.stdout) {
    const reader = createInterface({ input: child.stdout })
    reader.on('line', (line) => lines.push(line))
    // Every process that holds the pipe is gone.
    reader.on('close', () => {
      output.closed = true
    })
  }
  return output
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.on('exit', resolve))
}
