/** The folder in which the embedded PostgreSQL lives: finds or makes it, with the OS user that owns it. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { log } from '../../log'
import { type OsUser, sharedIds, userBehind } from '../../process/accounts'
import { makePrivateFolder } from '../../process/private-folder'
import { EmbeddedError } from './faults'
import { canEnter, linkOnce, makePrivate, userOf } from './os-user'

export type Home = {
  /** Private folder (0700) of the server's OS user: data, locks, log. */
  dir: string
  /** PostgreSQL's data directory. */
  data: string
  /** Private folder of the Unix socket. */
  socket_dir: string
  /** Names the socket. */
  port: number
  /** The OS user that the server runs as; undefined for the one that the service runs as. */
  user: OsUser | undefined
}

/** `sun_path` has 108 bytes on Linux and 104 on macOS, with the closing NUL. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107

/**
 * Finds or makes the server's folder, `<data_dir>/postgres`.
 * @throws EmbeddedError when this user or folder does not allow it
 */
export function prepareHome(data_dir: string, port: number): Home {
  const dir = findHome(data_dir) ?? makeHome(data_dir)
  const user = userOf(dir)
  if (user) letIn(path.resolve(data_dir), user)
  return { dir, data: path.join(dir, 'data'), socket_dir: socketFolder(dir, port, user), port, user }
}

/** The existing folder with all links resolved, because PostgreSQL and we must call it by the same name. */
function findHome(data_dir: string): string | undefined {
  const link = path.join(data_dir, 'postgres')
  if (!fs.lstatSync(link, { throwIfNoEntry: false })) return undefined
  if (!fs.existsSync(link)) {
    throw new EmbeddedError(`the database of ${data_dir} is missing: ${link} points to ${fs.readlinkSync(link)}`)
  }
  // A link that root made is trusted. Another one could lead to anything, whose files would then change hands.
  if (process.getuid?.() === 0 && fs.lstatSync(link).isSymbolicLink() && fs.lstatSync(link).uid !== 0) {
    throw new EmbeddedError(`${link} is a link that root has not made`)
  }
  return fs.realpathSync(link)
}

function makeHome(data_dir: string): string {
  makePrivateFolder(data_dir)
  const dir = path.join(fs.realpathSync(data_dir), 'postgres')
  if (process.getuid?.() !== 0) {
    makePrivate(dir, undefined)
    return dir
  }
  const user = userBehind(fs.statSync(data_dir))
  letIn(data_dir, user)
  if (canEnter(data_dir, user)) {
    makePrivate(dir, user)
    return dir
  }
  return makeHomeElsewhere(data_dir, dir, user)
}

/** Puts the data where the server's user can reach it, with a link to it: DATA_DIR is under a closed folder (/root). */
function makeHomeElsewhere(data_dir: string, link: string, user: OsUser): string {
  const elsewhere = fs.mkdtempSync('/var/lib/deskwire-')
  makePrivate(elsewhere, user)
  if (linkOnce(elsewhere, link)) {
    log.warn({ database: elsewhere }, `the database is kept outside of ${data_dir}, which its OS user cannot enter`)
  } else {
    fs.rmdirSync(elsewhere)
  }
  return fs.realpathSync(link)
}

/** Opens a DATA_DIR that only root may enter to the group of the server's user, and to nobody else. */
function letIn(data_dir: string, user: OsUser) {
  const { uid, gid, mode } = fs.statSync(data_dir)
  if (uid !== 0 || !sharedIds().has(gid) || (mode & 0o007) !== 0) return
  fs.chownSync(data_dir, 0, user.gid)
  fs.chmodSync(data_dir, 0o710)
}

/** The folder itself, or a short private one when the socket's path would not fit. */
function socketFolder(dir: string, port: number, user: OsUser | undefined): string {
  const fits = (folder: string) => Buffer.byteLength(`${folder}/.s.PGSQL.${port}`) <= MAX_SOCKET_PATH_BYTES
  if (fits(dir)) return dir
  const hash = createHash('sha256').update(`${dir}\n${user?.uid}`).digest('hex')
  const name = `deskwire-${hash.slice(0, 16)}`
  const folder = [os.tmpdir(), '/tmp'].map((parent) => path.join(parent, name)).find(fits)
  if (!folder) throw new EmbeddedError(`the path of DATA_DIR is too long for a Unix socket: ${dir}`)
  makePrivate(folder, user)
  return folder
}
