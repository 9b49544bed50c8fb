/** Work that only root can do before the embedded database runs as another OS user. */
import fs from 'node:fs'
import path from 'node:path'
import { EmbeddedError } from './faults'
import { type Home, prepareHome } from './home'
import { canEnter } from './os-user'
import { giveTo } from './ownership'
import { linkLibraries, nativeFolder } from './programs'
import { waitForFormerServer } from './server'
import { becomeOwner } from './service-lock'

const LOCKS = ['service.lock', 'server.lock']

/**
 * Gives the folder to the server's user when it belongs to root, which has copied or restored it, or to `nobody`, the
 * user of the server in earlier releases. Waits until no process uses the folder.
 * @throws EmbeddedError when the folder stays in use
 */
export async function takeOver(home: Home): Promise<void> {
  const { dir, user } = home
  const { uid } = fs.statSync(dir)
  if (!user || uid === user.uid) return
  // The group of the new owner lets it through DATA_DIR.
  const owner = { uid, gid: user.gid }
  const former = { ...home, user: owner }
  // Earlier releases made the locks as root.
  const locks = LOCKS.map((name) => path.join(dir, name)).filter((lock) => fs.existsSync(lock))
  for (const lock of locks) giveTo(owner, lock)
  const service_lock = await becomeOwner(former)
  const server_lock = await waitForFormerServer(former)
  giveTo(user, dir)
  for (const lock of [server_lock, service_lock]) if (lock !== undefined) fs.closeSync(lock)
}

/** @throws EmbeddedError when the user that root runs the server as cannot enter the folder */
export function checkEntry({ dir, user }: Home): void {
  if (!user || canEnter(dir, user)) return
  throw new EmbeddedError(`OS user ${user.uid} runs the database but cannot enter ${dir}: open its parents (chmod o+x)`)
}

/**
 * Does for a process that is about to become the server's user what only root can do: gives it the folder, and links
 * the libraries.
 * @throws EmbeddedError with one line for the operator
 */
export async function prepareForUser(data_dir: string): Promise<void> {
  const home = prepareHome(data_dir, 5432)
  await takeOver(home)
  // The user cannot write to packages of root, and would have to copy them.
  linkLibraries(await nativeFolder())
}
