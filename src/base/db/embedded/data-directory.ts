/** PostgreSQL's data directory: makes it on the first start, and checks later that this PostgreSQL can use it. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { bareEnvironment } from '../../process/child'
import { EmbeddedError } from './faults'
import { asUser } from './file-user'
import type { Home } from './home'
import { withoutAccount } from './without-account'

/** Parameters of postgresql.conf. */
export type Settings = Record<string, string>

/** The superuser of the database. It owns all that is in it. */
export const OWNER = 'deskwire'

const MAJOR = '18'

/** @throws EmbeddedError when the folder holds something else, or cannot be made */
export function prepareData(home: Home, programs: string, settings: Settings): void {
  asUser(home.user, () => isOurs(home.data)) || createData(home, programs, settings)
  asUser(home.user, () => fs.chmodSync(home.data, 0o700))
}

/** @returns false when there is no data yet */
function isOurs(data: string): boolean {
  const version_file = path.join(data, 'PG_VERSION')
  if (fs.existsSync(version_file)) {
    const version = fs.readFileSync(version_file, 'utf8').trim()
    if (version === MAJOR) return true
    throw new EmbeddedError(
      `${data} was made by PostgreSQL ${version} and this is ${MAJOR}: move the data with pg_dump, or set DATABASE_URL`,
    )
  }
  if (fs.existsSync(data) && fs.readdirSync(data).length > 0) {
    throw new EmbeddedError(`${data} is neither empty nor a PostgreSQL data directory`)
  }
  return false
}

/** Only a finished directory gets the name: an interrupted first start leaves none that looks like one. */
function createData(home: Home, programs: string, settings: Settings): void {
  const unfinished = `${home.data}.new`
  const remove = () => asUser(home.user, () => fs.rmSync(unfinished, { recursive: true, force: true }))
  remove()
  asUser(home.user, () => fs.mkdirSync(unfinished, { mode: 0o700 }))
  // Nobody but the owner of the folder can connect until there are passwords (`access.ts`).
  const args = ['-D', unfinished, '-U', OWNER, '-A', 'trust', '-E', 'UTF8', '--no-instructions']
  // Needs no locale of the operating system, and knows upper and lower case of all letters.
  args.push('--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8')
  if (settings.fsync === 'off') args.push('--no-sync')
  const result = withoutAccount(home, programs, (own) =>
    spawnSync(`${own}/initdb`, args, { ...home.user, cwd: '/', env: bareEnvironment(), encoding: 'utf8' }),
  )
  if (result.status !== 0) {
    remove()
    // The first error is the reason, the others follow from it.
    const reason = result.error ? result.error.message : errorsIn(result.stderr).at(0)
    throw new EmbeddedError(`the database cannot be created: ${reason}`)
  }
  asUser(home.user, () => {
    fs.rmSync(home.data, { recursive: true, force: true })
    fs.renameSync(unfinished, home.data)
  })
}

/**
 * The lines that PostgreSQL's programs mark as errors; the last line when no line is marked. Connections that a server
 * refuses before it is ready are left out.
 */
export function errorsIn(output: string): string[] {
  const lines = output
    .trim()
    .split('\n')
    .filter((line) => !line.includes('FATAL:  the database system is '))
  const errors = lines.filter((line) => /(FATAL|PANIC|error):/.test(line))
  return (errors.length > 0 ? errors : lines.slice(-1)).map((line) => line.replace(/^.*?(FATAL|PANIC|error):\s*/, ''))
}
