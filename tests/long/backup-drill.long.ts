/**
 * The machine burns: a service under load is killed and its DATA_DIR is gone. From the backup alone a new one has
 * everything that was acknowledged until the lag before, files included.
 */
import { afterAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import S3rver from 's3rver'
import { runCli } from '../support/backups'
import { inDatabase, objectsIn, readBackupState, restoreTo, SECRET_KEY, untilCovered } from '../support/continuous'
import { createDatabase } from '../support/database'
import { rawMail } from '../support/mail'
import { freePort } from '../support/ports'
import { type Receiver, startReceiver } from '../support/receiver'
import { type Service, startService, until } from '../support/service'
import { sendMail } from '../support/smtp'

const ADDRESS = 'support@desk.example'
const LAG_S = 6
const base = fs.mkdtempSync(path.join(os.tmpdir(), 'drill-'))
fs.chmodSync(base, 0o711)

afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

function settingsFor(name: string, more: Record<string, string> = {}) {
  return {
    DATA_DIR: path.join(base, name),
    BACKUP_TO: path.join(base, 'backups', name),
    BACKUP_LAG_SECONDS: String(LAG_S),
    BACKUP_VERIFY: 'off',
    SECRET_KEY,
    ...more,
  }
}

fs.mkdirSync(path.join(base, 'backups'))
fs.chmodSync(path.join(base, 'backups'), 0o777)

test.each([
  ['plain', {}],
  ['encrypted', { BACKUP_PASSPHRASE: 'correct horse battery staple' }],
])('after a kill and the loss of DATA_DIR everything until the lag before is there: %s', async (name, more) => {
  const settings = settingsFor(name, more)
  const service = await startService(settings)
  await service.call('POST', '/mailboxes', { address: ADDRESS })
  const { body } = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  await untilCovered(settings.DATA_DIR)
  const load = startLoad(service, body.data.id)
  await until('much was done', () => load.acknowledged.length > 300)
  await untilCovered(settings.DATA_DIR)
  await until('more was done', () => load.acknowledged.length > 600)
  const killed_ms = Date.now()
  await service.kill()
  const covered_ms = Date.parse(readBackupState(settings.DATA_DIR)!.covered_until!)
  await load.stop()
  burn(settings.DATA_DIR)

  const DATA_DIR = path.join(base, `${name}-restored`)
  const ended = await restoreTo(DATA_DIR, settings.BACKUP_TO, [], more)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const { restored_to, files, missing_files } = JSON.parse(ended.stdout)
  expect([missing_files, files > 0]).toEqual([0, true])
  const restored = await startService({ ...settings, DATA_DIR, BACKUP_TO: '' })
  try {
    const lost = await findLost(restored, load.acknowledged)
    const newest_ms = Math.max(...load.acknowledged.map(({ at_ms }) => at_ms))
    const oldest_ms = Math.min(...lost.map(({ at_ms }) => at_ms), newest_ms)
    console.log(
      `${load.acknowledged.length} acknowledged, ${lost.length} lost, the first ${killed_ms - oldest_ms} ms before the kill; ` +
        `said to be covered until ${killed_ms - covered_ms} ms, restored to ${killed_ms - Date.parse(restored_to)} ms before it, ${files} files`,
    )
    // The word of the service about itself holds, and on the busiest machine no minute is lost.
    expect(lost.filter(({ at_ms }) => at_ms < covered_ms || at_ms < killed_ms - 60_000)).toEqual([])
  } finally {
    await restored.stop()
  }
})

test('a restore to a time gives the state of then, and numbers and the outbox do not go on as if nothing was', async () => {
  const settings = settingsFor('moment')
  const service = await startService(settings)
  const { body } = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  const create = async (subject: string) =>
    (await service.call('POST', '/tickets', { subject, contact_id: body.data.id })).body.data
  await untilCovered(settings.DATA_DIR)
  const first = await create('Before')
  const time = new Date().toISOString()
  await Bun.sleep(5)
  const second = await create('After')
  await service.call('DELETE', `/tickets/${first.id}`)
  await untilCovered(settings.DATA_DIR)
  await service.kill()

  const DATA_DIR = path.join(base, 'moment-restored')
  const ended = await restoreTo(DATA_DIR, settings.BACKUP_TO, ['--until', time])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const { restored_to } = JSON.parse(ended.stdout)
  expect(restored_to <= time).toBe(true)
  expect(Date.parse(time) - Date.parse(restored_to)).toBeLessThan(60_000)

  // It is another service: the target of the lost one is not its own until it is adopted.
  using receiver = await startReceiver()
  const own = { ...settings, DATA_DIR, WEBHOOK_CA_FILE: receiver.ca_file }
  await expect(startService(own)).rejects.toThrow('is the backup of another service')
  const asked = await runCli(['backup', 'adopt'], own)
  expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('run cli backup adopt --yes')])
  expect(await runCli(['backup', 'adopt', '--yes'], own)).toMatchObject({ code: 0, stderr: '' })
  const restored = await startService(own)
  try {
    const { body: list } = await restored.call('GET', '/tickets')
    expect(list.data.map(({ subject }: { subject: string }) => subject)).toEqual(['Before'])
    const next = await restored.call('POST', '/tickets', { subject: 'Next', contact_id: body.data.id })
    expect(numberOf(next.body.data)).toBe(numberOf(second) + 1000)
    await expectHeldOutbox(restored, receiver, body.data.id, own)
    await untilCovered(DATA_DIR)
    const status = await runCli(['backup', 'status'], own)
    expect([status.code, JSON.parse(status.stdout)]).toMatchObject([
      0,
      { faults: [], restorable_until: expect.any(String) },
    ])
    const { body: log } = await restored.call('GET', '/audit-log')
    expect(log.data.map(({ action }: { action: string }) => action)).toContain('operator.backup_restored')
  } finally {
    await restored.stop()
  }
})

