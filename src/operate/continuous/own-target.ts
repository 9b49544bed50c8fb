/** Lets one service write to a target: another one, or another process of it, is kept out. */
import { version } from '../../../package.json'
import { config } from '../../base/config'
import { BackupError } from '../backup/backup-error'
import { type Manifest, readManifest, writeManifest } from './chain-manifest'
import { type BackupState, keyFingerprints } from './state'
import { openTarget } from './target'
import { openVault, type Vault } from './vault'

/** The target is the backup of another service, or is not what it was. Nothing is written to it. */
export class ForeignTargetError extends BackupError {}

/** What the service is that writes. */
export type Writer = { service: string; writer: string; postgresql: Manifest['postgresql'] }

/** Opens the target of the settings. @throws PassphraseError */
export function openOwnVault(if_empty: 'begin' | 'leave'): Promise<Vault> {
  return openVault(openTarget(config.BACKUP_TO!), config.BACKUP_PASSPHRASE, if_empty)
}

/**
 * Takes the target for this process, when it is empty or this service's.
 * @throws ForeignTargetError; BackupError when what was written there before is away
 */
export async function claimTarget(vault: Vault, state: BackupState, writer: Writer): Promise<Manifest> {
  const found = await readManifest(vault)
  if (!found && state.place === vault.target.place) {
    throw new BackupError(
      `the backup in ${state.place} has lost its manifest: is the right disk mounted? To begin anew, run cli backup adopt`,
    )
  }
  if (found) refuseForeign(vault, found, writer)
  const key = keyFingerprints()[0]!
  const manifest = { ...(found ?? { format: 1 as const, chains: [] }), ...writer, release: version, key }
  await writeManifest(vault, manifest)
  return manifest
}

/** Reads the manifest of a target that this process has. @throws ForeignTargetError when another one took it */
export async function readOwn(vault: Vault, writer: Writer): Promise<Manifest> {
  const found = await readManifest(vault)
  if (!found) throw new BackupError(`the backup in ${vault.target.place} has lost its manifest`)
  refuseForeign(vault, found, writer)
  if (found.writer === writer.writer) return found
  throw new ForeignTargetError(
    `another process writes to the backup in ${vault.target.place}, perhaps from a copy of DATA_DIR`,
  )
}

/** Gives the target to this service, which was restored from it or comes after another. @throws BackupError */
export async function adoptTarget(vault: Vault, writer: Writer): Promise<void> {
  const found = await readManifest(vault)
  const keys = keyFingerprints()
  if (found && !keys.includes(found.key)) {
    throw new ForeignTargetError(
      `the backup in ${vault.target.place} was made with another SECRET_KEY: name another place`,
    )
  }
  const now = new Date().toISOString()
  const chains = (found?.chains ?? []).map((chain) => ({ ...chain, ended_at: chain.ended_at ?? now }))
  await writeManifest(vault, { ...writer, release: version, key: keys[0]!, chains })
}

function refuseForeign({ target }: Vault, found: Manifest, { service }: Writer): void {
  if (found.service === service) return
  throw new ForeignTargetError(
    `BACKUP_TO ${target.place} is the backup of another service: name another place, or run cli backup adopt if this ` +
      'service was restored from it or takes its place',
  )
}
