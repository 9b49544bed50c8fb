/**
 * Backups that somebody changed, and folders with links in them: nothing outside of them is read, written or handed
 * out.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { connection } from '../../../src/base/db/pool'
import { sign, useSecrets } from '../../../src/base/secrets'
import { openStore, storage } from '../../../src/desk/attachments/storage'
import { backUp } from '../../../src/operate/backup/back-up'
import { checkBackup, restore } from '../../../src/operate/backup/restore'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { EmptyDatabases, runCli, runHere } from '../../support/backups'
import type { TestDatabase } from '../../support/database'
import { createMessage, createTicket, uploadFile } from '../../support/factories'

const SECRET_KEY = 'a secret key that only tests use'
const SECRET = 'a secret of the host'

// biome-ignore lint/suspicious/noExplicitAny: the tests make it wrong in every way
type AnyManifest = Record<string, any>

let source: TestDatabase
let empty: EmptyDatabases
let organization: Organization
let base: string
let backup: string
let secret: string
let folders = 0

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'hostile-'))
  fs.chmodSync(base, 0o711)
  source = await startApi()
  empty = new EmptyDatabases(source.url)
  organization = await createOrganization()
  const { agent } = organization
  const ticket = await createTicket(agent)
  for (const text of ['one', 'two']) {
    const { id } = await uploadFile(agent, text)
    await createMessage(agent, ticket.id, { attachment_ids: [id], send_email: false })
  }
  secret = path.join(base, 'secret')
  fs.writeFileSync(secret, SECRET)
  backup = freshFolder()
  await runHere(settingsOf(source.url), () => backUp(backup))
})

afterAll(async () => {
  await stopApi()
  await empty.drop()
  fs.rmSync(base, { recursive: true, force: true })
})

const KEYS = [
  '../secret-key',
  '../../../../../etc/passwd',
  'attachments/../../secret-key',
  '/etc/passwd',
  'attachments/018f0000-0000-7000-8000-000000000000\n',
  'attachments',
  '',
]

describe('a row that names another file', () => {
  test.each(KEYS)('%j is refused by the database', async (key) => {
    const { sql } = connection()
    await expect(sql`update attachments set storage_key = ${key}`).rejects.toThrow('attachments_storage_key')
    await expect(sql`insert into storage_removals (storage_key) values (${key})`).rejects.toThrow('storage_key')
  })

  test.each(KEYS)('%j gets nothing from the store, and changes nothing in it', async (key) => {
    for (const work of [
      () => storage().open(key),
      () => storage().read(key),
      () => storage().put(key, Buffer.from('changed')),
      () => storage().remove(key),
    ]) {
      await expect(work()).rejects.toThrow('no key of this service')
    }
  })

  test.each(KEYS)('%j is asked of no bucket', async (key) => {
    const asked: string[] = []
    using server = Bun.serve({
      port: 0,
      fetch({ url }) {
        asked.push(url)
        return new Response('')
      },
    })
    const bucket = {
      ATTACHMENT_STORE: 's3://desk/prefix',
      S3_ENDPOINT: `http://127.0.0.1:${server.port}`,
      S3_REGION: 'us-east-1',
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'key',
    }
    await runHere({ ...settingsOf(source.url), ...bucket }, () => openStore().read(key)).then(
      () => expect.unreachable(),
      ({ message }) => expect(message).toContain('no key of this service'),
    )
    expect(asked).toEqual([])
  })

  test('is refused when a changed backup is restored', async () => {
    const folder = copyOfBackup()
    changeTable(folder, 'attachments', (text) => text.replace(/\tattachments\/[0-9a-f-]{36}\t/, '\t../secret-key\t'))
    await expect(restoreInto(await empty.create(), folder)).rejects.toThrow('attachments_storage_key')
  })
})

describe('a changed manifest', () => {
  test.each<[what: string, place: string, value: unknown]>([
    ['a table in another folder', 'tables.1.file', '../../../../../etc/passwd'],
    ['a table of the server', 'tables.1.schema', 'pg_catalog'],
    ['a table with another name', 'tables.1.name', "x\" (a) from program 'id'; --"],
    ['a column with another name', 'tables.1.columns.0', 'x") from program'],
    ['a key in another folder', 'secret_keys.0.file', '/etc/passwd'],
    ['no key', 'secret_keys', []],
    ['a list in another folder', 'files.file', '../files.jsonl'],
    ['a sequence of another schema', 'sequences.0.schema', 'pg_catalog'],
    ['no tables', 'tables', undefined],
  ])('with %s is refused', async (_, place, value) => {
    const folder = copyOfBackup()
    changeManifest(folder, (manifest) => {
      const names = place.split('.')
      const last = names.pop()!
      names.reduce((inner, name) => inner[name], manifest)[last] = value
    })
    await expect(checkBackup(folder)).rejects.toThrow('names what no backup has')
  })

  test.each(['null', '[]', '1', '"a"'])('that is %s is refused in one line', async (text) => {
    const folder = copyOfBackup()
    fs.writeFileSync(path.join(folder, 'manifest.json'), text)
    await expect(checkBackup(folder)).rejects.toThrow('another form of backups')
  })

  test('with a table that no migration makes restores nothing', async () => {
    const folder = copyOfBackup()
    changeManifest(folder, ({ tables }) => {
      const table = tables.find(({ schema }: { schema: string }) => schema === 'public')
      fs.renameSync(path.join(folder, table.file), path.join(folder, 'database/planted.copy.zst'))
      Object.assign(table, { name: 'planted', file: 'database/planted.copy.zst' })
    })
    const url = await empty.create()
    await expect(restoreInto(url, folder)).rejects.toThrow('unknown table: "public"."planted"')
  })

  test.each(['../../secret', 'files/../secret-key', 'attachments/../../x'])(
    'a list with %s is refused',
    async (key) => {
      const folder = copyOfBackup()
      changeList(folder, (text) => text.replace(/attachments\/[0-9a-f-]{36}/, key))
      await expect(checkBackup(folder)).rejects.toThrow('names a file with an unknown key')
    },
  )

  test('a list with a line that is no JSON is refused in one line', async () => {
    const folder = copyOfBackup()
    changeList(folder, () => '{\n')
    await expect(checkBackup(folder)).rejects.toThrow('a line is no JSON')
  })
})

describe('in a backup', () => {
  const plants: [what: string, plant: (file: string) => void][] = [
    ['a link', (file) => fs.symlinkSync(secret, file)],
    ['a pipe', (file) => void spawnSync('mkfifo', [file])],
    ['a device', (file) => fs.symlinkSync('/dev/zero', file)],
    ['a folder', (file) => fs.mkdirSync(file)],
  ]
  const places = ['manifest.json', 'secret-key', 'files.jsonl', 'database/users.copy.zst', 'files/attachments/']

  test.each(plants.flatMap(([what, plant]) => places.map((place) => [what, place, plant] as const)))(
    '%s in the place of %s is not read',
    async (_, place, plant) => {
      const folder = copyOfBackup()
      const file = path.join(folder, place.endsWith('/') ? place + fs.readdirSync(path.join(folder, place))[0] : place)
      fs.rmSync(file)
      plant(file)
      await expect(checkBackup(folder)).rejects.toThrow(/missing|no whole backup|no plain file/)
    },
  )

  test.each(['database', 'files', 'files/attachments'])(
    'a link in the place of the folder %s is not followed',
    async (name) => {
      const folder = copyOfBackup()
      const elsewhere = freshFolder()
      fs.renameSync(path.join(folder, name), elsewhere)
      fs.symlinkSync(elsewhere, path.join(folder, name))
      await expect(checkBackup(folder)).rejects.toThrow(`it is a link: ${name}`)
    },
  )
})

describe('in the store', () => {
  test('a link in the place of a file is handed out to nobody, nor backed up, nor exported', async () => {
    const { DATA_DIR } = settingsOf(source.url)
    const [{ id, storage_key }] = await connection().sql<[{ id: string; storage_key: string }]>`
      select id, storage_key from attachments order by id limit 1`
    const file = path.join(DATA_DIR, 'attachments', storage_key)
    const kept = fs.readFileSync(file)
    fs.rmSync(file)
    fs.symlinkSync(secret, file)
    const answer = await organization.agent.get(`/attachments/${id}/content`)
    expect([answer.status, answer.text.includes(SECRET)]).toEqual([503, false])
    const [copy, exported] = [freshFolder(), freshFolder()]
    const backedUp = await runHere(settingsOf(source.url), () => backUp(copy)).catch((error) => error)
    expect(backedUp.message).toContain('1 were missing and 0 were damaged')
    const exporting = await runCli(['export', exported, '--organization', organization.id], settingsOf(source.url))
    expect([exporting.code, exporting.stderr]).toEqual([3, expect.stringContaining('lacks 1 files')])
    for (const folder of [copy, exported]) expect(textsOf(folder)).not.toContain(SECRET)
    await storage().put(storage_key, kept)
    expect([fs.lstatSync(file).isFile(), fs.readFileSync(secret, 'utf8')]).toEqual([true, SECRET])
  })

  test('a link in the place of a folder is followed neither for reading nor for writing nor for removing', async () => {
    const DATA_DIR = freshFolder()
    const elsewhere = freshFolder()
    fs.mkdirSync(path.join(DATA_DIR, 'attachments'), { recursive: true })
    fs.mkdirSync(elsewhere)
    const id = '018f0000-0000-7000-8000-000000000000'
    fs.writeFileSync(path.join(elsewhere, id), SECRET)
    fs.symlinkSync(elsewhere, path.join(DATA_DIR, 'attachments', 'inbound'))
    await runHere({ ...settingsOf(source.url), DATA_DIR }, async () => {
      const store = openStore()
      const key = `inbound/${id}`
      for (const work of [
        () => store.open(key),
        () => store.read(key),
        () => store.put(key, Buffer.from('changed')),
        () => store.remove(key),
      ]) {
        expect(await work().catch(({ name, cause }) => [name, cause.code])).toEqual(['UnavailableError', 'ELOOP'])
      }
    })
    expect(fs.readFileSync(path.join(elsewhere, id), 'utf8')).toBe(SECRET)
  })

  test.each(['symlink', 'fifo'])('a %s that waits for an upload gets nothing of it', async (kind) => {
    const DATA_DIR = freshFolder()
    const id = '018f0000-0000-7000-8000-000000000001'
    const folder = path.join(DATA_DIR, 'attachments', 'attachments')
    fs.mkdirSync(folder, { recursive: true })
    const partial = path.join(folder, `${id}.partial`)
    if (kind === 'symlink') fs.symlinkSync(secret, partial)
    else spawnSync('mkfifo', [partial])
    await runHere({ ...settingsOf(source.url), DATA_DIR }, async () => {
      await expect(openStore().put(`attachments/${id}`, Buffer.from('changed'))).rejects.toThrow()
    })
    expect(fs.readFileSync(secret, 'utf8')).toBe(SECRET)
  })
})

test('rows that somebody without the key changed are not restored, nor are they when there is no MAC at all', async () => {
  const folder = copyOfBackup()
  changeTable(folder, 'tickets', (text) => text.replace('open', 'closed'))
  changeManifest(folder, () => {}, 'a key of somebody else')
  const restoring = async () => restoreInto(await empty.create(), folder)
  await expect(restoring()).rejects.toThrow('its MAC is not that of the secret key')
  const file = path.join(folder, 'manifest.json')
  const { mac, ...manifest } = JSON.parse(fs.readFileSync(file, 'utf8'))
  fs.writeFileSync(file, JSON.stringify(manifest))
  await expect(restoring()).rejects.toThrow('add --unproven')
  await expect(runHere(settingsOf(source.url), () => checkBackup(folder))).rejects.toThrow('add --unproven')
})

function settingsOf(DATABASE_URL: string) {
  return { DATABASE_URL, SECRET_KEY, DATA_DIR: process.env.DATA_DIR! }
}

function restoreInto(url: string, folder: string) {
  return runHere({ ...settingsOf(url), DATA_DIR: freshFolder() }, () => restore(folder))
}

function freshFolder(): string {
  folders += 1
  return path.join(base, String(folders))
}

function copyOfBackup(): string {
  const folder = freshFolder()
  fs.cpSync(backup, folder, { recursive: true })
  return folder
}

function textsOf(folder: string): string {
  const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  return files
    .filter((file) => file.isFile())
    .map((file) => fs.readFileSync(path.join(file.parentPath, file.name), 'latin1'))
    .join()
}

/** Changes a manifest as somebody can who has the key, or knows how all but that is made. */
function changeManifest(folder: string, change: (manifest: AnyManifest) => void, key = SECRET_KEY): void {
  const file = path.join(folder, 'manifest.json')
  const { sha256: _, mac: __, ...manifest } = JSON.parse(fs.readFileSync(file, 'utf8'))
  change(manifest)
  const sum = sha256(JSON.stringify(manifest))
  useSecrets(key)
  const mac = sign('backup-proof', `one copy\n${sum}`).toString('hex')
  useSecrets(SECRET_KEY)
  fs.writeFileSync(file, JSON.stringify({ ...manifest, sha256: sum, mac }))
}

function changeTable(folder: string, name: string, change: (text: string) => string): void {
  const file = path.join(folder, `database/${name}.copy.zst`)
  const before = zstdDecompressSync(fs.readFileSync(file)).toString()
  const after = change(before)
  expect(after).not.toBe(before)
  changeManifest(folder, ({ tables }) => {
    Object.assign(
      tables.find((table: { name: string }) => table.name === name),
      written(file, zstdCompressSync(after)),
    )
  })
}

function changeList(folder: string, change: (text: string) => string): void {
  const file = path.join(folder, 'files.jsonl')
  const list = written(file, Buffer.from(change(fs.readFileSync(file, 'utf8'))))
  changeManifest(folder, ({ files }) => void Object.assign(files, list))
}

function written(file: string, bytes: Buffer): { size: number; sha256: string } {
  fs.writeFileSync(file, bytes)
  return { size: bytes.length, sha256: sha256(bytes) }
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
