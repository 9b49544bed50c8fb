/** Which folders a backup may be in, and what is left in one that is refused. */
import { afterAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readConfig } from '../../../src/base/config'
import { useSecrets } from '../../../src/base/secrets'
import { addBase } from '../../../src/operate/continuous/add-base'
import { fullWords } from '../../../src/operate/continuous/backup-words'
import { keyFingerprints } from '../../../src/operate/continuous/key-fingerprints'
import {
  adoptTarget,
  claimTarget,
  isUnproven,
  openOwnBackup,
  openOwnVault,
  readOwn,
  refuseLiving,
} from '../../../src/operate/continuous/own-target'
import { prepareTarget } from '../../../src/operate/continuous/start-backup'
import { type BackupState, readVerified, writeState } from '../../../src/operate/continuous/state'
import { checkKey, contentOf, ExchangedKeyError } from '../../../src/operate/continuous/vault'
import { verifyBackup } from '../../../src/operate/continuous/verify'
import { WaitingLog } from '../../../src/operate/continuous/waiting-log'
import { checkContinuousBackup } from '../../../src/operate/doctor/continuous-backup'
import { forgeObject } from '../../support/continuous'
import { withSettings } from '../../support/settings'

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'place-'))
const DATA_DIR = path.join(base, 'data')
const NEW = { service: 'owner' }
fs.mkdirSync(DATA_DIR)

afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

const at = (...names: string[]) => path.join(base, ...names)
function prepare(BACKUP_TO: string) {
  using _ = withSettings({ DATA_DIR, BACKUP_TO })
  return prepareTarget()
}

test('a folder that goes with DATA_DIR is refused, by whatever way it is reached', () => {
  fs.symlinkSync(DATA_DIR, at('link'))
  fs.symlinkSync(base, at('above'))
  for (const place of [DATA_DIR, `${DATA_DIR}/`, at('data/backup'), at('link'), at('link/backup'), base, at('above')]) {
    expect(() => prepare(place)).toThrow('DATA_DIR are one folder, or one is in the other')
  }
  expect(fs.readdirSync(DATA_DIR)).toEqual([])
})

test('a folder of other things is refused, and a link that leads nowhere', () => {
  fs.mkdirSync(at('others'))
  fs.writeFileSync(at('others/report'), '')
  expect(() => prepare(at('others'))).toThrow('holds other files, such as report')
  fs.writeFileSync(at('others/manifest'), '')
  expect(prepare(at('others'))).toBe(at('others'))
  fs.symlinkSync(at('nowhere'), at('dangling'))
  expect(() => prepare(at('dangling'))).toThrow('cannot be made: EEXIST')
  fs.writeFileSync(at('file'), '')
  expect(() => prepare(at('file'))).toThrow('is no folder')
  expect(prepare(at('new'))).toBe(at('new'))
})

test('what somebody puts into a place that was written to ends no start', () => {
  const BACKUP_TO = at('known')
  using _ = withSettings({ DATA_DIR, BACKUP_TO })
  fs.mkdirSync(BACKUP_TO)
  fs.writeFileSync(at('known/report'), '')
  expect(prepareTarget).toThrow('holds other files')
  writeState({ service: 'owner', place: BACKUP_TO, generation: 1 })
  try {
    expect(prepareTarget()).toBe(BACKUP_TO)
    fs.rmSync(BACKUP_TO, { recursive: true })
    fs.writeFileSync(BACKUP_TO, '')
    expect(prepareTarget()).toBeUndefined()
  } finally {
    fs.rmSync(path.join(DATA_DIR, 'backup.json'))
  }
})

