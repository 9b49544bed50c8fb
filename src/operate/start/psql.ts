/** Opens the database in psql for statements of the operator. */
import { spawn } from 'node:child_process'
import { type ConnectionOptions, forPrograms } from '../../base/db/connection-url'
import { OperatorError } from '../../base/errors'
import { bareEnvironment } from '../../base/process/child'
import type { Command } from './command-line'
import { openAsItIs } from './database'
import { dropRoot } from './drop-root'

const NOT_INSTALLED =
  'psql is not installed: install it (Debian: apt-get install postgresql-client), as root inside a container, and try again'

export const PSQL_COMMAND: Command = {
  name: 'psql',
  options: '...',
  meaning: 'Opens the database in psql, which must be installed, with any arguments of psql.',
  needs: 'nothing',
  run: (_options, args) => openPsql(args),
}

/** The program has ended with this status, and has said why. */
class ProgramEnded extends OperatorError {
  constructor(override readonly exit_code: number) {
    super(`psql ended with ${exit_code}`)
  }
}

/**
 * Runs psql with the arguments on the database of the service, as its owner. The embedded database is started unless a
 * service runs it.
 * @throws ProgramEnded; OperatorError when psql is not installed
 */
async function openPsql(args: string[]): Promise<void> {
  const was_root = process.getuid?.() === 0
  await dropRoot('refuse')
  const { target, close } = await openAsItIs('refuse')
  try {
    const status = await runProgram(args, target, was_root && process.getuid?.() !== 0)
    if (status === undefined) throw new OperatorError(NOT_INSTALLED)
    if (status !== 0) throw new ProgramEnded(status)
  } finally {
    await close()
  }
}

/** @returns the exit status; undefined when there is no such program */
async function runProgram(
  args: string[],
  target: string | ConnectionOptions,
  is_other_user: boolean,
): Promise<number | undefined> {
  // Ctrl-C ends the statement, not this process and with it the server.
  const ignore = () => {}
  process.on('SIGINT', ignore)
  const own = bareEnvironment('HOME', 'TERM', 'PAGER', 'EDITOR', 'PSQLRC', 'LC_ALL', 'COLUMNS')
  // The home of root is closed to the user that this process has become.
  if (is_other_user) Object.assign(own, { HOME: '/', PSQL_HISTORY: '/dev/null' })
  const { place, env } = typeof target === 'string' ? placeOfUrl(target) : placeOfSocket(target)
  const child = spawn('psql', [...place, ...args], { stdio: 'inherit', env: { ...own, ...env } })
  const status = await new Promise<number | undefined>((resolve) => {
    child.on('error', () => resolve(undefined))
    child.on('close', (code) => resolve(code ?? 1))
  })
  process.removeListener('SIGINT', ignore)
  return status
}

/**
 * Where psql finds the database. Other users of the machine may read the arguments of a program, but not its
 * environment.
 */
type Place = { place: string[]; env: Record<string, string> }

function placeOfUrl(target: string): Place {
  const { url, password, options } = forPrograms(target)
  return { place: ['-d', url], env: { PGOPTIONS: options, ...(password !== undefined && { PGPASSWORD: password }) } }
}

function placeOfSocket({ path: socket, database, username, password }: ConnectionOptions): Place {
  const [, folder, port] = /^(.*)\/\.s\.PGSQL\.(\d+)$/.exec(String(socket)) ?? []
  const place = ['-h', folder!, '-p', port!, '-U', String(username), '-d', String(database)]
  return { place, env: { PGPASSWORD: String(password) } }
}