/** Its database ends with the service, and may still remove files of its own. */
function burn(data_dir: string) {
  fs.renameSync(data_dir, `${data_dir}-burnt`)
}

async function expectHeldOutbox(
  restored: Service,
  receiver: Receiver,
  contact_id: string,
  own: Record<string, string>,
) {
  const hook = await restored.call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created'] })
  expect(hook.status).toBe(201)
  await restored.call('POST', '/tickets', { subject: 'Told later', contact_id })
  const ports = { PORT: new URL(restored.url).port, SMTP_PORT: String(restored.smtp_port) }
  const doctor = await runCli(['doctor', '--json'], { ...own, ...ports })
  const { findings } = JSON.parse(doctor.stdout)
  expect(findings.filter(({ check }: { check: string }) => check === 'held outbox')).toHaveLength(1)
  const drained = await runCli(['outbox', 'drain'], own)
  expect(drained).toMatchObject({ code: 1, stderr: expect.stringContaining('outbox resume') })
  expect(receiver.requests).toEqual([])
  expect(await runCli(['outbox', 'resume'], own)).toMatchObject({ code: 0 })
  await until('the delivery arrives', () => receiver.requests.length === 1)
}

test('a bucket that is away stops nothing, and when it is back nothing is missing', async () => {
  const directory = path.join(base, 'buckets')
  const port = await freePort()
  const startBucket = async () => {
    const configureBuckets = [{ name: 'desk', configs: [] }]
    const server = new S3rver({ port, address: '127.0.0.1', silent: true, directory, configureBuckets })
    await server.run()
    return server
  }
  const settings = settingsFor('bucket', {
    BACKUP_TO: 's3://desk/backup',
    BACKUP_SPOOL_BYTES: String(64 * 1024 * 1024),
    BACKUP_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    BACKUP_S3_REGION: 'us-east-1',
    BACKUP_S3_ACCESS_KEY_ID: 'S3RVER',
    BACKUP_S3_SECRET_ACCESS_KEY: 'S3RVER',
    METRICS_PORT: String(await freePort()),
  })
  // The target is away at the start already.
  const service = await startService(settings)
  const contact = (await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })).body
    .data
  let server = await startBucket()
  await untilCovered(settings.DATA_DIR)

  // Away for a while: what waits is sent when it is back.
  await server.close()
  await service.call('POST', '/tickets', { subject: 'While it was away', contact_id: contact.id })
  await until('the backup fails', () => readBackupState(settings.DATA_DIR)?.error !== undefined)
  await fillPieces(settings.DATA_DIR, 2)
  await until('pieces wait', () => (readBackupState(settings.DATA_DIR)?.waiting_bytes ?? 0) > 0)
  await expectComplaint(settings, service)
  server = await startBucket()
  await untilCovered(settings.DATA_DIR)
  expect(readBackupState(settings.DATA_DIR)).toMatchObject({ waiting_bytes: 0 })
  expect(readBackupState(settings.DATA_DIR)).not.toHaveProperty('error')

  // Away for long: the log is given up, and the disk is not filled.
  await server.close()
  await service.call('POST', '/tickets', { subject: 'While it was away for long', contact_id: contact.id })
  // Mostly empty ones would take nearly nothing.
  await fillPieces(settings.DATA_DIR, 14, 'full')
  await until('the log is given up', () => readBackupState(settings.DATA_DIR)?.given_up_at !== undefined)
  expect(service.output()).toContain('it is given up')
  expect(await metric(settings, 'deskwire_backup_spool_bytes')).toBeLessThanOrEqual(80 * 1024 * 1024)
  expect(await metric(settings, 'deskwire_backup_lag_seconds')).toBeGreaterThan(0)
  server = await startBucket()
  await until('there is a new base copy', () => readBackupState(settings.DATA_DIR)?.given_up_at === undefined)
  await untilCovered(settings.DATA_DIR)
  await service.kill()
  burn(settings.DATA_DIR)

  const DATA_DIR = path.join(base, 'bucket-restored')
  const { BACKUP_TO, ...rest } = settings
  expect(await runCli(['restore', BACKUP_TO], { ...rest, DATA_DIR })).toMatchObject({ code: 0, stderr: '' })
  const restored = await startService({ ...rest, DATA_DIR })
  const { body } = await restored.call('GET', '/tickets')
  expect(body.data.map(({ subject }: { subject: string }) => subject).toSorted()).toEqual([
    'While it was away',
    'While it was away for long',
  ])
  await restored.stop()
  await server.close()
})

