/** A backup in a place that somebody else can write to: each change is found, and nothing of it runs. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import tar from 'tar-stream'
import { runCli } from '../support/backups'
import {
  contentOfObject,
  forgeObject,
  objectsIn,
  readBackupState,
  restoreTo,
  SECRET_KEY,
  untilCovered,
} from '../support/continuous'
import { startService, until } from '../support/service'

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'hostile-target-'))
fs.chmodSync(base, 0o755)
const settings = {
  DATA_DIR: path.join(base, 'data'),
  BACKUP_TO: path.join(base, 'backup'),
  BACKUP_LAG_SECONDS: '5',
  BACKUP_VERIFY: 'off',
  SECRET_KEY,
}
/** Is made by a command of the attacker. */
const ran = path.join(base, 'ran')
/** The place as it was before some of it was written. */
const earlier = path.join(base, 'earlier')
/** The place at the end. */
const whole = path.join(base, 'whole')
let restores = 0

beforeAll(async () => {
  fs.mkdirSync(ran)
  fs.chmodSync(ran, 0o777)
  const service = await startService(settings)
  await until('there is a copy', () => readBackupState(settings.DATA_DIR)?.last_base !== undefined)
  await newTicket(service, 'One')
  await untilCovered(settings.DATA_DIR)
  await service.stop()
  fs.cpSync(settings.BACKUP_TO, earlier, { recursive: true })
  // Its start writes a newer manifest.
  const again = await startService(settings)
  await newTicket(again, 'Two')
  for (const text of ['one', 'two']) await uploadFile(again, text)
  await untilCovered(settings.DATA_DIR)
  await again.stop()
  fs.cpSync(settings.BACKUP_TO, whole, { recursive: true })
})

afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

async function newTicket({ call }: Awaited<ReturnType<typeof startService>>, subject: string): Promise<void> {
  const contact = await call('POST', '/contacts', { name: 'Carla', email: `${crypto.randomUUID()}@customer.example` })
  expect((await call('POST', '/tickets', { subject, contact_id: contact.body.data.id })).status).toBe(201)
}

async function uploadFile({ url, token }: Awaited<ReturnType<typeof startService>>, text: string): Promise<void> {
  const body = new FormData()
  body.set('file', new File([text], 'note.txt'))
  const headers = { authorization: `Bearer ${token()}` }
  expect((await fetch(`${url}/api/v1/attachments`, { method: 'POST', headers, body })).status).toBe(201)
}

/** Puts the place back to what it was, and lets somebody change it. */
function attack(change: (folder: string) => unknown): Promise<unknown> {
  for (const entry of fs.readdirSync(settings.BACKUP_TO)) {
    fs.rmSync(path.join(settings.BACKUP_TO, entry), { recursive: true })
  }
  fs.cpSync(whole, settings.BACKUP_TO, { recursive: true })
  return Promise.resolve(change(settings.BACKUP_TO))
}

function restoreBeside(options: string[] = []) {
  return restoreTo(path.join(base, `restored-${restores++}`), settings.BACKUP_TO, options)
}

/** The lines of the attacker in the configuration of the server. */
const COMMANDS = ['recovery_end_command', 'archive_cleanup_command', 'restore_command', 'archive_command']
const CONFIGURATION = [
  ...COMMANDS.map((name) => `${name} = 'touch ${ran}/${name}; true'`),
  "archive_mode = 'always'",
  "include_if_exists = 'global/more.conf'",
  '',
].join('\n')

/** An archive with files added or put in the place of others. */
async function changedArchive(archive: Buffer, files: Record<string, string>): Promise<Buffer> {
  const [extract, pack] = [tar.extract(), tar.pack()]
  Readable.from([archive]).pipe(extract as unknown as NodeJS.WritableStream)
  for await (const entry of extract) {
    const content = Buffer.concat(await Array.fromAsync(entry as AsyncIterable<Uint8Array>))
    const { name, type } = entry.header
    if (!(name in files)) pack.entry({ name, type, size: content.length }, content)
  }
  for (const [name, text] of Object.entries(files)) pack.entry({ name }, text)
  pack.finalize()
  return Buffer.concat(await Array.fromAsync(pack as AsyncIterable<Uint8Array>))
}

