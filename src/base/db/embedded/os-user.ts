/** Folders and programs as an OS user reaches them: what may be entered, run and made private. */
import fs from 'node:fs'
import { type OsUser, userBehind } from '../../process/accounts'
import { runs } from '../../process/child'
import { EmbeddedError, isErrno } from './faults'

/**
 * The user to run the server as.
 * @returns the user behind the folder's owner when the service runs as root; undefined for the user that it runs as
 * @throws EmbeddedError when that user cannot be had
 */
export function userOf(dir: string): OsUser | undefined {
  const own_uid = process.getuid?.()
  const owner = fs.statSync(dir)
  if (own_uid === 0) return userBehind(owner)
  if (owner.uid === own_uid) return undefined
  throw new EmbeddedError(
    `${dir} belongs to OS user ${owner.uid}, this is user ${own_uid}: start as root, or as root chown -R ${own_uid}:${process.getgid?.()} ${dir}`,
  )
}

/** True when the user has the permission to enter the folder and all folders above it. */
export function canEnter(dir: string, user: OsUser): boolean {
  return runs('/bin/sh', ['-c', 'cd -- "$1"', 'sh', dir], user)
}

/**
 * Makes a folder that only the user may enter; the user's own existing one becomes such a folder.
 * @throws EmbeddedError when another user put something at this name, which anybody could foresee
 */
export function makePrivate(dir: string, user: OsUser | undefined): void {
  try {
    fs.mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants
  const there = fs.lstatSync(dir)
  if (!there.isDirectory() || (there.uid !== process.getuid?.() && there.uid !== user?.uid)) {
    throw new EmbeddedError(`${dir} is needed for the database and belongs to OS user ${there.uid}`)
  }
  // Another folder may have the name by now: what counts is the one that was opened.
  const folder = fs.openSync(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    if (fs.fstatSync(folder).ino !== there.ino) throw new EmbeddedError(`${dir} was replaced while it was prepared`)
    if (user) fs.fchownSync(folder, user.uid, user.gid)
    fs.fchmodSync(folder, 0o700)
  } finally {
    fs.closeSync(folder)
  }
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
