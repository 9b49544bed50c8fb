/**
 * The folder that the operator names. A command of root works as another OS user, who may have no way to the folder: so
 * it is entered first, and reached as the working directory from then on.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { BackupError, explained } from './backup-error'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Makes a folder for one backup or export and enters it. A signal from now on removes what was written.
 * @returns `discard`, which removes what was written and the folder itself unless it was there before; `keep`, after
 *   which a signal removes nothing
 * @throws BackupError when the folder is not empty or cannot be made
 */
export function enterNewFolder(folder: string, what: string): { discard(): void; keep(): void } {
  const is_new = !fs.existsSync(folder)
  try {
    if (is_new) fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    else if (!fs.statSync(folder).isDirectory()) throw new BackupError(`${folder} is not a folder`)
    else if (fs.readdirSync(folder).length > 0) throw new BackupError(`${folder} is not empty: name a new folder`)
    else fs.chmodSync(folder, 0o700)
    process.chdir(folder)
  } catch (error) {
    throw explained(error, what)
  }
  const { dev, ino } = fs.statSync('.')
  const keep = () => {
    for (const signal of SIGNALS) process.removeListener(signal, end)
  }
  const discard = () => {
    keep()
    const here = fs.statSync('.')
    // Nothing of another folder is ever removed.
    if (here.dev !== dev || here.ino !== ino) return
    for (const entry of fs.readdirSync('.')) fs.rmSync(entry, { recursive: true, force: true })
    if (is_new) removeIfAllowed(folder)
  }
  const end = (signal: NodeJS.Signals) => {
    discard()
    process.stderr.write(`deskwire: ${what} was stopped by ${signal}, nothing was kept\n`)
    // As shells report it.
    process.exit(128 + os.constants.signals[signal])
  }
  for (const signal of SIGNALS) process.once(signal, end)
  return { discard, keep }
}

/** Enters a folder to read it. @throws BackupError when that is not possible */
export function enterFolder(folder: string, what: string): void {
  if (!fs.existsSync(folder)) throw new BackupError(`there is no folder ${folder}`)
  try {
    if (!fs.statSync(folder).isDirectory()) throw new BackupError(`${folder} is not a folder`)
    process.chdir(folder)
  } catch (error) {
    throw explained(error, what)
  }
}

/** The user that root has become cannot remove a folder from one of root: an empty folder stays then. */
function removeIfAllowed(folder: string): void {
  try {
    process.chdir(path.dirname(folder))
    fs.rmdirSync(folder)
  } catch {
    // It is empty.
  }
}