test('verify finds what is wrong, and two services never write to one target', async () => {
  const settings = settingsFor('judged')
  const service = await startService(settings)
  const { body } = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  await service.call('POST', '/tickets', { subject: 'One', contact_id: body.data.id })
  await uploadFile(service, Buffer.from('A file'))
  await untilCovered(settings.DATA_DIR)
  const ended = await runCli(['backup', 'verify'], settings)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(ended.stdout)).toMatchObject({ tables: expect.any(Number), files: 1, missing_files: 0 })
  expect(fs.existsSync(path.join(settings.DATA_DIR, 'verify'))).toBe(false)

  // Idle: nothing is written while nothing changes.
  const before = objectsIn(settings.BACKUP_TO)
  await untilCovered(settings.DATA_DIR)
  await untilCovered(settings.DATA_DIR)
  console.log(`${objectsIn(settings.BACKUP_TO).length - before.length} objects were added by an idle service`)

  const other = settingsFor('other', { BACKUP_TO: settings.BACKUP_TO })
  await expect(startService(other)).rejects.toThrow('is the backup of another service')
  await service.stop()

  await expectRefusals(settings)
  await expectOneOfCopies(settings)
})

/** A copy of DATA_DIR has the name of the service: of the two, only the one that started last writes. */
async function expectOneOfCopies(settings: ReturnType<typeof settingsFor>) {
  const copy = { ...settings, DATA_DIR: path.join(base, 'copied') }
  expect(spawnSync('cp', ['-a', settings.DATA_DIR, copy.DATA_DIR]).status).toBe(0)
  const first = await startService(copy)
  const second = await startService(settings)
  await until('the first one has seen the second', () =>
    /another process/.test(readBackupState(copy.DATA_DIR)?.error ?? ''),
  )
  await untilCovered(settings.DATA_DIR)
  expect(await runCli(['backup', 'verify'], settings)).toMatchObject({ code: 0, stderr: '' })
  await Promise.all([first.stop(), second.stop()])
}

test('after a restart a change is in the backup in time, and a target that was set back is seen', async () => {
  const settings = settingsFor('again')
  const { BACKUP_TO, DATA_DIR } = settings
  await startService(settings).then(async (service) => {
    await untilCovered(DATA_DIR)
    await service.stop()
  })
  const service = await startService(settings)
  const { body } = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  const create = (subject: string) => service.call('POST', '/tickets', { subject, contact_id: body.data.id })
  await create('After the restart')
  await untilCovered(DATA_DIR)
  await expectTickets(settings, 'again-once', ['After the restart'])

  expect(spawnSync('cp', ['-a', BACKUP_TO, `${BACKUP_TO}-before`]).status).toBe(0)
  await create('Set back')
  const lost = new Date().toISOString()
  await untilCovered(DATA_DIR)
  fs.renameSync(BACKUP_TO, `${BACKUP_TO}-after`)
  fs.renameSync(`${BACKUP_TO}-before`, BACKUP_TO)
  await until('it is seen', () => service.output().includes('was its disk set back?'))
  await untilCovered(DATA_DIR)
  await service.kill()
  await expectTickets(settings, 'again-twice', ['After the restart', 'Set back'])
  const earlier = await restoreTo(path.join(base, 'again-lost'), BACKUP_TO, ['--until', lost])
  expect(earlier).toMatchObject({ code: 0, stderr: expect.stringContaining('the log ends with the change of') })
})

