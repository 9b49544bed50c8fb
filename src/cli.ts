/** Operator commands (decisions.md section 10): `bun run cli <command>`. They work beside a running service. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isEmailAddress } from './address/email'
import { hashPassword } from './auth/password'
import { CONFIG_EXIT_CODE, ConfigError, config, ignoreProxies } from './config'
import { EmbeddedError } from './db/embedded/supervise'
import { MigrationError } from './db/migrate'
import { connection } from './db/pool'
import type { Connection } from './db/transact'
import { safeError } from './log'
import { createOrganization } from './organizations/commands'
import { generatedPassword } from './organizations/first'
import { drainOutbox } from './outbox/drain'
import { outboxStats, retryOutbox } from './outbox/operate'
import type { OutboxKind } from './outbox/wake'
import { isUuid } from './shapes/ids'
import { openDatabase } from './start/database'
import { diagnose } from './start/doctor'
import { closeHandlers, HANDLERS } from './start/outbox-handlers'
import { checkAuthorities } from './start/preflight'

type Options = Record<string, string | undefined>
type Command = {
  usage: string
  /** Connections to the database, 2 unless told. */
  pool_size?: number
  /** Makes the embedded database when there is none yet; what only reads or operates would answer from an empty one. */
  create?: boolean
  /** What is printed: one JSON line. */
  run(options: Options, connection: Connection): Promise<unknown>
}

/** Between looks at the outbox while it is drained. */
const ROUND_MS = 100

/** A wrong call: its message is one line. */
class UsageError extends Error {}

const COMMANDS: Record<string, Command> = {
  'organization create': {
    usage: '--name NAME --admin-email EMAIL [--admin-name NAME] [--admin-password PASSWORD]',
    create: true,
    async run(options, connection) {
      const name = required(options, 'name')
      const email = requiredEmail(options, 'admin-email')
      const password = options['admin-password'] ?? generatedPassword()
      requirePassword(password)
      const admin = { email, name: options['admin-name'] ?? email.split('@')[0]!, password }
      const created = await createOrganization(connection, { name, admin })
      const shown = created.is_new_account && options['admin-password'] === undefined ? { password } : {}
      return { id: created.id, name, admin: { ...created.admin, ...shown } }
    },
  },
  'organization list': {
    usage: '',
    run: (_options, { sql }) => sql`
      select o.id, o.name, o.created_at, (
        select count(*) from memberships m where m.organization_id = o.id and m.removed_at is null
      ) as members
      from organizations o order by o.id`,
  },
  'user password': {
    usage: '--email EMAIL [--password PASSWORD]',
    async run(options, connection) {
      const email = requiredEmail(options, 'email')
      const password = options.password ?? generatedPassword()
      requirePassword(password)
      const id = await setPassword(connection, email, password)
      return { id, email, ...(options.password === undefined && { password }) }
    },
  },
  migrate: { usage: '', create: true, run: async () => ({ migrated: true }) },
  'outbox stats': { usage: '', run: (_options, connection) => outboxStats(connection) },
  'outbox retry': {
    usage: '--organization ID',
    async run(options, connection) {
      const organization_id = required(options, 'organization')
      if (!isUuid(organization_id)) throw new UsageError('--organization must be a UUID')
      return { due_now: await retryOutbox(connection, organization_id.toLowerCase()) }
    },
  },
  'outbox drain': {
    usage: '',
    pool_size: config.DATABASE_POOL,
    run: (_options, connection) => drain(connection),
  },
  doctor: { usage: '', run: (_options, connection) => diagnose(connection) },
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    const is_for_operator = [UsageError, EmbeddedError, MigrationError, ConfigError].some(
      (kind) => error instanceof kind,
    )
    process.stderr.write(`deskwire: ${is_for_operator ? error.message : JSON.stringify(safeError(error))}\n`)
    process.exit(error instanceof ConfigError ? CONFIG_EXIT_CODE : 1)
  },
)

async function main(args: string[]): Promise<void> {
  const name = [args.slice(0, 2).join(' '), args[0] ?? ''].find((candidate) => candidate in COMMANDS)
  if (!name) throw new UsageError(`unknown command\n${usage()}`)
  const options = readOptions(args.slice(name.split(' ').length), COMMANDS[name]!.usage)
  const { create = false, pool_size = 2, run } = COMMANDS[name]!
  const database = await openDatabase({ shared: true, create, pool_size })
  try {
    const result = await run(options, connection())
    const lines = Array.isArray(result) ? result : [result]
    for (const line of lines) process.stdout.write(`${JSON.stringify(line)}\n`)
  } finally {
    await database.close()
  }
}

function readOptions(args: string[], usage: string): Options {
  const names = [...usage.matchAll(/--([a-z-]+)/g)].map(([, name]) => name!)
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
    return parseArgs({ args, options }).values as Options
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'wrong options')
  }
}

function usage(): string {
  const lines = Object.entries(COMMANDS).map(([name, { usage }]) => `  bun run cli ${name} ${usage}`.trimEnd())
  return ['Commands:', ...lines].join('\n')
}

function required(options: Options, name: string): string {
  const value = options[name]?.trim()
  if (!value) throw new UsageError(`--${name} is required`)
  return value
}

function requiredEmail(options: Options, name: string): string {
  const email = required(options, name)
  if (!isEmailAddress(email)) throw new UsageError(`--${name} must be an email address`)
  return email
}

function requirePassword(password: string): void {
  if (password.length < 8 || password.length > 200) throw new UsageError('a password has 8 to 200 characters')
}

/**
 * Works off everything that is due, beside a running service or without one, until nothing is.
 * @returns how many attempts were settled, by kind
 */
async function drain(connection: Connection): Promise<Record<OutboxKind, number>> {
  ignoreProxies()
  checkAuthorities()
  const settled = { webhook: 0, email: 0, inbound: 0 }
  const isDue = async () => (await outboxStats(connection)).some(({ due }) => due > 0)
  // What others were just looking at when we came by is left to the next round.
  for (; await isDue(); await sleep(ROUND_MS)) {
    await drainOutbox(connection, HANDLERS, { on_settled: (kind) => settled[kind]++ })
  }
  await closeHandlers()
  return settled
}

/** Ends the account's refresh tokens too. */
async function setPassword({ sql }: Connection, email: string, password: string): Promise<string> {
  const password_hash = await hashPassword(password)
  const [user] = await sql<{ id: string }[]>`
    with changed as (
      update users set password_hash = ${password_hash}, updated_at = now()
      where lower(email) = lower(${email}) returning id
    ), ended as (
      delete from refresh_tokens where user_id in (select id from changed)
    )
    select id from changed`
  if (!user) throw new UsageError(`there is no account with the email ${email}`)
  return user.id
}
