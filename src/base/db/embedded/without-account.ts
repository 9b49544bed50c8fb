/**
 * Lets initdb run for an OS user without an account, as a container may have. initdb and the `postgres --single` that
 * it starts look up the account of their user, and fail without one. They do so even when `-U` names the superuser. So
 * copies of them run, which look up the first account of the system instead. In a copy the imported function `getpwuid`
 * becomes `getpwent`: its name is as long, it returns the same type, and it takes no argument. The server itself needs
 * no account and runs unchanged.
 *
 * Tried: libnss-wrapper, which no image of Bun and hardly any machine has, and only root can install; a user namespace,
 * which container engines refuse. Both fail "any uid makes the embedded database" in
 * tests/operate/start/any-uid.test.ts.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { hasAccount } from '../../process/accounts'
import { asUser } from './file-user'
import type { Home } from './home'

const ASKED = Buffer.from('\0getpwuid\0')
const ANSWERED = Buffer.from('\0getpwent\0')

/**
 * Calls `work` with the folder of programs that make a database as the server's user.
 * @param programs the folder of the installed ones
 */
export function withoutAccount<T>(home: Home, programs: string, work: (programs: string) => T): T {
  const uid = home.user?.uid ?? process.geteuid?.()
  if (process.platform !== 'linux' || uid === undefined || hasAccount(uid)) return work(programs)
  const folder = asUser(home.user, () => {
    // One that was killed has left its copies.
    for (const name of fs.readdirSync(home.dir).filter((name) => name.startsWith('initdb-'))) {
      fs.rmSync(path.join(home.dir, name), { recursive: true, force: true })
    }
    // initdb looks for `postgres` by a shell, whose quotes it does not escape.
    const places = [home.dir, os.tmpdir(), '/tmp'].filter((place) => /^[\w./+-]+$/.test(place))
    return makeFolderIn(places.length > 0 ? places : [home.dir])
  })
  try {
    const bin = path.join(folder, 'bin')
    asUser(home.user, () => fs.mkdirSync(bin))
    for (const name of ['lib', 'share']) {
      asUser(home.user, () => fs.symlinkSync(path.resolve(programs, '..', name), path.join(folder, name)))
    }
    for (const name of ['initdb', 'postgres']) {
      const bytes = asksForNone(fs.readFileSync(path.join(programs, name)))
      asUser(home.user, () => fs.writeFileSync(path.join(bin, name), bytes, { mode: 0o700, flag: 'wx' }))
    }
    return work(bin)
  } finally {
    asUser(home.user, () => fs.rmSync(folder, { recursive: true, force: true }))
  }
}

/** Makes a folder in the first place where that is allowed. */
function makeFolderIn([place, ...others]: string[]): string {
  try {
    return fs.mkdtempSync(path.join(place!, 'initdb-'))
  } catch (error) {
    if (others.length === 0) throw error
    return makeFolderIn(others)
  }
}

function asksForNone(program: Buffer): Buffer {
  for (let at = program.indexOf(ASKED); at >= 0; at = program.indexOf(ASKED, at)) ANSWERED.copy(program, at)
  return program
}
