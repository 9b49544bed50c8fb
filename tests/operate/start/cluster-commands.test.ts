/** Every command of the operator on a database that is distributed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { closeDatabase, connectDatabase } from '../../../src/base/db/pool'
import { ENCRYPTED_COLUMNS } from '../../../src/base/secrets'
import { clientWithKey, createOrganization, type Organization, signIn, startApi, stopApi } from '../../support/api'
import { type Ended, runCli } from '../../support/backups'
import { WHY_NO_CLUSTER, waitForNoService } from '../../support/cluster'
import type { TestDatabase } from '../../support/database'
import { writeFiles, ZENDESK } from '../../support/old-desks'
import { createWorld } from '../../support/world'

const SECRET_KEY = 'a secret key that only tests use'
/** They are on both workers: that all are on one has a chance of 1 in 32. */
const ORGANIZATIONS = 6

/** The place of a continuous backup. */
const BACKUP_TO = path.join(os.tmpdir(), `cluster-backup-${process.pid}`)

/** Organizations with one of everything, and a new folder. */
type Place = { desks: Organization[]; folder: string; backup: string }

type Recipe = {
  args?(place: Place): string[]
  /** Settings besides those of the service. */
  env?: Record<string, string>
  /** No service may be connected meanwhile. */
  is_alone?: true
  /** Statuses that are right, 0 when left out. */
  codes?: number[]
  /** @param lines what it printed, a JSON value of each line */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints what it likes
  expect?(lines: any[], place: Place, stdout: string): unknown
}

/** Secrets that each organization has. */
const KEPT_BY_EACH = [
  'webhooks.secret',
  'mailboxes.smtp_password',
  'identity_providers.client_secret',
  'inlets.signing_key',
]

/** In the order in which they run. */
const RECIPES: Record<string, Recipe> = {
  help: { expect: (_lines, _place, stdout) => expect(stdout).toContain('bun run cli distribute') },
  version: { expect: ([build]) => expect(build).toHaveProperty('commit') },
  settings: { args: () => ['--json'], expect: ([first]) => expect(first).toHaveProperty('name') },
  migrate: { expect: (lines) => expect(lines).toEqual([{ migrated: 0 }]) },
  distribute: { is_alone: true, expect: (lines) => expect(lines).toMatchObject([{ placed: 0 }]) },
  backup: {
    is_alone: true,
    args: ({ backup }) => [backup],
    expect: ([made]) => expect(made).toMatchObject({ files: 3 * ORGANIZATIONS }),
  },
  restore: {
    args: ({ backup }) => [backup, '--check'],
    expect: ([read]) => expect(read).toMatchObject({ files: 3 * ORGANIZATIONS }),
  },
  // No service has run with it: there is nothing in the backup but whose it is.
  'backup adopt': { env: { BACKUP_TO }, expect: (lines) => expect(lines).toEqual([{ adopted: BACKUP_TO }]) },
  'backup status': { env: { BACKUP_TO }, codes: [1], expect: ([found]) => expect(found).toMatchObject({ files: 0 }) },
  'backup verify': { env: { BACKUP_TO }, codes: [1] },
  'outbox resume': { expect: ([found]) => expect(found).toMatchObject({ resumed: false }) },
  'organization list': {
    expect: (lines, { desks }) =>
      expect(lines.map(({ id }) => id)).toEqual(expect.arrayContaining(desks.map(({ id }) => id))),
  },
  'organization create': {
    args: () => ['--name', 'New', '--admin-email', 'olga@operator.example'],
    async expect([{ admin }]) {
      const client = await signIn(admin.email, admin.password)
      expect((await client.get('/auth/me')).body.organizations).toMatchObject([{ name: 'New', role: 'admin' }])
    },
  },
  'user password': {
    args: ({ desks }) => ['--email', desks[0]!.agent.email],
    expect: ([{ email, password }]) => signIn(email, password),
  },
  'user second-factor-reset': { args: ({ desks }) => ['--email', desks[0]!.admin.email], codes: [1] },
  'invitation link': {
    args: () => ['--email', 'ivy@customer.example'],
    expect: (lines) =>
      expect(lines.map(({ link }) => link)).toEqual(Array(2).fill(expect.stringContaining('/invitation?token='))),
  },
  'identity-provider optional': {
    args: ({ desks }) => ['--organization', desks[0]!.id],
    expect: ([answer]) => expect(answer).toEqual({ optional: false }),
  },
  'domain allow': {
    args: ({ desks }) => ['--organization', desks[0]!.id, '--domain', 'desk.example'],
    expect: ([domain]) => expect(domain).toMatchObject({ status: 'verified' }),
  },
  'api-key create': {
    args: ({ desks }) => ['--organization', desks[0]!.id, '--name', 'Key', '--permissions', 'tickets:read'],
    expect: async ([{ key }]) => expect((await clientWithKey(key).get('/tickets')).body.meta.total).toBe(3),
  },
  export: {
    args: ({ desks, folder }) => [folder, '--organization', desks[1]!.id],
    expect: ([made]) => expect(made).toMatchObject({ files: 3, missing_files: 0, rows: { tickets: 3 } }),
  },
  convert: {
    args({ folder }) {
      fs.mkdirSync(`${folder}-zendesk`)
      writeFiles(`${folder}-zendesk`, ZENDESK)
      return ['zendesk', `${folder}-zendesk`, `${folder}-converted`]
    },
    expect: ([made]) => expect(made.rows).toMatchObject({ tickets: 2 }),
  },
  import: {
    args: ({ desks, folder }) => [`${folder}-converted`, '--organization', desks[2]!.id],
    expect: ([numbers]) => expect(numbers.tickets).toMatchObject({ created: 2 }),
  },
  psql: {
    args: () => ['-c', 'select count(*) as found from tickets'],
    expect: (_lines, _place, stdout) => expect(stdout).toMatch(new RegExp(`found[^]*\\b${3 * ORGANIZATIONS + 2}\\b`)),
  },
  doctor: {
    args: () => ['--json'],
    // Nothing listens where the mailboxes send.
    codes: [0, 1],
    expect([report]) {
      const messages: string[] = report.findings.map(
        ({ check, message }: Record<'check' | 'message', string>) => `${check}: ${message}`,
      )
      // A busy machine may take longer than the doctor waits.
      expect(messages.filter((text) => text.includes('could not be looked at') && !text.includes('no answer'))).toEqual(
        [],
      )
      expect(report.skipped).toEqual([])
      const checks = [...report.passed, ...report.findings.map(({ check }: { check: string }) => check)]
      expect(checks).toEqual(expect.arrayContaining(['cluster', 'secret key', 'work']))
    },
  },
  // No service runs.
  profile: { args: () => ['1'], codes: [1] },
  why: {
    args: () => ['TKT-1'],
    // It tells of the newest five.
    expect: (_lines, { desks }, stdout) => {
      for (const { id } of desks.slice(-5)) expect(stdout).toContain(id)
    },
  },
  'outbox stats': {
    expect: (lines) =>
      expect(lines.find(({ kind }) => kind === 'webhook')).toMatchObject({ due: 3 * ORGANIZATIONS, leased: 0 }),
  },
  'outbox retry': {
    args: ({ desks }) => ['--organization', desks[0]!.id],
    expect: ([result]) => expect(result).toHaveProperty('due_now'),
  },
  'outbox resend': {
    args: ({ desks }) => ['--organization', desks[0]!.id],
    expect: ([result]) => expect(result).toEqual({ queued: 0, refused: 0 }),
  },
  'outbox drain': { expect: ([settled]) => expect(settled.webhook).toBeGreaterThanOrEqual(ORGANIZATIONS) },
  'secrets rotate': {
    env: { SECRET_KEY: 'another secret key that only tests use', SECRET_KEY_PREVIOUS: SECRET_KEY },
    expect: (lines) =>
      expect(lines).toEqual(
        ENCRYPTED_COLUMNS.map((column) => ({
          column,
          rotated: KEPT_BY_EACH.includes(column) ? ORGANIZATIONS : 0,
          unreadable: 0,
        })),
      ),
  },
}

