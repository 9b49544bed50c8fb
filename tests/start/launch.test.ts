/** The launcher, on a small project that the test makes: what it installs, passes on, and leaves behind. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { until } from '../support/service'

const repository = path.join(import.meta.dir, '../..')

const SERVICE = `
import { value } from 'part'
process.on('SIGTERM', () => { console.log('asked to end'); process.exit(7) })
process.on('SIGINT', () => console.log('interrupted'))
const { NODE_ENV = 'unset', BUN_CONFIG_MAX_HTTP_REQUESTS, BUN_JSC_forceRAMSize } = process.env
const settings = { NODE_ENV, BUN_CONFIG_MAX_HTTP_REQUESTS, BUN_JSC_forceRAMSize }
console.log(JSON.stringify({ value, args: process.argv.slice(2), ...settings }))
if (process.argv[2] === 'serve') setInterval(() => {}, 60_000)
if (process.argv[2] === 'read') process.stdin.pipe(process.stdout)
if (process.argv[2] === 'crash') process.kill(process.pid, 'SIGKILL')
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

// The launcher itself runs in Node or in Bun, whichever the machine has.
for (const runner of [process.execPath, Bun.which('node')].filter((program) => program !== null)) {
  const name = path.basename(runner)

  test(`${name}: a first start installs, then runs in the repository with the arguments and settings`, async () => {
    const project = await makeProject()
    const { lines, code } = await run(runner, project, ['a', 'b c'])
    expect(code).toBe(0)
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      value: 1,
      args: ['a', 'b c'],
      NODE_ENV: 'unset',
      BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
      BUN_JSC_forceRAMSize: '536870912',
    })
  })

  test(`${name}: SIGTERM is passed on once, and so is the exit code`, async () => {
    const launched = await launch(runner, await makeProject(), ['serve'])
    launched.child.kill('SIGTERM')
    expect(await ended(launched.child)).toBe(7)
    expect(launched.lines.slice(1)).toEqual(['asked to end'])
  })

  test(`${name}: when the launcher is killed the service is asked to end`, async () => {
    const launched = await launch(runner, await makeProject(), ['serve'])
    launched.child.kill('SIGKILL')
    await until('it is asked to end', () => launched.lines.length > 1)
    expect(launched.lines.slice(1)).toEqual(['asked to end'])
    await until('all have ended', () => launched.closed)
  })

  test(`${name}: when what ran the launcher as a script is killed the service is asked to end`, async () => {
    const project = await makeProject()
    const script = `"${runner}" src/launch.mjs service.ts serve; true`
    const shell = spawn('/bin/sh', ['-c', script], {
      cwd: project,
      env: { ...environment, npm_lifecycle_event: 'start' },
    })
    const output = follow(shell)
    await until('the service has started', () => output.lines.length > 0)
    shell.kill('SIGKILL')
    await until('all have ended', () => output.closed)
    expect(output.lines.slice(1)).toEqual(['asked to end'])
  })
}

test('input reaches the service', async () => {
  const launched = await launch(process.execPath, await makeProject(), ['read'])
  launched.child.stdin?.end('hello\n')
  expect(await ended(launched.child)).toBe(0)
  expect(launched.lines.slice(1)).toEqual(['hello'])
})

test('the end by a signal is an exit code as the shell tells it', async () => {
  expect((await run(process.execPath, await makeProject(), ['crash'])).code).toBe(137)
})

test('what Ctrl-C sends twice at once interrupts once', async () => {
  const project = await makeProject()
  for (let was_at_once = false; !was_at_once; ) {
    const launched = await launch(process.execPath, project, ['serve'])
    const sent_ms = performance.now()
    launched.child.kill('SIGINT')
    await until('the first arrived', () => launched.lines.length > 1)
    launched.child.kill('SIGINT')
    // A busy machine may send the second so late that it counts as another signal.
    was_at_once = performance.now() - sent_ms < 100
    launched.child.kill('SIGTERM')
    await ended(launched.child)
    if (was_at_once) expect(launched.lines.slice(1)).toEqual(['interrupted', 'asked to end'])
  }
})

test('a later start installs nothing, until the lock or the manifest has changed', async () => {
  const project = await makeProject()
  await run(process.execPath, project, [])
  fs.rmSync(path.join(project, 'node_modules/part'), { recursive: true })
  expect((await run(process.execPath, project, [])).code).toBe(1)

  fs.appendFileSync(path.join(project, 'package.json'), '\n')
  expect((await run(process.execPath, project, [])).code).toBe(0)
})

test('without a lock nothing is installed', async () => {
  const project = await makeProject()
  fs.rmSync(path.join(project, 'bun.lock'))
  const { code, errors } = await run(process.execPath, project, [])
  expect(code).toBe(1)
  expect(errors).toContain('deskwire: bun.lock is missing')
  expect(fs.existsSync(path.join(project, 'node_modules/part'))).toBe(false)
})

test('a lock that does not fit the manifest stops the start', async () => {
  const project = await makeProject()
  const manifest = JSON.parse(fs.readFileSync(path.join(project, 'package.json'), 'utf8'))
  manifest.dependencies.other = 'file:./part'
  fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest))
  const { code, errors } = await run(process.execPath, project, [])
  expect(code).toBe(1)
  expect(errors).toContain('deskwire: the dependencies cannot be installed')
})

test('launchers that start at the same time install once and all run', async () => {
  const project = await makeProject()
  const runs = await Promise.all([1, 2, 3].map(() => run(process.execPath, project, [])))
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(runs.filter(({ errors }) => errors.includes('installed')).length).toBe(1)
})

test('an install that was killed does not block the next', async () => {
  const project = await makeProject()
  const lock = path.join(project, 'node_modules/.deskwire-install.lock')
  fs.mkdirSync(path.dirname(lock), { recursive: true })
  fs.writeFileSync(lock, '')
  const long_ago = new Date(Date.now() - 60_000)
  fs.utimesSync(lock, long_ago, long_ago)
  expect((await run(process.execPath, project, [])).code).toBe(0)
})

test('in production nothing is installed that only development needs, and a whole install will do', async () => {
  const project = await makeProject()
  const tool = path.join(project, 'node_modules/tool')
  const production = { ...environment, NODE_ENV: 'production' }
  const first = await run(process.execPath, project, [], production)
  expect([first.code, fs.existsSync(tool)]).toEqual([0, false])
  expect((await run(process.execPath, project, [], production)).errors).not.toContain('installed')
  expect((await run(process.execPath, project, [])).code).toBe(0)
  expect(fs.existsSync(tool)).toBe(true)
  expect((await run(process.execPath, project, [], production)).errors).not.toContain('installed')
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
  const poor = { ...environment, npm_execpath: '', PATH: programs }
  const { code, errors } = await run(node!, project, [], poor)
  expect(code).toBe(1)
  expect(errors).toMatch(
    /deskwire: the fetched @oven\/bun-.* 1\.4\.5 has another SHA-512 than the known one: it is not run/,
  )
  expect(fs.existsSync(path.join(project, 'node_modules/.bun-runtime/1.4.5'))).toBe(false)
})

/** `npm_execpath` is how `bun run` says which Bun it is: in Node the launcher uses that one. */
const environment: NodeJS.ProcessEnv = { ...process.env, npm_execpath: process.execPath, FORCE_COLOR: '0' }
const UNSET = ['NODE_ENV', 'BUN_CONFIG_MAX_HTTP_REQUESTS', 'BUN_JSC_forceRAMSize', 'npm_lifecycle_event']
// The test runner's --no-orphans, which kills at once, is inherited through this one.
for (const name of [...UNSET, 'BUN_FEATURE_FLAG_NO_ORPHANS']) delete environment[name]

