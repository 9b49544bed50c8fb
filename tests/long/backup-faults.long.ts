/** The faults of a continuous backup: each is made for real, and nothing that was covered is lost. */
import { afterAll, afterEach, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { runCli } from '../support/backups'
import { objectsIn, readBackupState, restoreTo, SECRET_KEY, untilCovered } from '../support/continuous'
import { WHY_NO_FAKETIME, wrongClock } from '../support/faketime'
import { freePort } from '../support/ports'
import { type Service, startService, until } from '../support/service'

const PASSPHRASE = 'correct horse battery staple'
const base = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-faults-'))
fs.chmodSync(base, 0o711)
const running: Service[] = []
let restores = 0

afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.kill()))
})
afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

function settingsFor(name: string, more: Record<string, string> = {}) {
  const [DATA_DIR, BACKUP_TO] = [path.join(base, name), path.join(base, `${name}-backup`)]
  return { DATA_DIR, BACKUP_TO, BACKUP_LAG_SECONDS: '5', BACKUP_VERIFY: 'off', SECRET_KEY, ...more }
}

async function start(settings: Record<string, string>): Promise<Service> {
  const service = await startService(settings)
  running.push(service)
  return service
}

async function newTicket({ call }: Service, subject: string): Promise<void> {
  const contact = await call('POST', '/contacts', { name: 'Carla', email: `${crypto.randomUUID()}@customer.example` })
  expect((await call('POST', '/tickets', { subject, contact_id: contact.body.data.id })).status).toBe(201)
}

/** Restores beside, and reads. */
async function expectTickets({ BACKUP_TO }: { BACKUP_TO: string }, subjects: string[], more = {}): Promise<void> {
  const DATA_DIR = path.join(base, `restored-${restores++}`)
  expect(await restoreTo(DATA_DIR, BACKUP_TO, [], more)).toMatchObject({ code: 0, stderr: '' })
  const service = await start({ DATA_DIR, SECRET_KEY })
  const { body } = await service.call('GET', '/tickets')
  expect(body.data.map(({ subject }: { subject: string }) => subject).toSorted()).toEqual(subjects)
}

test('a kill during a base copy and during a verification leaves a backup that is continued', async () => {
  const settings = settingsFor('killed')
  const killed = await start(settings)
  await newTicket(killed, 'Before')
  await until('a copy is being written', () => objectsIn(settings.BACKUP_TO, 'part-').length > 0)
  await killed.kill()
  expect(await runCli(['backup', 'status'], settings)).toMatchObject({ code: 1 })
  const service = await start(settings)
  await newTicket(service, 'After')
  await untilCovered(settings.DATA_DIR)
  const chains = new Set(objectsIn(settings.BACKUP_TO, 'chains/').map((name) => name.split('/')[1]))
  expect(chains.size).toBe(1)
  await service.stop()

  // It verifies by itself, because it never did.
  const verifying = await start({ ...settings, BACKUP_VERIFY: 'on' })
  const folder = path.join(settings.DATA_DIR, 'verify')
  await until('it is verified', () => fs.existsSync(path.join(folder, 'postgres/data')))
  await verifying.kill()
  await newTicket(await start(settings), 'Later')
  await untilCovered(settings.DATA_DIR)
  await until('no other verification is at work', async () => {
    const { code, stderr } = await runCli(['backup', 'verify'], settings)
    return code === 0 || !stderr.includes('by another process')
  })
  expect(await runCli(['backup', 'verify'], settings)).toMatchObject({ code: 0, stderr: '' })
  expect(fs.existsSync(folder)).toBe(false)
  await expectTickets(settings, ['After', 'Before', 'Later'])
})