/** Restores beside, to what the backup has. */
async function expectTickets(settings: ReturnType<typeof settingsFor>, name: string, subjects: string[]) {
  const own = { ...settings, DATA_DIR: path.join(base, name), BACKUP_TO: '' }
  expect(await restoreTo(own.DATA_DIR, settings.BACKUP_TO)).toMatchObject({ code: 0, stderr: '' })
  const restored = await startService(own)
  const { body } = await restored.call('GET', '/tickets')
  await restored.stop()
  expect(body.data.map(({ subject }: { subject: string }) => subject).toSorted()).toEqual(subjects)
}

test('with an external database the files are backed up by one of its services, and come back', async () => {
  const database = await createDatabase()
  const more = { DATABASE_URL: database.url, BACKUP_TO: path.join(base, 'backups/external') }
  const settings = settingsFor('external', more)
  const services = [await startService(settings), await startService(settings)]
  await services[1]!.call('GET', '/auth/me')
  const bytes = Buffer.from('A file of an external database')
  const id = await uploadFile(services[1]!, bytes)
  expect(id).toBeDefined()
  const stored = path.join(settings.BACKUP_TO, 'files/attachments', id!)
  await until('the file is in the backup', () => fs.existsSync(stored))
  await Promise.all(services.map((service) => service.stop()))
  const lost = { ...settings, DATA_DIR: path.join(base, 'external-restored') }
  const ended = await runCli(['restore', settings.BACKUP_TO], lost)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(ended.stdout)).toMatchObject({ files: 1, missing_files: 0 })
  expect(fs.readFileSync(path.join(lost.DATA_DIR, 'attachments/attachments', id!)).equals(bytes)).toBe(true)
  await database.drop()
})

