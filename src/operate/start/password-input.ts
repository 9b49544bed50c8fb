/** Takes the password of a command from standard input: what stands on a command line can be read by everybody. */

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Options, UsageError } from './command-line'

/**
 * The password that `--<name>-stdin` or, with a warning, `--<name>` gives. On a terminal it is asked for without an
 * echo.
 * @returns undefined when neither option is there
 * @throws UsageError when it is not a password of ours
 */
export async function givenPassword(options: Options, name: string): Promise<string | undefined> {
  const shown = options[name]
  if (typeof shown === 'string') {
    process.stderr.write(`deskwire: everybody on this machine can read --${name}: use --${name}-stdin\n`)
    return checked(shown)
  }
  if (!options[`${name}-stdin`]) return undefined
  return checked(process.stdin.isTTY ? await askOnce() : ((await text(process.stdin)).split(/\r?\n/)[0] ?? ''))
}

function checked(password: string): string {
  if (password.length < 8 || password.length > 200) throw new UsageError('a password has 8 to 200 characters')
  return password
}

async function askOnce(): Promise<string> {
  process.stderr.write('Password: ')
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