test('of two services that begin at once in one empty place one goes on, and its backup is whole', async () => {
  const BACKUP_TO = path.join(base, 'shared-backup')
  const both = ['one', 'two'].map((name) => settingsFor(name, { BACKUP_TO, BACKUP_PASSPHRASE: PASSPHRASE }))
  const started = await Promise.allSettled(both.map(start))
  const subjects = ['Of one', 'Of two']
  for (const [n, outcome] of started.entries()) {
    if (outcome.status === 'fulfilled') await newTicket(outcome.value, subjects[n]!)
    else expect(String(outcome.reason)).toContain('is the backup of another service')
  }
  const bases = () => both.map(({ DATA_DIR }) => readBackupState(DATA_DIR)?.last_base !== undefined)
  await until('one of them has a copy', () => bases().includes(true))
  const winner = bases().indexOf(true)
  await untilCovered(both[winner]!.DATA_DIR)
  expect(await runCli(['backup', 'verify'], both[winner]!)).toMatchObject({ code: 0, stderr: '' })
  if (started[1 - winner]!.status === 'fulfilled') {
    await until('the other one complains', () => readBackupState(both[1 - winner]!.DATA_DIR)?.error !== undefined)
    expect(bases()[1 - winner]).toBe(false)
  }
  await expectTickets({ BACKUP_TO }, [subjects[winner]!], { BACKUP_PASSPHRASE: PASSPHRASE })
})

test('a passphrase that is added, changed or removed later ends the start, and the backup stays', async () => {
  for (const [kind, first, later, says] of [
    ['added', '', PASSPHRASE, 'is not encrypted'],
    ['changed', PASSPHRASE, `${PASSPHRASE} 2`, 'BACKUP_PASSPHRASE does not open'],
    ['removed', PASSPHRASE, '', 'is encrypted: set BACKUP_PASSPHRASE'],
  ] as const) {
    const settings = settingsFor(kind, { BACKUP_PASSPHRASE: first })
    const service = await start(settings)
    await newTicket(service, kind)
    await untilCovered(settings.DATA_DIR)
    await service.stop()
    const before = objectsIn(settings.BACKUP_TO)
    await expect(startService({ ...settings, BACKUP_PASSPHRASE: later })).rejects.toThrow(says)
    expect(objectsIn(settings.BACKUP_TO)).toEqual(before)
    await expectTickets(settings, [kind], { BACKUP_PASSPHRASE: first })
  }
})

test.each([
  ['another', PASSPHRASE, (key: string) => fs.writeFileSync(key, 'foreign'), 'has another key.age'],
  ['no', PASSPHRASE, (key: string) => fs.rmSync(key), 'has lost its key.age'],
  ['a new', '', (key: string) => fs.writeFileSync(key, 'foreign'), 'has a key.age that this service did not write'],
])(
  '%s key.age in the place stops no service, nothing is written there, and all say so',
  async (name, first, change, says) => {
    const settings = settingsFor(name.replace(' ', '-'), { BACKUP_PASSPHRASE: first })
    const key = path.join(settings.BACKUP_TO, 'key.age')
    const first_run = await start(settings)
    await untilCovered(settings.DATA_DIR)
    const right = first ? fs.readFileSync(key) : undefined
    const isSaid = ({ output }: Service) => until('it is said', () => output().includes(says))
    // A service that runs finds it, too.
    change(key)
    await isSaid(first_run)
    await first_run.stop()
    const before = objectsIn(settings.BACKUP_TO)
    const service = await start(settings)
    await newTicket(service, name)
    await isSaid(service)
    expect(await runCli(['backup', 'status'], settings)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(says),
    })
    const ports = { PORT: new URL(service.url).port, SMTP_PORT: String(service.smtp_port) }
    expect((await runCli(['doctor', '--json'], { ...settings, ...ports })).stdout).toContain(says)
    expect(objectsIn(settings.BACKUP_TO)).toEqual(before)
    if (right) fs.writeFileSync(key, right)
    else fs.rmSync(key)
    await untilCovered(settings.DATA_DIR)
    await expectTickets(settings, [name], { BACKUP_PASSPHRASE: first })
  },
)