async function expectRefusals(settings: ReturnType<typeof settingsFor>) {
  const folder = settings.BACKUP_TO
  let n = 0
  const restoring = (env = {}) => restoreTo(path.join(base, `refused-${n++}`), folder, [], env)
  const wrong_key = await restoring({ SECRET_KEY: 'another secret key that only tests of backups use' })
  expect(wrong_key).toMatchObject({ code: 1, stderr: expect.stringContaining('SECRET_KEY is not that of the service') })
  expect(await restoring({ SECRET_KEY: '' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('set SECRET_KEY'),
  })
  const spoil: [string, (file: string) => void, RegExp][] = [
    ['/log/', (file) => fs.truncateSync(file, fs.statSync(file).size - 20), /damaged/],
    ['/part-', (file) => fs.appendFileSync(file, 'x'), /damaged/],
    ['files/attachments/', (file) => fs.rmSync(file), /all is restored but 1 files/],
    ['/log/', (file) => fs.rmSync(file), /gap|missing/],
    ['manifest', (file) => fs.writeFileSync(file, fs.readFileSync(file).fill(0, 20, 40)), /damaged/],
  ]
  for (const [part, change, says] of spoil) {
    const [file] = objectsIn(folder, part)
    const kept = fs.readFileSync(path.join(folder, file!))
    change(path.join(folder, file!))
    const { code, stderr } = await restoring()
    expect([part, code === 0, stderr]).toEqual([part, false, expect.stringMatching(says)])
    const verified = await runCli(['backup', 'verify'], settings)
    expect([part, verified.code]).toEqual([part, 1])
    fs.writeFileSync(path.join(folder, file!), kept)
  }
  expect(await restoring()).toMatchObject({ code: 0 })
  const full = await restoreTo(settings.DATA_DIR, folder)
  expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') })
  const later = new Date(Date.now() + 60_000).toISOString()
  const all = await restoreTo(path.join(base, `refused-${n++}`), folder, ['--until', later])
  expect(all).toMatchObject({ code: 0, stderr: '' })
}

async function expectComplaint(settings: Record<string, string>, service: Service) {
  await until('the lag is long', async () => (await metric(settings, 'deskwire_backup_lag_seconds')) > 2 * LAG_S)
  const ports = { PORT: new URL(service.url).port, SMTP_PORT: String(service.smtp_port) }
  // It reads what the service noted, some seconds ago.
  await until('the doctor complains', async () => {
    const { stdout, code } = await runCli(['doctor', '--json'], { ...settings, ...ports })
    const { findings } = JSON.parse(stdout)
    return code === 1 && findings.some(({ check }: { check: string }) => check === 'continuous backup')
  })
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
}

async function metric(settings: Record<string, string>, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${settings.METRICS_PORT}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

/** Completes pieces of the log. */
async function fillPieces(data_dir: string, count: number, how: 'full' | 'empty' = 'empty') {
  const lines = how === 'full' ? 400_000 : 1
  await inDatabase(data_dir, async (sql) => {
    await sql`create table if not exists filler (text text)`
    for (let n = 0; n < count; n++) {
      await sql`
        insert into filler
        select string_agg(md5(random()::text), '') from generate_series(1, ${lines}::int) n group by n / 200`
      await sql`select pg_switch_wal()`
    }
    await sql`drop table filler`
  })
}

function numberOf({ code }: { code: string }): number {
  return Number(/\d+$/.exec(code)![0])
}

type Acknowledged = { kind: 'ticket' | 'mail' | 'file'; id: string; at_ms: number; sha256?: string }

async function findLost(service: Service, acknowledged: Acknowledged[]): Promise<Acknowledged[]> {
  const lost: Acknowledged[] = []
  // Signs in.
  await service.call('GET', '/auth/me')
  for (const one of acknowledged) if (!(await isThere(service, one))) lost.push(one)
  return lost
}

async function isThere(service: Service, { kind, id, sha256 }: Acknowledged): Promise<boolean> {
  if (kind === 'ticket') return (await service.call('GET', `/tickets/${id}`)).status === 200
  if (kind === 'mail') {
    const { body } = await service.call('GET', `/inbound-messages?email_message_id=${encodeURIComponent(id)}`)
    return body.data.length > 0
  }
  const response = await fetch(`${service.url}/api/v1/attachments/${id}/content`, {
    headers: { authorization: `Bearer ${service.token()}` },
  })
  if (response.status === 404) return false
  if (response.status !== 200) throw new Error(`a file is answered ${response.status}: ${await response.text()}`)
  return (
    createHash('sha256')
      .update(new Uint8Array(await response.arrayBuffer()))
      .digest('hex') === sha256
  )
}

async function uploadFile(service: Service, bytes: Buffer): Promise<string | undefined> {
  const form = new FormData()
  form.set('file', new File([new Uint8Array(bytes)], 'picture.bin'))
  const headers = { authorization: `Bearer ${service.token()}` }
  const response = await fetch(`${service.url}/api/v1/attachments`, { method: 'POST', headers, body: form })
  return response.status === 201 ? ((await response.json()) as { data: { id: string } }).data.id : undefined
}

/** Sends mail, makes tickets and uploads files until the service is gone. */
function startLoad(service: Service, contact_id: string) {
  let is_running = true
  const acknowledged: Acknowledged[] = []
  const repeat = async (work: (n: number) => Promise<Omit<Acknowledged, 'at_ms'> | undefined>) => {
    for (let n = 0; is_running; n++) {
      const done = await work(n).catch(() => undefined)
      if (done) acknowledged.push({ ...done, at_ms: Date.now() })
      else await Bun.sleep(20)
    }
  }
  const mail = (worker: string) => async (n: number) => {
    const id = `<drill-${worker}-${n}@customer.example>`
    const raw = rawMail(
      { From: 'carla@customer.example', To: ADDRESS, Subject: `Mail ${n}`, 'Message-ID': id },
      'It burns.\n'.repeat(200),
    )
    const { code } = await sendMail({ port: service.smtp_port, from: 'carla@customer.example', to: ADDRESS, raw })
    return code === 250 ? { kind: 'mail' as const, id } : undefined
  }
  const ticket = async (n: number) => {
    const { status, body } = await service.call('POST', '/tickets', { subject: `Ticket ${n}`, contact_id })
    return status === 201 ? { kind: 'ticket' as const, id: body.data.id } : undefined
  }
  const file = async () => {
    const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(20_000)))
    const id = await uploadFile(service, bytes)
    return id ? { kind: 'file' as const, id, sha256: createHash('sha256').update(bytes).digest('hex') } : undefined
  }
  const loops = [repeat(mail('a')), repeat(mail('b')), repeat(ticket), repeat(file)]
  return {
    acknowledged,
    async stop() {
      is_running = false
      await Promise.all(loops)
    },
  }
}