async function forgePart(folder: string): Promise<void> {
  const [part] = objectsIn(folder, 'part-0000')
  const files = {
    'postgresql.conf': CONFIGURATION,
    'postgresql.auto.conf': CONFIGURATION,
    'global/more.conf': CONFIGURATION,
    'pg_hba.conf': 'local all all trust\nhost all all 0.0.0.0/0 trust\n',
  }
  forgeObject(folder, part!, await changedArchive(contentOfObject(folder, part!), files))
}

test('a forged copy of the database is found by restore and verify, and no command in it runs', async () => {
  await attack(forgePart)
  const verified = await runCli(['backup', 'verify'], settings)
  expect([verified.code, fs.readdirSync(ran)]).toEqual([1, []])
  const restored = await restoreBeside()
  expect([restored.code, fs.readdirSync(ran)]).toEqual([1, []])
})

/** Tries what somebody left in the place. @returns the objects at which both did not fail, or something ran */
async function unnoticed(changes: [string, (folder: string) => unknown][]): Promise<string[]> {
  const found: string[] = []
  for (const [what, change] of changes) {
    await attack(change)
    const ended = await Promise.all([restoreBeside(), runCli(['backup', 'verify'], settings)])
    const says = ended.every(({ stderr }) =>
      /damaged|older manifest|has no proof|proves that|all is restored but|lacks/.test(stderr),
    )
    if (ended.some(({ code }) => code === 0) || !says || fs.readdirSync(ran).length > 0) {
      found.push(`${what}: ${ended.map(({ code, stderr }) => `${code} ${stderr}`).join(' / ')}`)
    }
  }
  return found
}

/** One object of each kind. */
function kinds(): string[] {
  const [log] = objectsIn(whole, '/log/').slice(-1)
  return ['manifest', 'head', objectsIn(whole, 'part-0000')[0]!, log!, objectsIn(whole, 'files/attachments/')[0]!]
}

const inFolder = (name: string, change: (file: string) => void) => (folder: string) => change(path.join(folder, name))

test('a changed byte of any object is found', async () => {
  const change = (file: string) => {
    const bytes = fs.readFileSync(file)
    bytes[bytes.length >> 1]! ^= 1
    fs.writeFileSync(file, bytes)
  }
  expect(await unnoticed(kinds().map((name) => [`${name} with another byte`, inFolder(name, change)]))).toEqual([])
})

test('an object that somebody sealed anew, with a right checksum, is found', async () => {
  const sealedAnew = (name: string) => (folder: string) => forgeObject(folder, name, contentOfObject(folder, name))
  expect(await unnoticed(kinds().map((name) => [`${name} sealed anew`, sealedAnew(name)]))).toEqual([])
})

test('an object in the place of another is found, also when it says that it is that one', async () => {
  const logs = objectsIn(whole, '/log/').slice(-2)
  const pairs = [[logs[0]!, logs[1]!], objectsIn(whole, 'files/attachments/').slice(0, 2), ['head', 'manifest']] as [
    string,
    string,
  ][]
  const renamed = (folder: string, from: string, to: string) => {
    const bytes = fs.readFileSync(path.join(folder, from)).toString('latin1').replace(from, to)
    fs.writeFileSync(path.join(folder, to), Buffer.from(bytes, 'latin1'))
  }
  const changes = pairs.flatMap(([from, to]): [string, (folder: string) => unknown][] => [
    [`${from} as ${to}`, (folder) => fs.copyFileSync(path.join(folder, from), path.join(folder, to))],
    [`${from} renamed to ${to}`, (folder) => renamed(folder, from, to)],
  ])
  expect(await unnoticed(changes)).toEqual([])
})

