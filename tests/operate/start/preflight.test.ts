/** Checks of the start beyond the form of a setting: wrong files, folders, hosts and databases. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Config, ConfigError, readConfig } from '../../../src/base/config'
import { openDatabase } from '../../../src/operate/start/database'
import { checkFolder, checkSettings, readCertificate } from '../../../src/operate/start/preflight'
import { type Certificate, issueCertificate } from '../../support/certificates'
import { TEMPLATE_URL } from '../../support/database'
import { withDatabase } from '../../support/on-server'
import { withSettings } from '../../support/settings'

const SRC = path.join(import.meta.dir, '../../../src')

let dir: string
let file: string
let one: Certificate
let other: Certificate

beforeAll(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'preflight-'))
  // As root the embedded server runs as another user, who has to get in.
  fs.chmodSync(dir, 0o711)
  file = path.join(dir, 'file')
  fs.writeFileSync(file, 'no certificate')
  one = await issueCertificate()
  other = await issueCertificate(['other.example'])
})
afterAll(() => {
  fs.rmSync(dir, { recursive: true, force: true })
})

/** Good settings with `changes`. */
function settings(changes: Partial<Config>): Config {
  return { ...readConfig({}), HOST: '127.0.0.1', DATA_DIR: path.join(dir, 'data'), ...changes }
}

describe('the start is refused by the name of the setting', () => {
  test.skipIf(process.getuid?.() !== 0)('a folder that the user may not write names the user and the command', () => {
    const closed = fs.mkdtempSync(path.join(dir, 'closed-'))
    fs.chmodSync(closed, 0o755)
    process.seteuid!(4711)
    try {
      const data = path.join(closed, 'data')
      expect(() => checkFolder(data, { DATA_DIR: data })).toThrow(
        `This is OS user 4711: as root, mkdir -p ${data} && chown -R 4711:${process.getegid!()} ${data}`,
      )
    } finally {
      process.seteuid!(0)
    }
  })

  test.skipIf(process.getuid?.() !== 0)('a folder that is closed to its owner names the command', () => {
    const data = fs.mkdtempSync(path.join(dir, 'own-'))
    fs.chownSync(data, 4711, 4711)
    fs.chmodSync(data, 0)
    process.seteuid!(4711)
    try {
      expect(() => checkFolder(path.join(data, 'attachments'), { DATA_DIR: data })).toThrow(`: chmod u+rwx ${data}`)
    } finally {
      process.seteuid!(0)
    }
  })

  test('that no form can tell is wrong', async () => {
    fs.writeFileSync(path.join(dir, 'damaged.pem'), one.cert.replace(/\n\w{20}/, '\n'))
    const wrong: [Partial<Config>, string][] = [
      [{ ADMIN_EMAIL: 'bad' }, 'ADMIN_EMAIL must be an email address'],
      [{ HOST: 'nope.invalid' }, 'HOST nope.invalid is not a name or address of this machine'],
      [{ HOST: '192.0.2.1' }, 'HOST 192.0.2.1 is not a name or address of this machine'],
      [{ DATA_DIR: file }, `DATA_DIR ${file} cannot be used: EEXIST`],
      [{ DATA_DIR: `${file}/data` }, `DATA_DIR ${file}/data cannot be used: ENOTDIR`],
      [{ WEBHOOK_CA_FILE: '/nope' }, 'WEBHOOK_CA_FILE names /nope, which cannot be read'],
      [{ MAIL_CA_FILE: '/nope' }, 'MAIL_CA_FILE names /nope, which cannot be read'],
      [{ MAIL_CA_FILE: dir }, `MAIL_CA_FILE names ${dir}, which cannot be read`],
      [{ WEBHOOK_CA_FILE: file }, `WEBHOOK_CA_FILE names ${file}, which holds no certificate`],
      [{ MAIL_CA_FILE: one.key_file }, `MAIL_CA_FILE names ${one.key_file}, which holds no certificate`],
      [{ MAIL_CA_FILE: `${dir}/damaged.pem` }, `MAIL_CA_FILE names ${dir}/damaged.pem, which holds no certificate`],
    ]
    for (const [changes, message] of wrong) {
      const error = await checkSettings(settings(changes)).catch((error) => error)
      expect(error).toBeInstanceOf(ConfigError)
      expect(error.message).toStartWith(message)
      expect(error.message).not.toContain('\n')
    }
    const good = { WEBHOOK_CA_FILE: one.ca_file, MAIL_CA_FILE: other.cert_file }
    expect(await checkSettings(settings(good))).toBeUndefined()
  })

  test('whose certificate and key are no pair, or are none', () => {
    const serve = (TLS_CERT_FILE: string, TLS_KEY_FILE: string) =>
      readCertificate(settings({ TLS_CERT_FILE, TLS_KEY_FILE }))
    expect(serve(one.cert_file, one.key_file)).toEqual({ cert: one.cert, key: one.key })
    const wrong: [string, string, string][] = [
      ['/nope', one.key_file, 'TLS_CERT_FILE names /nope, which cannot be read'],
      [one.cert_file, '/nope', 'TLS_KEY_FILE names /nope, which cannot be read'],
      [one.key_file, one.key_file, `TLS_CERT_FILE names ${one.key_file}, which holds no certificate`],
      [one.cert_file, one.cert_file, `TLS_KEY_FILE names ${one.cert_file}, which holds no private key`],
      [one.cert_file, other.key_file, `TLS_KEY_FILE names ${other.key_file}, which is not the key of`],
    ]
    for (const [cert, key, message] of wrong) expect(() => serve(cert, key)).toThrow(message)
  })

  test('of a database that cannot be reached or lets nobody in, without its password', async () => {
    const { host, password } = new URL(process.env[TEMPLATE_URL]!)
    const missing = withDatabase(process.env[TEMPLATE_URL]!, 'not_there')
    const urls = [
      ['postgres://user:a-password@127.0.0.1:1/desk', 'DATABASE_URL names 127.0.0.1:1/desk, which'],
      ['postgres://user:a-password@nope.invalid/desk', 'DATABASE_URL names nope.invalid/desk, which'],
      [
        missing,
        `DATABASE_URL names ${host}/not_there, which cannot be connected to: database "not_there" does not exist`,
      ],
    ] as const
    for (const [DATABASE_URL, message] of urls) {
      using _ = withSettings({ DATABASE_URL, SECRET_KEY: 'a secret key that only tests use' })
      const error = await openDatabase({ other_service: 'join', no_database: 'create', pool_size: 1 }).catch(
        (error) => error,
      )
      expect(error).toBeInstanceOf(ConfigError)
      expect(error.message).toStartWith(message)
      for (const secret of ['a-password', password]) expect(error.message).not.toContain(secret)
    }
  })
})