describe('a key that is not the one of before', () => {
  const service = 'owner'
  const owner = { service, writer: 'one', postgresql: null }
  const BACKUP_PASSPHRASE = 'correct horse battery staple'

  /** Gives a place to the service. @returns what it noted, and its vault */
  async function claimed(place: string, passphrase: string) {
    useSecrets('a secret key that only tests use')
    fs.mkdirSync(at(place))
    const SECRET_KEY = 'a secret key that only tests use'
    const settings = withSettings({ DATA_DIR, BACKUP_TO: at(place), BACKUP_PASSPHRASE: passphrase, SECRET_KEY })
    const vault = await openOwnVault('begin')
    const { generation } = await claimTarget(vault, { service }, owner)
    return { settings, vault, state: { service, place: at(place), generation, key_digest: vault.key_digest } }
  }

  test.each([
    ['another', BACKUP_PASSPHRASE, (key: string) => fs.writeFileSync(key, 'foreign'), 'another key.age than'],
    ['missing', BACKUP_PASSPHRASE, (key: string) => fs.rmSync(key), 'lost its key.age'],
    ['new', '', (key: string) => fs.writeFileSync(key, 'foreign'), 'a key.age that this service did not write'],
  ])('%s is found by what is open and what opens it, before it is tried', async (kind, passphrase, change, says) => {
    const { settings, vault, state } = await claimed(`key-${kind}`, passphrase)
    using _ = settings
    await openOwnVault('leave', state)
    await checkKey(vault)
    change(at(`key-${kind}`, 'key.age'))
    const before = fs.readdirSync(at(`key-${kind}`))
    for (const look of [() => checkKey(vault), () => openOwnVault('begin', state), () => openOwnBackup(state)]) {
      const error = await Promise.resolve(look()).catch((thrown) => thrown)
      expect(error).toBeInstanceOf(ExchangedKeyError)
      expect(error.message).toContain(says)
    }
    expect(fs.readdirSync(at(`key-${kind}`))).toEqual(before)
  })

  test('is found in an empty place, which gets none', async () => {
    const { settings, state } = await claimed('key-emptied', BACKUP_PASSPHRASE)
    using _ = settings
    for (const name of fs.readdirSync(at('key-emptied'))) fs.rmSync(at('key-emptied', name), { recursive: true })
    await expect(openOwnVault('begin', state)).rejects.toThrow('has lost its manifest and its key.age')
    expect(fs.readdirSync(at('key-emptied'))).toEqual([])
  })
})

test('no key is left in a place that is only read', async () => {
  const BACKUP_TO = at('empty')
  fs.mkdirSync(BACKUP_TO)
  using _ = withSettings({ DATA_DIR, BACKUP_TO, BACKUP_PASSPHRASE: 'correct horse battery staple' })
  const vault = await openOwnVault('leave')
  await expect(contentOf(vault, 'manifest')).rejects.toThrow()
  expect(fs.readdirSync(BACKUP_TO)).toEqual([])
})

test('a relative folder is refused: it would be another one from elsewhere', () => {
  for (const BACKUP_TO of ['backup', './backup', '../backup', '~/backup']) {
    expect(() => readConfig({ NODE_ENV: 'test', BACKUP_TO })).toThrow('BACKUP_TO must be a folder with its whole path')
  }
})

test('a service that wrote to a place a short time ago keeps it, unless the operator insists', async () => {
  useSecrets('a secret key that only tests use')
  fs.mkdirSync(at('lived-in'))
  using _ = withSettings({ DATA_DIR, BACKUP_TO: at('lived-in') })
  const vault = await openOwnVault('begin')
  const owner = { service: 'owner', writer: 'one', postgresql: null }
  await claimTarget(vault, { service: 'owner' }, owner)
  await expect(refuseLiving(vault, 'other')).rejects.toThrow('run cli backup adopt --yes')
  await refuseLiving(vault, 'owner')
  await adoptTarget(vault, { ...owner, service: 'other' })
  await refuseLiving(vault, 'other')
})

test('the place of a service is not adopted by it: its process that writes goes on', async () => {
  useSecrets('a secret key that only tests use')
  fs.mkdirSync(at('own'))
  using _ = withSettings({ DATA_DIR, BACKUP_TO: at('own') })
  const vault = await openOwnVault('begin')
  const owner = { service: 'owner', writer: 'one', postgresql: null }
  const state = { service: 'owner', place: at('own'), generation: (await claimTarget(vault, NEW, owner)).generation }
  await expect(adoptTarget(vault, { ...owner, writer: 'two' })).rejects.toThrow("is this service's already")
  expect((await readOwn(vault, owner, state)).writer).toBe('one')
})

test('the first base copy is a complete copy of the data at once, for the doctor, too', async () => {
  useSecrets('a secret key that only tests use')
  fs.mkdirSync(at('first'))
  using _ = withSettings({ DATA_DIR: at('data-first'), BACKUP_TO: at('first'), BACKUP_VERIFY: 'off' })
  const vault = await openOwnVault('begin')
  const owner = { service: 'owner', writer: 'one', postgresql: null }
  const { generation } = await claimTarget(vault, NEW, owner)
  const state: BackupState = { service: 'owner', place: at('first'), generation, key_digest: null }
  writeState(state)
  expect((await checkContinuousBackup())[0]!.message).toBe('The continuous backup has no complete copy of the data')
  const [id, now] = [crypto.randomUUID(), new Date().toISOString()]
  const base = { id, started_at: now, ended_at: now, parts: 0, bytes: 0, key: keyFingerprints()[0]! }
  await addBase(vault, owner, state, { chain_id: id, base }, undefined)
  writeState(state)
  expect(await checkContinuousBackup()).toEqual([])
})

