/**
 * Gives files to another OS user while others may change the folders that they are in. Every file is opened first,
 * never through a link, judged by what was opened, and changed through the descriptor: a name can be moved, a
 * descriptor cannot.
 */
import fs from 'node:fs'
import path from 'node:path'
import { type OsUser, sharedIds } from '../../process/accounts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
/**
 * O_PATH of Linux, which Node has no name for: a descriptor that opens nothing, so that pipes and devices do not act.
 */
const O_PATH = 0o10000000

/**
 * Gives a file, or a folder with all that is in it, to `user`. Only what belongs to the former owner, by default root
 * or `nobody`, changes hands. A folder closes to everybody else at first and changes hands after all that is in it:
 * after a kill the next call goes on.
 */
export function giveTo(user: OsUser, file: string, former?: OsUser): void {
  const there = fs.lstatSync(file)
  const change = { user, from: former ? new Set([0, former.uid]) : sharedIds() }
  if (there.isDirectory()) giveFolder(change, file)
  else if (there.isFile()) giveFile(change, file)
}

type Change = { user: OsUser; from: ReadonlySet<number> }

/** @param reach where it can be opened: below the descriptor of its folder */
function giveFolder(change: Change, reach: string): void {
  const { user, from } = change
  const folder = fs.openSync(reach, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    if (from.has(fs.fstatSync(folder).uid)) {
      fs.fchownSync(folder, 0, 0)
      fs.fchmodSync(folder, 0o700)
    }
    const inside = process.platform === 'linux' ? `/proc/self/fd/${folder}` : reach
    for (const entry of fs.readdirSync(inside, { withFileTypes: true })) {
      const inner = path.join(inside, entry.name)
      if (entry.isDirectory()) giveFolder(change, inner)
      else if (entry.isFile()) giveFile(change, inner)
    }
    if (from.has(fs.fstatSync(folder).uid)) fs.fchownSync(folder, user.uid, user.gid)
  } finally {
    fs.closeSync(folder)
  }
}

/** A second name of a file could be anywhere on the disk: a file of root with one is left alone. */
function giveFile({ user, from }: Change, reach: string): void {
  const flags = process.platform === 'linux' ? O_PATH | O_NOFOLLOW : O_RDONLY | O_NOFOLLOW | O_NONBLOCK
  const file = fs.openSync(reach, flags)
  try {
    const { uid, nlink } = fs.fstatSync(file)
    if (!from.has(uid) || (uid === 0 && nlink > 1)) return
    if (process.platform === 'linux') fs.chownSync(`/proc/self/fd/${file}`, user.uid, user.gid)
    else fs.fchownSync(file, user.uid, user.gid)
  } finally {
    fs.closeSync(file)
  }
}

/** Gives one folder to `owner` with a mode, and nothing that is in it. A link in its place is an error. */
export function giveFolderAlone(owner: OsUser, dir: string, mode: number): void {
  const folder = fs.openSync(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    fs.fchownSync(folder, owner.uid, owner.gid)
    fs.fchmodSync(folder, mode)
  } finally {
    fs.closeSync(folder)
  }
}
