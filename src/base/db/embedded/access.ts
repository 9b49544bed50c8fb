/**
 * Decides who gets into the embedded PostgreSQL: two roles, both with a password. The owner is a superuser and is used
 * to make the database and to migrate it. The service's role reads and writes rows, and can do nothing else.
 *
 * The passwords come from a file beside the data that only the server's user can read. A database of an earlier release
 * asked for none: the start that finds one lets the owner in without a password, sets both, and then asks for them. A
 * start that is killed in between leaves a database whose next start does the same.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { OWNER } from './data-directory'
import { isErrno } from './faults'
import { asUser } from './file-user'
import type { Home } from './home'

/** The options that postgres.js needs to connect. */
export type Connection = { path: string; database: string; username: string; password: string }

/** Reads and writes rows for the service. */
export const SERVICE = 'deskwire_service'

/** The connection of a role. Its password is empty as long as the database has none. */
export function connectionTo(home: Home, username: typeof OWNER | typeof SERVICE): Connection {
  const socket = `${home.socket_dir}/.s.PGSQL.${home.port}`
  const secret = readSecret(home)
  return {
    path: socket,
    database: 'deskwire',
    username,
    password: secret ? createHmac('sha256', secret).update(username).digest('base64url') : '',
  }
}

/**
 * Makes the secret when there is none. Opens the database to its owner when its passwords do not come from the secret.
 */
export function prepareAccess(home: Home): void {
  if (!readSecret(home)) writeWhole(home, secretFile(home), randomBytes(32).toString('base64url'))
  if (!asksForPasswords(home)) writeWhole(home, rulesFile(home), `local all ${OWNER} trust\n`)
}

/** Sets the passwords of a running database that does not ask for them yet, and makes it ask. */
export async function closeAccess(home: Home): Promise<void> {
  if (asksForPasswords(home)) return
  const owner = connectionTo(home, OWNER)
  const sql = postgres({ ...owner, database: 'postgres', max: 1, onnotice: () => {} })
  try {
    // The passwords are 256 bits at random: repeated hashing would add nothing, and cost each connection 3 ms.
    await sql`set scram_iterations = 1`
    const [found] = await sql`select 1 from pg_roles where rolname = ${SERVICE}`
    if (!found) await sql`create role ${sql(SERVICE)} login`
    for (const { username, password } of [owner, connectionTo(home, SERVICE)]) {
      // The statement takes no parameters.
      const [alter] = await sql<{ statement: string }[]>`
        select format('alter role %I password %L', ${username}::text, ${password}::text) as statement`
      await sql.unsafe(alter!.statement)
    }
    writeWhole(home, rulesFile(home), rules(readSecret(home)))
    await sql`select pg_reload_conf()`
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function asksForPasswords(home: Home): boolean {
  return readOwn(home, rulesFile(home)) === rules(readSecret(home))
}

/** The lines of pg_hba.conf. The hash tells if the passwords in the database come from the secret. */
function rules(secret: string): string {
  const anywhere = ['local all all', 'host all all 127.0.0.1/32', 'host all all ::1/128']
  const hash = createHash('sha256').update(secret).digest('hex')
  return [`# passwords of ${hash}`, ...anywhere.map((who) => `${who} scram-sha-256`), ''].join('\n')
}

function readSecret(home: Home): string {
  return readOwn(home, secretFile(home))
}

function secretFile(home: Home): string {
  return path.join(home.dir, 'password')
}

function rulesFile(home: Home): string {
  return path.join(home.data, 'pg_hba.conf')
}

/** @returns the empty text when there is no such file */
function readOwn(home: Home, file: string): string {
  try {
    return asUser(home.user, () => fs.readFileSync(file, 'utf8'))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return ''
    throw error
  }
}

/** Replaces a file. After a crash of the machine it has the old text or the new. */
function writeWhole(home: Home, file: string, text: string): void {
  asUser(home.user, () => {
    const partial = `${file}.new`
    fs.rmSync(partial, { force: true })
    fs.writeFileSync(partial, text, { mode: 0o600, flag: 'wx', flush: true })
    fs.renameSync(partial, file)
  })
}
