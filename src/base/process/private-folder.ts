/** Makes folders that only the service may enter. */
import fs from 'node:fs'
import path from 'node:path'

/**
 * Makes a folder with mode 0700. Missing folders above it get the usual mode, so that other OS users get through them.
 */
export function makePrivateFolder(folder: string): void {
  const above = path.dirname(folder)
  if (!fs.existsSync(above)) fs.mkdirSync(above, { recursive: true })
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
}
