/**
 * The generated password of the first admin. It is kept in a file until a terminal has shown it, because a start may
 * fail after the account was made, and because the output of a service without a terminal is a log, which holds no
 * secrets.
 */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { log, safeError } from '../../base/log'
import { makePrivateFolder } from '../../base/process/private-folder'

/** Where it is kept, readable for the OS user of the service alone. */
export function passwordFile(): string {
  return path.join(config.DATA_DIR, 'admin-password')
}

/** Keeps the password. Where no file can be written, a line of the log says how to set another one. */
export function keepPassword(password: string): void {
  try {
    makePrivateFolder(config.DATA_DIR)
    fs.rmSync(passwordFile(), { force: true })
    fs.writeFileSync(passwordFile(), `${password}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const why = safeError(error).code ?? 'error'
    log.warn(
      { why },
      'the generated password of the first admin cannot be kept: set one with `bun run cli user password`',
    )
  }
}

/** The password, while it is kept. */
export function keptPassword(): string | undefined {
  return fs.existsSync(passwordFile()) ? fs.readFileSync(passwordFile(), 'utf8').trim() : undefined
}

/** Deletes the file. */
export function forgetPassword(): void {
  fs.rmSync(passwordFile(), { force: true })
}