async function commands(): Promise<string[]> {
  const { stdout } = await runCli(['help'], {})
  return [...stdout.matchAll(/^ {2}bun run cli ([a-z-]+(?: [a-z][a-z-]*)*)/gm)].map(([, name]) => name!)
}

test('every command has a recipe for a cluster', async () => {
  expect((await commands()).sort()).toEqual(Object.keys(RECIPES).sort())
})

describe.skipIf(Boolean(WHY_NO_CLUSTER))(`on a cluster${WHY_NO_CLUSTER ? ` (${WHY_NO_CLUSTER})` : ''}`, () => {
  let database: TestDatabase
  let base: string
  let place: Place

  beforeAll(async () => {
    base = fs.mkdtempSync(path.join(os.tmpdir(), 'commands-'))
    fs.chmodSync(base, 0o711)
    database = await startApi()
    const desks: Organization[] = []
    for (let n = 0; n < ORGANIZATIONS; n++) {
      const desk = await createOrganization(`Desk ${n}`)
      await createWorld(desk, `Mark${n}`)
      desks.push(desk)
    }
    const invited = { email: 'ivy@customer.example', name: 'Ivy', role: 'agent' }
    const [first, second] = desks
    for (const { admin } of [first!, second!]) expect((await admin.post('/users', invited)).status).toBe(201)
    place = { desks, folder: path.join(base, 'export'), backup: path.join(base, 'backup') }
  })

  afterAll(async () => {
    fs.rmSync(BACKUP_TO, { recursive: true, force: true })
    await stopApi()
    fs.rmSync(base, { recursive: true, force: true })
  })

  for (const [name, recipe] of Object.entries(RECIPES)) {
    test(`the command ${name} works`, async () => {
      if (recipe.is_alone) {
        await closeDatabase(1)
        await waitForNoService(database.url)
      }
      const ended = await run(name, recipe)
      if (recipe.is_alone) connectDatabase(database.target, 5)
      const { code, stdout, stderr } = ended
      expect({ ended, is_right: (recipe.codes ?? [0]).includes(code!) }).toMatchObject({ is_right: true })
      if (code === 0) expect(stderr).toBe('')
      await recipe.expect?.(parsed(stdout), place, stdout)
    })
  }

  function run(name: string, { args, env }: Recipe): Promise<Ended> {
    return runCli([...name.split(' '), ...(args?.(place) ?? [])], {
      DATABASE_URL: database.url,
      SECRET_KEY,
      DATA_DIR: process.env.DATA_DIR!,
      DNS_SERVERS: process.env.DNS_SERVERS!,
      BASE_URL: 'https://desk.example',
      ...env,
    })
  }
})

/** The JSON values of lines, as far as they are. */
function parsed(stdout: string): unknown[] {
  try {
    return [JSON.parse(stdout)].flat()
  } catch {
    return stdout.split('\n').flatMap((line) => (/^[[{]/.test(line) ? [JSON.parse(line)].flat() : []))
  }
}