test('an older object in the place of a newer one is found', async () => {
  const [old_log] = objectsIn(earlier, '/log/').slice(-1)
  const [new_log] = objectsIn(whole, '/log/').slice(-1)
  expect(fs.readFileSync(path.join(earlier, 'manifest'))).not.toEqual(fs.readFileSync(path.join(whole, 'manifest')))
  const changes: [string, (folder: string) => unknown][] = [
    ['an older manifest', (folder) => fs.copyFileSync(path.join(earlier, 'manifest'), path.join(folder, 'manifest'))],
    [
      'an older piece of the log',
      (folder) => fs.copyFileSync(path.join(earlier, old_log!), path.join(folder, new_log!)),
    ],
  ]
  expect(await unnoticed(changes)).toEqual([])
  // All of it from earlier is a backup that was whole then: only the service knows better.
  await attack((folder) => {
    fs.rmSync(folder, { recursive: true })
    fs.cpSync(earlier, folder, { recursive: true })
  })
  const [status, verified] = [
    await runCli(['backup', 'status'], settings),
    await runCli(['backup', 'verify'], settings),
  ]
  for (const { code, stderr } of [status, verified]) {
    expect([code, stderr]).toEqual([1, expect.stringContaining('has an older manifest than the one that was written')])
  }
})

test('a removed object is found, also the last one', async () => {
  const logs = objectsIn(whole, '/log/')
  const names = [...kinds().filter((name) => name !== 'manifest'), logs[1]!]
  expect(await unnoticed(names.map((name) => [`no ${name}`, inFolder(name, (file) => fs.rmSync(file))]))).toEqual([])
})

test('what nothing proves is restored only when the operator says so, and then runs no command either', async () => {
  await attack(async (folder) => {
    makeUnproven(folder)
    await forgePart(folder)
  })
  const refused = await restoreBeside()
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('add --unproven')])
  const DATA_DIR = path.join(base, 'unproven')
  expect(await restoreTo(DATA_DIR, settings.BACKUP_TO, ['--unproven'])).toMatchObject({ code: 0 })
  expect(fs.readdirSync(ran)).toEqual([])
  const data = path.join(DATA_DIR, 'postgres/data')
  for (const file of ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf']) {
    const text = fs.readFileSync(path.join(data, file), 'utf8')
    expect([file, /_command|include|trust/.test(text)]).toEqual([file, false])
  }
})

/** Makes of a place what a release until 0.2 would have written. */
function makeUnproven(folder: string): void {
  for (const name of objectsIn(folder)) {
    const content = contentOfObject(folder, name)
    if (name === 'manifest') {
      const { generation, ...manifest } = JSON.parse(content.toString())
      for (const chain of manifest.chains) for (const base of chain.bases) delete base.key
      forgeObject(folder, name, Buffer.from(JSON.stringify({ ...manifest, format: 1 })))
    } else if (name !== 'head') forgeObject(folder, name, content)
  }
  fs.rmSync(path.join(folder, 'head'))
}

test('a backup of a release until 0.2 is taken over once, with a warning until the next base copy', async () => {
  await attack(makeUnproven)
  const file = path.join(settings.DATA_DIR, 'backup.json')
  const { generation, shipped, is_unproven, ...state } = JSON.parse(fs.readFileSync(file, 'utf8'))
  fs.writeFileSync(file, JSON.stringify(state))
  const unproven = 'carries no proof'
  expect((await runCli(['backup', 'status'], settings)).stdout).toContain(unproven)
  const service = await startService(settings)
  await until('there is a proven copy', () => readBackupState(settings.DATA_DIR)?.is_unproven === false)
  await newTicket(service, 'Three')
  await untilCovered(settings.DATA_DIR)
  expect((await runCli(['backup', 'status'], settings)).stdout).not.toContain(unproven)
  const ended = await runCli(['backup', 'verify'], settings)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  await service.stop()
  const restored = await restoreBeside()
  expect([restored.code, restored.stderr]).toEqual([0, ''])

  // From then on nothing without a proof is taken.
  makeUnproven(settings.BACKUP_TO)
  const again = await startService(settings)
  await until('it is said', () => /has no proof/.test(readBackupState(settings.DATA_DIR)?.error ?? ''))
  await again.stop()
})
