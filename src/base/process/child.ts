/** How the service runs the programs that come with it: without its secrets, and without the rights of root. */
import { spawnSync } from 'node:child_process'
import { type OsUser, serviceUser } from './accounts'

/**
 * The environment of such a program. The service's own holds its secrets, and every process of a user may read the
 * environment of that user's other processes.
 * @param more names of variables that are passed on too
 */
export function bareEnvironment(...more: string[]): Record<string, string> {
  const kept = ['PATH', 'LANG', 'TZ', ...more].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(kept)
}

/** True when a program exits with 0, run as the user, or as our own when there is none. Its output is dropped. */
export function runs(program: string, args: string[], user: OsUser | undefined): boolean {
  return spawnSync(program, args, { ...user, cwd: '/', env: bareEnvironment(), stdio: 'ignore' }).status === 0
}

/** True when the user can run Bun, read all the files, and pass through the folder. */
export function canReadAsBun(user: OsUser, files: string[], folder = '/'): boolean {
  const check = 'test -x "$1" && shift && test -x "$1" && shift && for file; do test -r "$file" || exit 1; done'
  return runs('/bin/sh', ['-c', check, 'sh', process.execPath, folder, ...files], user)
}

const runners = new Map<string, OsUser | undefined>()

/**
 * The user to run a script of the service as.
 * @returns undefined for the service's own, also when root is in a place that no other user can read
 */
export function runnerOf(script: string): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  if (!runners.has(script)) {
    const user = serviceUser()
    runners.set(script, canReadAsBun(user, [script]) ? user : undefined)
  }
  return runners.get(script)
}