test('a look at a place that the service does not write to says nothing of its backup', async () => {
  fs.mkdirSync(at('elsewhere'))
  const SECRET_KEY = 'a secret key that only tests use'
  using _ = withSettings({ DATA_DIR: at('data-elsewhere'), BACKUP_TO: at('elsewhere'), SECRET_KEY })
  writeState({ service: 'owner', place: at('own') })
  await expect(verifyBackup()).rejects.toThrow('holds no backup yet')
  expect(readVerified()).toBeUndefined()
  writeState({ service: 'owner', place: at('elsewhere') })
  await expect(verifyBackup()).rejects.toThrow('holds no backup yet')
  expect(readVerified()?.fault).toContain('holds no backup yet')
})

describe('a manifest that anybody could have written is not made the word of the service', () => {
  const owner = { service: 'owner', writer: 'one', postgresql: null }
  const [id, time] = ['00000000-0000-4000-8000-000000000000', '2026-11-01T00:00:00.000Z']

  /** Puts a manifest without a proof, whose copy claims to be sealed by the present SECRET_KEY. */
  async function forge(name: string, format: number) {
    useSecrets('a secret key that only tests use')
    fs.mkdirSync(at(name))
    const key = keyFingerprints()[0]!
    const base = { id, started_at: time, ended_at: time, parts: 0, bytes: 0, key }
    const chains = [{ id, bases: [base], ended_at: null }]
    const manifest = { format, generation: Number.MAX_SAFE_INTEGER, ...owner, release: '0', key, chains }
    forgeObject(at(name), 'manifest', Buffer.from(JSON.stringify(manifest)))
    return withSettings({ DATA_DIR, BACKUP_TO: at(name) })
  }

  test('in the present form it is refused', async () => {
    using _ = await forge('forged', 2)
    const vault = await openOwnVault('begin')
    await expect(claimTarget(vault, { service: 'owner' }, owner)).rejects.toThrow('has no proof')
    await expect(adoptTarget(vault, owner)).rejects.toThrow('has no proof')
    expect(fs.readdirSync(at('forged'))).toEqual(['manifest'])
  })

  test('in that of a release until 0.2 its copies stay unproven', async () => {
    using _ = await forge('forged-old', 1)
    const vault = await openOwnVault('begin')
    const claimed = await claimTarget(vault, { service: 'owner' }, owner)
    expect([claimed.generation, isUnproven(claimed)]).toEqual([1, true])
  })
})

test.skipIf(process.getuid?.() !== 0)(
  'a place whose disk is full is told by status and doctor before anything is written',
  async () => {
    fs.mkdirSync(at('full'))
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', at('full')])
    if (mounted.status !== 0) return console.log('no disk can be mounted here: this was not looked at')
    try {
      using _ = withSettings({ DATA_DIR, BACKUP_TO: at('full') })
      expect(await fullWords()).toContain('is full: 1 MB are free')
      const findings = await checkContinuousBackup()
      expect(findings[0]!.message).toContain('cannot be written: the disk of')
    } finally {
      spawnSync('umount', [at('full')])
    }
  },
)

test('a mostly empty piece that waits takes little of BACKUP_SPOOL_BYTES, and is read back whole', async () => {
  useSecrets('a secret key that only tests use')
  using _ = withSettings({ DATA_DIR: at('waiting') })
  const home = { dir: at('home'), data: at('home/data'), socket_dir: at('home'), port: 5432, user: undefined }
  const marks = at('home/data/pg_wal/archive_status')
  fs.mkdirSync(marks, { recursive: true })
  const piece = Buffer.concat([crypto.getRandomValues(Buffer.alloc(8192)), Buffer.alloc(16 * 1024 * 1024 - 8192)])
  const names = ['000000010000000000000001', '000000010000000000000002']
  for (const name of names) {
    fs.writeFileSync(at('home/data/pg_wal', name), piece)
    fs.writeFileSync(path.join(marks, `${name}.ready`), '')
  }
  const waiting = await WaitingLog.open(home)
  expect(waiting.bytes).toBe(2 * piece.length)
  await waiting.keep()
  expect(fs.readdirSync(marks).toSorted()).toEqual(names.map((name) => `${name}.done`))
  expect(waiting.bytes).toBeLessThan(30_000)
  for (const name of names) fs.rmSync(at('home/data/pg_wal', name))
  const later = await WaitingLog.open(home)
  expect(later.names()).toEqual(names)
  expect(later.bytes).toBe(waiting.bytes)
  expect(Buffer.concat(await Array.fromAsync(later.bytesOf(names[1]!))).equals(piece)).toBe(true)
  for (const name of names) await later.end(name)
  expect([later.names(), later.bytes]).toEqual([[], 0])
})
