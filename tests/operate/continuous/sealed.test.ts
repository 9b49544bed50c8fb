/** Objects of a continuous backup: nothing that was cut, changed, exchanged or made by others is taken for one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import S3rver from 's3rver'
import { useSecrets } from '../../../src/base/secrets'
import { readManifest } from '../../../src/operate/continuous/chain-manifest'
import { DamagedBackupError, seal } from '../../../src/operate/continuous/sealed'
import { isThere, openTarget, type Target } from '../../../src/operate/continuous/target'
import { contentOf, KEY, MANIFEST, openVault, PassphraseError, type Vault } from '../../../src/operate/continuous/vault'
import { forgeObject } from '../../support/continuous'
import { withSettings } from '../../support/settings'

const PASSPHRASE = 'correct horse battery staple'
/** Some blocks and a bit, of which zstd can make little. */
const CONTENT = Buffer.concat([
  Buffer.from('It burns.\n'.repeat(900_000)),
  crypto.getRandomValues(Buffer.alloc(65_536)),
])

let base: string
let folders = 0
beforeAll(() => {
  useSecrets('a secret key that only tests use')
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'sealed-'))
})
afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

function freshFolder(): string {
  const folder = path.join(base, String(folders++))
  fs.mkdirSync(folder)
  return folder
}

const WAYS: [string, string | undefined][] = [
  ['plain', undefined],
  ['encrypted', PASSPHRASE],
]

describe.each(WAYS)('an object that is %s', (way, passphrase) => {
  let folder: string
  let vault: Vault
  let stored: Buffer
  beforeAll(async () => {
    folder = freshFolder()
    vault = await openVault(openTarget(folder), passphrase, 'begin')
    await vault.put('files/one', CONTENT)
    await vault.put('files/other', Buffer.from('Something else'))
    await vault.put('files/none', Buffer.alloc(0))
    stored = fs.readFileSync(path.join(folder, 'files/one'))
  })

  test('gives back its content, also to another process', async () => {
    const again = await openVault(openTarget(folder), passphrase, 'leave')
    for (const each of [vault, again]) expect((await contentOf(each, 'files/one')).equals(CONTENT)).toBe(true)
    expect(await contentOf(again, 'files/none')).toHaveLength(0)
  })

  test('shows its content only where it is plain', () => {
    const text = fs.readFileSync(path.join(folder, 'files/other')).toString('latin1')
    expect(text.includes('Something else')).toBe(way === 'plain')
    expect(text.includes('files/other')).toBe(way === 'plain')
  })

  test('is for its owner only', () => {
    const all = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name))
    expect(all.length).toBeGreaterThan(2)
    for (const file of all) {
      const found = fs.statSync(file)
      expect([file, found.mode & 0o777]).toEqual([file, found.isDirectory() ? 0o700 : 0o600])
    }
  })

  test('is not read when it was cut, wherever', async () => {
    for (const length of [0, 1, 7, 30, 200, stored.length >> 1, stored.length - 40, stored.length - 1]) {
      fs.writeFileSync(path.join(folder, 'files/cut'), stored.subarray(0, length))
      await expect(readAs(vault, 'files/cut', 'files/one')).rejects.toThrow(DamagedBackupError)
    }
  })

  test('is not read when a byte was changed or added, wherever', async () => {
    const places = [0, 5, 12, 60, 150, 400, stored.length >> 1, stored.length - 30, stored.length - 1]
    for (const at of places) {
      const changed = Buffer.from(stored)
      changed[at]! ^= 1
      fs.writeFileSync(path.join(folder, 'files/changed'), changed)
      await expect(readAs(vault, 'files/changed', 'files/one')).rejects.toThrow(DamagedBackupError)
    }
    fs.writeFileSync(path.join(folder, 'files/changed'), Buffer.concat([stored, Buffer.alloc(1)]))
    await expect(readAs(vault, 'files/changed', 'files/one')).rejects.toThrow(DamagedBackupError)
  })

  test('is not read when it was sealed with another key', async () => {
    useSecrets('a secret key of somebody else')
    await openVault(openTarget(folder), passphrase, 'leave').then((other) => other.put('files/foreign', CONTENT))
    useSecrets('a secret key that only tests use')
    await expect(contentOf(vault, 'files/foreign')).rejects.toThrow('another SECRET_KEY')
    // The key of before still opens what it sealed.
    useSecrets('a newer secret key', 'a secret key that only tests use')
    expect((await contentOf(vault, 'files/one')).equals(CONTENT)).toBe(true)
    useSecrets('a secret key that only tests use')
  })

  test('is not read in the place of another', async () => {
    fs.copyFileSync(path.join(folder, 'files/other'), path.join(folder, 'files/swapped'))
    await expect(contentOf(vault, 'files/swapped')).rejects.toThrow(DamagedBackupError)
  })
})

test('a key or manifest without end, which nobody proves, is not read whole', async () => {
  const place = freshFolder()
  fs.writeFileSync(path.join(place, KEY), '')
  fs.truncateSync(path.join(place, KEY), 2 ** 40)
  for (const passphrase of [undefined, PASSPHRASE]) {
    await expect(openVault(openTarget(place), passphrase, 'begin')).rejects.toThrow('key.age has more than 4096 bytes')
  }
  fs.rmSync(path.join(place, KEY))
  forgeObject(place, MANIFEST, Buffer.alloc(65 * 1024 * 1024))
  const vault = await openVault(openTarget(place), undefined, 'begin')
  await expect(readManifest(vault, 'any')).rejects.toThrow('manifest has more than 67108864 bytes')
})

