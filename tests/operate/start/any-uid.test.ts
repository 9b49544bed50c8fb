/** The service as processes of other OS users: any uid, with an account or without, as containers run it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Service, startService } from '../../support/service'

const ROOT = path.join(import.meta.dirname, '../../..')
/** A uid of the range that OpenShift gives to a project. No system has an account of it. */
const UID = 1_000_650_000
const OTHER_UID = 1_000_660_000

const is_root = process.getuid?.() === 0 && Bun.which('setpriv') !== null
if (!is_root) console.log('only root can start processes of other users, with setpriv: any uid is not tried')
const may_mount = is_root && spawnSync('unshare', ['--mount', 'true']).status === 0
if (!may_mount) console.log('mount namespaces are not allowed: the read-only root is not tried')

let dir: string
const running: Service[] = []

beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'any-uid-'))
  fs.chmodSync(dir, 0o711)
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.kill()))
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/** Runs what follows as a user without rights, whose group is 0. */
function asUid(uid: number): string[] {
  const rights = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
  return ['setpriv', `--reuid=${uid}`, '--regid=0', '--clear-groups', ...rights]
}

function settingsOf(data_dir: string): Record<string, string> {
  return { DATA_DIR: data_dir, TMPDIR: data_dir, HOME: '/nonexistent', DATABASE_URL: '' }
}

/** A folder of root's. */
function makeFolder(name: string, mode: number): string {
  const folder = path.join(dir, name)
  fs.mkdirSync(folder)
  fs.chmodSync(folder, mode)
  return folder
}

async function start(data_dir: string, before: string[]): Promise<Service> {
  const service = await startService(settingsOf(data_dir), undefined, before)
  running.push(service)
  return service
}

function runCli(data_dir: string, uid: number, ...words: string[]) {
  const [program, ...args] = [...asUid(uid), process.execPath, path.join(ROOT, 'src/cli.ts'), ...words]
  const env = { PATH: process.env.PATH, ...settingsOf(data_dir) }
  return spawnSync(program!, args, { encoding: 'utf8', cwd: '/', env })
}

/** Runs a command, and each one that it names as what mends it, until it succeeds. @returns what was run as root */
function mendUntilDone(data_dir: string, uid: number, ...words: string[]): string[] {
  const commands: string[] = []
  for (let tries = 0; tries < 5; tries++) {
    const { status, stderr } = runCli(data_dir, uid, ...words)
    if (status === 0) return commands
    const [, command] = /(?:: |or )as root,? (.*)$/m.exec(stderr) ?? []
    expect([stderr, command]).toEqual([expect.stringContaining(String(uid)), expect.any(String)])
    commands.push(command!)
    expect(spawnSync('sh', ['-c', command!], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
  }
  throw new Error(`still refused after ${commands.join('; ')}`)
}

test.skipIf(!is_root)(
  'any uid makes the embedded database, serves, keeps all to itself, and starts again',
  async () => {
    const folder = makeFolder('shared', 0o770)
    const first = await start(folder, asUid(UID))
    expect(fs.readFileSync(`/proc/${first.process.pid}/status`, 'utf8')).toMatch(
      new RegExp(`^Uid:\\t${UID}\\t${UID}`, 'm'),
    )
    expect((await first.call('POST', '/companies', { name: 'Acme' })).status).toBe(201)
    const made = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name))
    expect(made.length).toBeGreaterThan(100)
    for (const file of made) {
      const { uid, mode } = fs.lstatSync(file)
      expect([file, uid]).toEqual([file, UID])
      if (path.dirname(file) === folder) expect([file, mode & 0o077]).toEqual([file, 0])
    }
    expect(made.filter((file) => path.basename(file).startsWith('initdb-'))).toEqual([])
    expect(await first.stop()).toBe(0)
    const second = await start(folder, asUid(UID))
    expect((await second.call('GET', '/companies')).body.data).toMatchObject([{ name: 'Acme' }])
    const list = runCli(folder, UID, 'organization', 'list')
    expect([list.status, JSON.parse(list.stdout)]).toEqual([0, expect.objectContaining({ members: 1 })])
    expect(await second.stop()).toBe(0)
  },
  60_000,
)

test.skipIf(!is_root)(
  'a folder that it cannot write is named with the uid and the command that mends it',
  () => {
    const folder = makeFolder('closed', 0o700)
    const { status, stderr } = runCli(folder, UID, 'migrate')
    expect([status, stderr]).toEqual([78, expect.stringContaining(`DATA_DIR ${folder} cannot be used: EACCES`)])
    expect(stderr).toContain(`This is OS user ${UID}: as root, mkdir -p ${folder} && chown -R ${UID}:0 ${folder}`)
    expect(mendUntilDone(folder, UID, 'migrate')).toHaveLength(1)
  },
  60_000,
)

test.skipIf(!is_root)(
  'data of another uid are named with the commands after which they are ours',
  () => {
    const folder = makeFolder('moved', 0o770)
    expect(runCli(folder, UID, 'migrate').status).toBe(0)
    const commands = mendUntilDone(folder, OTHER_UID, 'migrate')
    expect(commands.length).toBeGreaterThan(0)
    for (const command of commands) expect(command).toContain(`${OTHER_UID}:0`)
  },
  60_000,
)

test.skipIf(!may_mount)(
  'nothing but DATA_DIR is written: the root may be read-only',
  async () => {
    const folder = makeFolder('read-only', 0o770)
    const script = `mount --make-rprivate / && mount --bind "$1" "$1" && for at in / /tmp /work; do
    mountpoint -q $at && mount -o remount,bind,ro $at; done; ! touch /not-writable 2>/dev/null || exit 99
    shift; exec "$@"`
    const before = ['unshare', '--mount', 'sh', '-c', script, 'sh', folder, ...asUid(UID)]
    const service = await start(folder, before)
    expect((await service.call('POST', '/companies', { name: 'Acme' })).status).toBe(201)
    expect(await service.stop()).toBe(0)
  },
  60_000,
)

test.skipIf(!is_root)('a DATA_DIR that can be none is said in one line, by a command of root', () => {
  const file = path.join(makeFolder('none', 0o755), 'file')
  fs.writeFileSync(file, '')
  for (const data_dir of [file, `${file}/data`]) {
    const { status, stderr } = runCli(data_dir, 0, 'migrate')
    expect([status, stderr]).toEqual([78, `deskwire: DATA_DIR ${data_dir} cannot be used: ENOTDIR\n`])
  }
})
