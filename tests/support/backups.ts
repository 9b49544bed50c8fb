/** Backups in tests: the operator's command as a separate process, empty databases, and all that a database holds. */
import { spyOn } from 'bun:test'
import { spawn } from 'node:child_process'
import path from 'node:path'
import postgres from 'postgres'
import { type Config, config, readConfig } from '../../src/base/config'
import { useSecrets } from '../../src/base/secrets'
import { runOnServer, withDatabase } from './on-server'
import { withSettings } from './settings'

const CLI = path.join(import.meta.dirname, '../../src/cli.ts')

export type Ended = { code: number | null; stdout: string; stderr: string }

/** Starts a command of the operator. @param env its settings @param input what it may read */
export function startCli(args: string[], env: Record<string, string>, input = '') {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: path.dirname(CLI),
    env: { PATH, HOME, TMPDIR, LOG_LEVEL: 'warn', ...env },
    stdio: 'pipe',
  })
  child.stdin.end(input)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, ...output })))
  return { process: child, ended }
}

/** Runs a command of the operator to its end. */
export function runCli(args: string[], env: Record<string, string>, input?: string): Promise<Ended> {
  return startCli(args, env, input).ended
}

/** Runs a command on a database that prints one JSON value a line. @param more settings */
export async function runOn(url: string, args: string[], more: Record<string, string> = {}, input?: string) {
  const own = { DATABASE_URL: url, SECRET_KEY: 'a secret key that only tests use', DATA_DIR: config.DATA_DIR }
  const { stdout, ...ended } = await runCli(args, { ...(process.env as typeof more), ...own, ...more }, input)
  const lines = stdout.split('\n').filter(Boolean)
  return { ...ended, lines: lines.map((line) => JSON.parse(line)) }
}

/**
 * Does the work of a command in this process, which starts in a fraction of a command's time. Not for the embedded
 * database.
 * @param env the settings of the command
 */
export async function runHere<T>(env: Record<string, string>, work: () => Promise<T>): Promise<T> {
  const folder = process.cwd()
  const settings: Config = readConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent', ...env })
  using _ = withSettings(settings)
  // The process of the tests must not become another user.
  const uid = spyOn(process, 'getuid').mockReturnValue(1000)
  try {
    return await work()
  } finally {
    uid.mockRestore()
    process.chdir(folder)
    useSecrets('a secret key that only tests use')
  }
}

/** Makes databases without anything in them, all of a role that is no superuser. */
export class EmptyDatabases {
  readonly #server: string
  readonly #role = `owner_${crypto.randomUUID().replaceAll('-', '')}`
  readonly #names: string[] = []

  /** @param server URL of any database of the server */
  constructor(server: string) {
    this.#server = server
  }

  async create(): Promise<string> {
    const name = `empty_${crypto.randomUUID().replaceAll('-', '')}`
    await runOnServer(this.#server, async (sql) => {
      if (this.#names.length === 0) await sql.unsafe(`create role ${this.#role} login password 'owner'`)
      await sql`create database ${sql(name)} owner ${sql(this.#role)} template template0`
    })
    this.#names.push(name)
    const url = new URL(withDatabase(this.#server, name))
    url.username = this.#role
    url.password = 'owner'
    return url.href
  }

  async drop(): Promise<void> {
    await runOnServer(this.#server, async (sql) => {
      for (const name of this.#names) await sql`drop database if exists ${sql(name)} with (force)`
      if (this.#names.length > 0) await sql`drop role ${sql(this.#role)}`
    })
  }
}

/**
 * All rows of all tables, with generated columns, in one text for each table; the sequences; and all that makes the
 * schema: columns, indexes, constraints, triggers, functions.
 */
export async function contentsOf(url: string): Promise<Record<string, unknown>> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const contents: Record<string, unknown> = {}
    const tables = await sql`
      select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
        and relname <> 'event_feeds' -- a restore changes it: cursors of before end
      order by relname`
    for (const { relname } of tables) {
      const [rows] = await sql`
        select count(*)::int as n, string_agg(t::text, E'\n' order by t::text) as rows from ${sql(relname)} t`
      contents[relname] = rows
    }
    contents.sequences = [
      ...(await sql`select sequencename, last_value from pg_sequences where last_value is not null order by 1`),
    ]
    contents.schema = [
      ...(await sql`
        select 'column' as kind, table_name as name, column_name || ' ' || data_type || is_nullable ||
          coalesce(column_default, '') || is_generated || is_identity as definition
        from information_schema.columns where table_schema = 'public'
        union all select 'index', c.relname, pg_get_indexdef(i.indexrelid)
        from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'public'::regnamespace
        union all select 'constraint', conname, pg_get_constraintdef(oid)
        from pg_constraint where connamespace = 'public'::regnamespace
        union all select 'trigger', tgname, tgenabled::text || pg_get_triggerdef(oid)
        from pg_trigger where not tgisinternal
        union all select 'function', p.proname, pg_get_functiondef(p.oid)
        from pg_proc p where pronamespace = 'public'::regnamespace and not exists (
          select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
        union all select 'settings', relname, array_to_string(reloptions, ',')
        from pg_class where relnamespace = 'public'::regnamespace and reloptions is not null
        order by 1, 2, 3`),
    ]
    return contents
  } finally {
    await sql.end()
  }
}
