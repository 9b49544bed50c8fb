/** The settings as an operator and a reader of the guide see them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { SETTINGS } from '../../../src/base/settings/table'
import { settingsMarkdown } from '../../../src/operate/start/report'

const ROOT = path.join(import.meta.dir, '../../..')

let dir: string
beforeAll(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'settings-'))
})
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/** Runs a command with these settings and no others. */
function cli(args: string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, [path.join(ROOT, 'src/cli.ts'), ...args], {
    encoding: 'utf8',
    cwd: dir,
    env: { PATH: process.env.PATH, ...env },
  })
}

test('the guide has the table of the settings as `bun run cli settings --markdown` prints it', () => {
  const guide = fs.readFileSync(path.join(ROOT, 'src/guide/operate.md'), 'utf8')
  expect(guide).toContain(settingsMarkdown())
  expect(cli(['settings', '--markdown']).stdout.trim()).toBe(settingsMarkdown())
})

test('a new operator is shown ten settings first', () => {
  const [first] = settingsMarkdown().split('All others')
  expect(first?.match(/^\| `/gm)).toHaveLength(10)
})

test('the command names every setting with its value, where that comes from, its default and its meaning', () => {
  const DATA_DIR = path.join(dir, 'kept')
  fs.mkdirSync(DATA_DIR)
  fs.writeFileSync(path.join(DATA_DIR, 'secret-key'), 'the generated secret key')
  const { status, stdout } = cli(['settings', '--json'], { DATA_DIR, PORT: ' 8080 ', HOST: ' ' })
  expect(status).toBe(0)
  const settings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(settings.map(({ name }) => name)).toEqual(Object.keys(SETTINGS))
  for (const { meaning } of settings) expect(meaning).toEndWith('.')
  const shown = Object.fromEntries(settings.map(({ name, value, source, default: d }) => [name, [value, source, d]]))
  expect(shown).toMatchObject({
    PORT: ['8080', 'environment', '3000'],
    HOST: ['0.0.0.0', 'default', '0.0.0.0'],
    BASE_URL: ['http://localhost:8080', 'default', expect.stringContaining('$PORT')],
    SMTP_HOSTNAME: [os.hostname(), 'default', 'the host name of the machine'],
    DATABASE_URL: [null, 'default', null],
    SECRET_KEY: ['***', path.join(DATA_DIR, 'secret-key'), expect.any(String)],
  })
  expect(cli(['settings'], { PORT: '8080' }).stdout).toStartWith(
    'PORT = 8080\n    Source: environment. Default: 3000.\n    Port of the HTTP listener.',
  )
})

test('the command prints no secret, and no user, password or parameter of a URL', () => {
  const env = {
    SECRET_KEY: 'hidden secret key of which nobody reads anything',
    SECRET_KEY_PREVIOUS: 'hidden previous key',
    ADMIN_PASSWORD: 'hidden password',
    S3_SECRET_ACCESS_KEY: 'hidden access key',
    DATABASE_URL: 'postgres://hidden:hidden@db.example/desk?password=hidden',
    REDIS_URL: 'redis://:hidden@redis.example:6379/0',
  }
  for (const args of [['settings'], ['settings', '--json']]) {
    const { status, stdout } = cli(args, env)
    expect(status).toBe(0)
    expect(stdout).not.toContain('hidden')
    expect(stdout).toContain('postgres://***@db.example/desk?***')
    expect(stdout).toContain('redis://***@redis.example:6379/0')
  }
})

test('the command refuses a wrong value as the start does', () => {
  const { status, stdout, stderr } = cli(['settings'], { PORT: 'http' })
  expect([status, stdout, stderr]).toEqual([78, '', 'deskwire: PORT must be a whole number from 0 to 65535\n'])
})

test('without a command, or with an unknown one, all commands are listed and the exit status is 2', () => {
  const help = cli(['help'])
  expect([help.status, help.stderr]).toEqual([0, ''])
  for (const name of ['organization create', 'user password', 'outbox drain', 'settings']) {
    expect(help.stdout).toContain(`bun run cli ${name}`)
  }
  expect(cli(['--help']).stdout).toBe(help.stdout)
  const wrong = [[], ['start'], ['organization'], ['outbox', 'flush']].map((args) => cli(args))
  for (const { status, stdout, stderr } of wrong) {
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toEndWith(help.stdout)
  }
})