test('the service says so in one line and ends as with any wrong setting', () => {
  const { status, stdout, stderr } = run('main.ts', [], { WEBHOOK_CA_FILE: '/nope' })
  expect([status, stdout]).toEqual([78, ''])
  expect(JSON.parse(stderr)).toMatchObject({ level: 'fatal', msg: 'WEBHOOK_CA_FILE names /nope, which cannot be read' })
})

test('a secret key that the user of the service may not read is named, with what mends it', () => {
  const DATA_DIR = path.join(dir, 'closed-key')
  expect(run('cli.ts', ['migrate'], { DATA_DIR }).status).toBe(0)
  const key = path.join(DATA_DIR, 'secret-key')
  fs.chmodSync(key, 0)
  const { status, stderr } = run('cli.ts', ['organization', 'list'], { DATA_DIR })
  const { uid, gid } = fs.statSync(key)
  expect([status, stderr]).toEqual([
    78,
    `deskwire: the secret key cannot be used: EACCES: permission denied, open '${key}'. ` +
      `This is OS user ${uid}: as root, chown ${uid}:${gid} ${key} && chmod 600 ${key}\n`,
  ])
})

test('commands that operate on what is there make no database, others do', () => {
  const DATA_DIR = path.join(dir, 'typo')
  const refused = run('cli.ts', ['organization', 'list'], { DATA_DIR })
  expect([refused.status, refused.stdout]).toEqual([78, ''])
  expect(refused.stderr).toBe(`deskwire: DATA_DIR ${DATA_DIR} holds no database\n`)
  const examined = run('cli.ts', ['doctor'], { DATA_DIR })
  expect([examined.status, examined.stderr]).toEqual([1, ''])
  expect(examined.stdout).toContain(
    `ERROR database\n  The database cannot be used: DATA_DIR ${DATA_DIR} holds no database.`,
  )
  expect(fs.existsSync(DATA_DIR)).toBe(false)
  expect(run('cli.ts', ['migrate'], { DATA_DIR })).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/\n{"migrated":\d+}\n$/),
  })
  expect(run('cli.ts', ['organization', 'list'], { DATA_DIR })).toMatchObject({ status: 0, stdout: '' })
})

/** A program of the product, with the database under its DATA_DIR. */
function run(program: string, args: string[], env: Record<string, string>) {
  return spawnSync(process.execPath, [path.join(SRC, program), ...args], {
    encoding: 'utf8',
    env: { ...process.env, DATA_DIR: path.join(dir, 'data'), ...env },
  })
}

test('DATA_DIR is private, and folders that are made above it let other OS users through', () => {
  const data_dir = path.join(dir, 'above', 'between', 'data')
  checkFolder(data_dir, { DATA_DIR: data_dir })
  const modes = [data_dir, path.dirname(data_dir), path.dirname(path.dirname(data_dir))].map((folder) =>
    (fs.statSync(folder).mode & 0o777).toString(8),
  )
  expect(modes).toEqual(['700', '755', '755'])
})
