/**
 * The OS user that PostgreSQL's server runs as. PostgreSQL refuses to run as root, so a service that runs as root
 * starts it as the owner of its folder: `nobody` when the folder is new.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { EmbeddedError, isErrno } from './faults'

export type OsUser = { uid: number; gid: number }

/** The user for a new folder when the service runs as root. @throws EmbeddedError when the machine has no `nobody` */
export function unprivilegedUser(): OsUser {
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(fs.readFileSync('/etc/passwd', 'utf8'))
  if (!line) throw new EmbeddedError('PostgreSQL does not run as root and there is no OS user nobody: set DATABASE_URL')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

/**
 * The user that an existing folder wants.
 * @returns the owner of the folder when the service runs as root; undefined for the user that the service runs as
 * @throws EmbeddedError when that user cannot be had, or cannot enter the folder
 */
export function userOf(dir: string): OsUser | undefined {
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

/** True when the user has the permission to enter the folder and all folders above it. */
export function canEnter(dir: string, user: OsUser): boolean {
  return runs('/bin/sh', ['-c', 'cd -- "$1"', 'sh', dir], user)
}

/** True when a program exits with 0, run as the user, or as our own when there is none. Its output is dropped. */
export function runs(program: string, args: string[], user: OsUser | undefined): boolean {
  return spawnSync(program, args, { ...user, cwd: '/', stdio: 'ignore' }).status === 0
}

/**
 * Makes a folder that only the user may enter; an existing one becomes such a folder.
 * @throws EmbeddedError when another user put something at this name, which anybody could foresee
 */
export function makePrivate(dir: string, user: OsUser | undefined): void {
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

/**
 * Makes a symbolic link unless there is one.
 * @returns false when another process, which starts at the same time, was first
 */
export function linkOnce(target: string, link: string): boolean {
  try {
    fs.symlinkSync(target, link)
    return true
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
    return false
  }
}
