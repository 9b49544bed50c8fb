/**
 * Plays the part of systemd that the first hour needs: starts what a unit says, as its user. Postfix has its own
 * starter, and a path unit is a loop that looks at the file.
 */
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const RUN = '/run/units'
const LOG = '/tmp/shared/log'
const FOLDERS = ['/etc/systemd/system', '/lib/systemd/system', '/usr/lib/systemd/system']

const [verb, ...rest] = process.argv.slice(2)
const names = rest.filter((word) => !word.startsWith('--'))
fs.mkdirSync(RUN, { recursive: true })
if (verb === 'watch') await watch(names[0]!)
else if (verb !== 'daemon-reload' && (verb !== 'enable' || rest.includes('--now'))) {
  for (const name of names) await act(verb!, name)
}

async function act(verb: string, name: string): Promise<void> {
  if (name === 'postfix') {
    postfix()
    return
  }
  if (verb === 'stop' || verb === 'restart') await stop(name)
  if (verb !== 'stop') start(name)
}

function start(name: string): void {
  if (name.endsWith('.path')) {
    background([process.execPath, import.meta.path, 'watch', name], name, {}, '/')
    return
  }
  const unit = readUnit(name.includes('.') ? name : `${name}.service`)
  const [user] = unit.get('User') ?? ['root']
  for (const folder of unit.get('StateDirectory') ?? []) {
    run([
      'install',
      '-d',
      '-o',
      user!,
      '-g',
      user!,
      '-m',
      unit.get('StateDirectoryMode')?.[0] ?? '755',
      `/var/lib/${folder}`,
    ])
  }
  const env = Object.fromEntries([...environment(unit)])
  const cwd = unit.get('WorkingDirectory')?.[0] ?? '/'
  for (const line of unit.get('ExecStart')!) {
    const words = line
      .split(/\s+/)
      .flatMap((word) => (word.startsWith('$') ? (env[word.slice(1)] ?? '').split(' ') : word))
    const command = [...asUser(unit), ...words.filter(Boolean)]
    if (unit.get('Type')?.[0] === 'oneshot') run(command, cwd)
    else background(command, name, env, cwd)
  }
}

/** The user with the capabilities of the unit, and no others. */
function asUser(unit: Map<string, string[]>): string[] {
  const user = unit.get('User')?.[0]
  if (!user) return []
  const wanted = (unit.get('AmbientCapabilities')?.[0] ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const caps = wanted.map((cap) => `+${cap.replace('cap_', '')}`).join(',')
  const ambient = caps ? ['--inh-caps', caps, '--ambient-caps', caps] : []
  return [
    'setpriv',
    '--reuid',
    user,
    '--regid',
    unit.get('Group')?.[0] ?? user,
    '--init-groups',
    '--no-new-privs',
    ...ambient,
  ]
}

function* environment(unit: Map<string, string[]>): Generator<[string, string]> {
  yield ['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']
  yield ['HOME', `/var/lib/${unit.get('User')?.[0]}`]
  const files = (unit.get('EnvironmentFile') ?? []).map((file) => file.replace(/^-/, ''))
  const lines = files.filter((file) => fs.existsSync(file)).flatMap((file) => fs.readFileSync(file, 'utf8').split('\n'))
  const pairs = [...(unit.get('Environment') ?? []).flatMap((line) => line.split(/\s+/)), ...lines]
  for (const pair of pairs) {
    const [, name, value] = /^([A-Z_a-z0-9]+)=(.*)$/.exec(pair) ?? []
    if (name) yield [name, value!.replace(/^(["'])(.*)\1$/, '$2')]
  }
}

function readUnit(name: string): Map<string, string[]> {
  const file = FOLDERS.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file))
  if (!file) fail(`Unit ${name} not found.`)
  const entries = [...fs.readFileSync(file!, 'utf8').matchAll(/^(\w+)=(.*)$/gm)]
  return new Map(
    Map.groupBy(entries, ([, key]) => key!)
      .entries()
      .map(([key, all]) => [key, all.map(([, , value]) => value!)]),
  )
}

function run(command: string[], cwd = '/'): void {
  const { status, stderr } = spawnSync(command[0]!, command.slice(1), { cwd, encoding: 'utf8' })
  if (status !== 0) fail(`${command.join(' ')}: ${stderr}`)
}

function background([program, ...args]: string[], name: string, env: Record<string, string>, cwd: string): void {
  const log = fs.openSync(`${LOG}/${name}.log`, 'a')
  const child = spawn(program!, args, { cwd, env, detached: true, stdio: ['ignore', log, log] })
  fs.writeFileSync(`${RUN}/${name}`, String(child.pid))
  child.unref()
}

async function stop(name: string): Promise<void> {
  const file = `${RUN}/${name}`
  if (!fs.existsSync(file)) return
  const pid = Number(fs.readFileSync(file, 'utf8'))
  fs.rmSync(file)
  const isAlive = () =>
    fs.existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
  if (isAlive()) process.kill(pid, 'SIGTERM')
  while (isAlive()) await Bun.sleep(50)
}

/** Debian's postfix has a root of its own, into which its unit copies what resolves names. */
function postfix(): void {
  fs.mkdirSync('/var/spool/postfix/etc', { recursive: true })
  for (const file of ['resolv.conf', 'services', 'hosts', 'nsswitch.conf']) {
    fs.copyFileSync(`/etc/${file}`, `/var/spool/postfix/etc/${file}`)
  }
  spawnSync('postfix', ['stop'])
  run(['postfix', 'start'])
}

async function watch(name: string): Promise<void> {
  const file = readUnit(name).get('PathChanged')![0]!
  const look = () => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs
  for (let before = look(); ; await Bun.sleep(200)) {
    const now = look()
    if (now !== undefined && now !== before) start(name.replace('.path', '.service'))
    before = now
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