/** A copy of the launcher with a local dependency, one for development, and the lock, not installed. */
async function makeProject(): Promise<string> {
  projects += 1
  const project = path.join(base, String(projects))
  fs.mkdirSync(path.join(project, 'src'), { recursive: true })
  fs.mkdirSync(path.join(project, 'part'))
  fs.copyFileSync(path.join(repository, 'src/launch.mjs'), path.join(project, 'src/launch.mjs'))
  fs.writeFileSync(path.join(project, 'service.ts'), SERVICE)
  fs.writeFileSync(path.join(project, 'part/package.json'), '{"name":"part","version":"1.0.0","main":"part.js"}')
  fs.writeFileSync(path.join(project, 'part/part.js'), 'export const value = 1')
  fs.mkdirSync(path.join(project, 'tool'))
  fs.writeFileSync(path.join(project, 'tool/package.json'), '{"name":"tool","version":"1.0.0"}')
  const needed = { dependencies: { part: 'file:./part' }, devDependencies: { tool: 'file:./tool' } }
  const manifest = { name: 'project', type: 'module', ...needed }
  fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest))
  const made = spawn(process.execPath, ['install', '--lockfile-only'], {
    cwd: project,
    stdio: 'ignore',
    env: environment,
  })
  expect(await ended(made)).toBe(0)
  return project
}

async function run(runner: string, project: string, args: string[], env = environment) {
  const output = start(runner, project, args, env)
  const code = await ended(output.child)
  await until('all have ended', () => output.closed)
  return { code, lines: output.lines, errors: output.errors() }
}

/** Starts a service and waits for its first line. */
async function launch(runner: string, project: string, args: string[]) {
  const output = start(runner, project, args)
  await until('the service has started', () => output.lines.length > 0)
  return output
}

function start(runner: string, project: string, args: string[], env = environment) {
  const launcher = path.join(project, 'src/launch.mjs')
  return follow(spawn(runner, [launcher, 'service.ts', ...args], { cwd: base, env }))
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