/** Reads an object from another file, as if somebody had put that in its place. */
async function readAs(vault: Vault, file: string, name: string): Promise<Buffer> {
  const { place } = vault.target
  const kept = fs.readFileSync(path.join(place, name))
  fs.copyFileSync(path.join(place, file), path.join(place, name))
  try {
    return await contentOf(vault, name)
  } finally {
    fs.writeFileSync(path.join(place, name), kept)
  }
}

test('a plain object is what zstd alone unpacks', async () => {
  const pieces: Uint8Array[] = []
  for await (const piece of seal('one', CONTENT)) pieces.push(piece)
  const zstd = spawnSync('zstd', ['-dc'], { input: Buffer.concat(pieces), maxBuffer: 1e8 })
  if (zstd.error) return console.log('zstd is not installed: this was not looked at')
  expect(zstd.stdout.equals(CONTENT)).toBe(true)
})

describe('a passphrase', () => {
  let folder: string
  let vaults: Vault[]
  beforeAll(async () => {
    folder = freshFolder()
    vaults = await Promise.all([1, 2].map(() => openVault(openTarget(folder), PASSPHRASE, 'begin')))
  })

  test('makes one key when two begin at once', async () => {
    expect(fs.readdirSync(folder)).toEqual(['key.age'])
    await vaults[0]!.put('one', CONTENT)
    for (const vault of vaults) expect((await contentOf(vault, 'one')).equals(CONTENT)).toBe(true)
  })

  test('that is wrong or missing opens nothing', async () => {
    const open = (passphrase?: string) => openVault(openTarget(folder), passphrase, 'begin')
    await expect(open('correct horse battery stapler')).rejects.toThrow(PassphraseError)
    await expect(open()).rejects.toThrow('is encrypted: set BACKUP_PASSPHRASE')
  })

  test('refuses a backup that somebody made without it', async () => {
    const plain = freshFolder()
    const vault = await openVault(openTarget(plain), undefined, 'begin')
    await vault.put('manifest', Buffer.from('{}'))
    await expect(openVault(openTarget(plain), PASSPHRASE, 'begin')).rejects.toThrow('is not encrypted')
  })

  test('puts no key into an empty place that is only read', async () => {
    const empty = freshFolder()
    await openVault(openTarget(empty), PASSPHRASE, 'leave')
    expect(fs.readdirSync(empty)).toEqual([])
  })

  test('refuses objects of another backup with the same passphrase, which has another key', async () => {
    const other = freshFolder()
    const vault = await openVault(openTarget(other), PASSPHRASE, 'begin')
    await vaults[0]!.put('manifest', Buffer.from('{}'))
    fs.copyFileSync(path.join(folder, 'manifest'), path.join(other, 'manifest'))
    await expect(contentOf(vault, 'manifest')).rejects.toThrow(DamagedBackupError)
  })
})

describe('a target', () => {
  let server: S3rver
  let bucket: Target
  beforeAll(async () => {
    const directory = freshFolder()
    const buckets = [{ name: 'desk', configs: [] }]
    server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets: buckets })
    const { port } = await server.run()
    using _ = withSettings({
      BACKUP_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      BACKUP_S3_REGION: 'us-east-1',
      BACKUP_S3_ACCESS_KEY_ID: 'S3RVER',
      BACKUP_S3_SECRET_ACCESS_KEY: 'S3RVER',
    })
    bucket = openTarget('s3://desk/some/prefix')
  })
  afterAll(() => server.close())

  test.each(['a folder', 's3'])('lists names in their order, behind one, and nothing else: %s', async (kind) => {
    const target = kind === 's3' ? bucket : openTarget(freshFolder())
    const names = ['files/a', 'files/a-b/c', 'files/aa', 'files/b', 'filesystem/x', 'log/y']
    for (const name of names) await target.put(name, Buffer.from(name))
    const listed = async (folder: string, after?: string) => {
      const found: string[] = []
      for await (const { name } of target.list(folder, after)) found.push(name)
      return found
    }
    expect(await listed('files')).toEqual(['files/a', 'files/a-b/c', 'files/aa', 'files/b'])
    expect(await listed('files', 'files/a-b/c')).toEqual(['files/aa', 'files/b'])
    expect(await listed('nothing')).toEqual([])
    await target.remove('files/a-b/c')
    expect(await listed('files')).toEqual(['files/a', 'files/aa', 'files/b'])
  })

  test('keeps the object that was there when its replacement cannot be written', async () => {
    const folder = freshFolder()
    const vault = await openVault(openTarget(folder), undefined, 'begin')
    await vault.replace('manifest', Buffer.from('before'))
    const breaksOff = async function* () {
      yield Buffer.from('a')
      throw new Error('the disk is full')
    }
    await expect(vault.put('manifest', breaksOff())).rejects.toThrow('the disk is full')
    expect((await contentOf(vault, 'manifest')).toString()).toBe('before')
  })

  test.each(['a folder', 's3'])('replaces an object, and says what is there: %s', async (kind) => {
    const target = kind === 's3' ? bucket : openTarget(freshFolder())
    expect(await isThere(target, 'manifest')).toBe(false)
    for (const text of ['before', 'after']) await target.replace('manifest', Buffer.from(text))
    expect(Buffer.from(await target.read('manifest')).toString()).toBe('after')
    expect(await isThere(target, 'manifest')).toBe(true)
  })

  test('whose folder is gone is not made anew', async () => {
    const folder = freshFolder()
    const target = openTarget(folder)
    fs.rmdirSync(folder)
    await expect(target.put('one', Buffer.from('1'))).rejects.toThrow('there is no folder')
    await expect(target.read('manifest')).rejects.toThrow('there is no folder')
    expect(fs.existsSync(folder)).toBe(false)
  })
})
