/** PostgreSQL's data directory: makes it on the first start, and checks later that this PostgreSQL can use it. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { namedUser, type OsUser } from '../../process/accounts'
import { bareEnvironment } from '../../process/child'
import { EmbeddedError } from './faults'
import { asUser } from './file-user'
import type { Home } from './home'
import { giveTo } from './ownership'

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
  const result = withAccount(home, unfinished, (user) =>
    spawnSync(`${programs}/initdb`, args, { ...user, cwd: '/', env: bareEnvironment(), encoding: 'utf8' }),
  )
  if (result.status !== 0) {
    remove()
    // The first error is the reason, the others follow from it.
    const reason = errorsIn(result.stderr).at(0)
    throw new EmbeddedError(`the database cannot be created: ${withoutAccount(reason, home.dir) ?? reason}`)
  }
  asUser(home.user, () => {
    fs.rmSync(home.data, { recursive: true, force: true })
    fs.renameSync(unfinished, home.data)
  })
}

/** What to do when the user has no account: only root can lend one to initdb. */
function withoutAccount(reason: string | undefined, dir: string): string | undefined {
  if (!reason?.includes('could not look up effective user ID')) return undefined
  const uid = process.geteuid?.()
  return (
    `OS user ${uid} has no account, which PostgreSQL needs to make one: as root, useradd --uid ${uid} desk${uid}. ` +
    `In a container, run as user 1000, after chown -R 1000:1000 ${dir}`
  )
}

/**
 * Runs `work` as the server's user. When that user has no account, `work` runs as one that has: the folder belongs to
 * that one for the time, and the folders around it open to the group of the server's user.
 */
function withAccount<T>(home: Home, folder: string, work: (user: OsUser | undefined) => T): T {
  const { user, dir } = home
  const named = user && namedUser(user)
  if (!user || !named || named.uid === user.uid) return work(user)
  const around = [path.dirname(dir), dir].filter((outer) => fs.statSync(outer).uid === user.uid)
  const setMode = (mode: number) => asUser(user, () => around.forEach((outer) => void fs.chmodSync(outer, mode)))
  setMode(0o710)
  try {
    giveTo(named, folder, user)
    return work(named)
  } finally {
    giveTo(user, folder, named)
    setMode(0o700)
  }
}

/** The lines that PostgreSQL's programs mark as errors; the last line when no line is marked. */
export function errorsIn(output: string): string[] {
  const lines = output.trim().split('\n')
  const errors = lines.filter((line) => /(FATAL|PANIC|error):/.test(line))
  return (errors.length > 0 ? errors : lines.slice(-1)).map((line) => line.replace(/^.*?(FATAL|PANIC|error):\s*/, ''))
}