test('a place that lost what was in it stops no service, gets no key, and is used when it is back', async () => {
  const settings = settingsFor('unmounted', { BACKUP_PASSPHRASE: PASSPHRASE })
  const first = await start(settings)
  await untilCovered(settings.DATA_DIR)
  await first.stop()
  const aside = `${settings.BACKUP_TO}-aside`
  fs.renameSync(settings.BACKUP_TO, aside)
  fs.mkdirSync(settings.BACKUP_TO)
  const service = await start(settings)
  await newTicket(service, 'Meanwhile')
  await until('it is said', () => /lost its manifest/.test(readBackupState(settings.DATA_DIR)?.error ?? ''))
  expect(fs.readdirSync(settings.BACKUP_TO)).toEqual([])
  fs.rmdirSync(settings.BACKUP_TO)
  fs.renameSync(aside, settings.BACKUP_TO)
  await untilCovered(settings.DATA_DIR)
  await expectTickets(settings, ['Meanwhile'], { BACKUP_PASSPHRASE: PASSPHRASE })
})

test('a place that cannot be written stops no service, and doctor and figures say so until it can', async () => {
  const METRICS_PORT = String(await freePort())
  const settings = settingsFor('closed', { METRICS_PORT })
  const service = await start(settings)
  await untilCovered(settings.DATA_DIR)
  const { uid, gid } = fs.statSync(settings.BACKUP_TO)
  const give = (to: number, group: number) => {
    for (const name of ['', 'chains', 'files', 'manifest', ...objectsIn(settings.BACKUP_TO)]) {
      const file = path.join(settings.BACKUP_TO, name)
      if (fs.existsSync(file)) fs.lchownSync(file, to, group)
    }
  }
  give(12_345, 12_345)
  fs.chmodSync(settings.BACKUP_TO, 0o500)
  await newTicket(service, 'Meanwhile')
  const ports = { PORT: new URL(service.url).port, SMTP_PORT: String(service.smtp_port) }
  await until('the doctor complains', async () => {
    const { stdout } = await runCli(['doctor', '--json'], { ...settings, ...ports })
    const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string }[] }
    return findings.some(({ check, message }) => check === 'continuous backup' && message.includes('no right'))
  })
  await until('the lag is long', async () => {
    const figures = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()
    return Number(/^deskwire_backup_lag_seconds (.*)$/m.exec(figures)![1]) > 10
  })
  give(uid, gid)
  fs.chmodSync(settings.BACKUP_TO, 0o700)
  await untilCovered(settings.DATA_DIR)
  await expectTickets(settings, ['Meanwhile'])
})

test.skipIf(Boolean(WHY_NO_FAKETIME))(
  'what is older than BACKUP_KEEP_DAYS is removed, and what is kept can be restored',
  async () => {
    const settings = settingsFor('old', { BACKUP_KEEP_DAYS: '14' })
    let oldest: string[] | undefined
    for (const days of [40, 30, 20, 0]) {
      const clock = wrongClock(`-${days}d`)
      const service = await start({ ...settings, ...clock })
      await newTicket(service, `${days} days ago`)
      const from = Date.now() - days * 86_400_000
      await until(`it is backed up ${days} days ago`, () => {
        const { last_base = '', covered_until = '' } = readBackupState(settings.DATA_DIR) ?? {}
        return Date.parse(covered_until) > from && Date.parse(last_base) > from - 600_000
      })
      await service.stop()
      oldest ??= objectsIn(settings.BACKUP_TO, 'part-')
    }
    const left = objectsIn(settings.BACKUP_TO)
    expect(left.filter((name) => oldest!.includes(name))).toEqual([])
    // The database has the real clock: no change of it is of an earlier moment.
    const early = await runCli(['backup', 'verify'], settings)
    expect([0, 1]).toContain(early.code!)
    if (early.code === 1) expect(early.stderr).toContain('because the clock was set back: name a later moment')
    const until_now = ['--until', new Date().toISOString()]
    expect(await runCli(['backup', 'verify', ...until_now], settings)).toMatchObject({ code: 0, stderr: '' })
    await expectTickets(settings, ['0 days ago', '20 days ago', '30 days ago', '40 days ago'])
  },
)
