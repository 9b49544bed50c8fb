/** The secret keys of a backup, and how they meet those of the settings where it is restored. */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { SETTINGS } from '../../base/settings/table'
import type { Store } from '../../desk/attachments/store'
import { BackupError } from './backup-error'
import { KEY_FILES, type Manifest } from './manifest'
import { textOf } from './read-file'

/** Writes the keys of this service into the backup: the present one, and the previous one when it is set. */
export async function copySecretKeys(to: Store): Promise<Manifest['secret_keys']> {
  const keys = presentKeys()
  const files: Manifest['secret_keys'] = []
  for (const [index, file] of KEY_FILES.entries()) {
    const key = keys[index]
    if (!key) continue
    const { size, digest } = await to.put(file, Buffer.from(key))
    files.push({ file, size, sha256: digest })
  }
  return files
}

/** The keys of this service: the present one and the previous one. @throws BackupError when there is none */
export function presentKeys(): [current: string, previous?: string] {
  const { SECRET_KEY, SECRET_KEY_PREVIOUS } = config
  if (SECRET_KEY) return [SECRET_KEY, SECRET_KEY_PREVIOUS]
  const file = generatedFile()
  if (!fs.existsSync(file))
    throw new BackupError(`there is no secret key: ${file} is missing and SECRET_KEY is not set`)
  return [fs.readFileSync(file, 'utf8').trim(), SECRET_KEY_PREVIOUS]
}

function generatedFile(): string {
  return path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
}

/**
 * The keys that the restored service will have: those of the settings, else those of the backup.
 * @returns `generated` when the key of the backup is to be written to DATA_DIR
 * @throws BackupError when the settings name keys that do not open what is in the backup
 */
export async function keysAfterRestore({
  secret_keys,
}: Manifest): Promise<{ current: string; previous?: string; generated: boolean }> {
  const [key, former] = await Promise.all(secret_keys.map(({ file }) => textOf(file)))
  const set = [config.SECRET_KEY, config.SECRET_KEY_PREVIOUS]
  if (former && former !== key && !set.includes(former)) {
    throw new BackupError(
      'secrets in the backup may need SECRET_KEY_PREVIOUS: set it to the text in secret-key-previous',
    )
  }
  if (!config.SECRET_KEY) return { current: key!, previous: config.SECRET_KEY_PREVIOUS, generated: true }
  if (!set.includes(key)) {
    throw new BackupError('SECRET_KEY is not that of the backup: set it to the text in its file secret-key')
  }
  return { current: config.SECRET_KEY, previous: config.SECRET_KEY_PREVIOUS, generated: false }
}

/** Writes the key of a backup to where a start without SECRET_KEY reads it. */
export function writeGeneratedKey(key: string): void {
  fs.writeFileSync(generatedFile(), key, { mode: 0o600, flag: 'wx' })
}
