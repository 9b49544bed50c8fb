/** Lets one service write to a target: another one, or another process of it, is kept out. */
import { version } from '../../../package.json'
import { config } from '../../base/config'
import { useSecrets } from '../../base/secrets'
import { BackupError } from '../backup/backup-error'
import { presentKeys } from '../backup/secret-keys'
import type { OpenChain } from './chain'
import {
  type Chain,
  type Head,
  type Manifest,
  readManifest,
  readWithHead,
  writeHead,
  writeManifest,
} from './chain-manifest'
import { keyFingerprints } from './key-fingerprints'
import { OtherKeyError } from './sealed'
import type { BackupState } from './state'
import { openTarget } from './target'
import { openVault, type Vault } from './vault'

/** The target is the backup of another service, or is not what it was. Nothing is written to it. */
export class ForeignTargetError extends BackupError {}

/** The target has an older manifest than the service wrote. */
export class OlderManifestError extends BackupError {
  constructor(
    place: string,
    readonly generation: number,
  ) {
    super(`the backup in ${place} has an older manifest than the one that was written: was its disk set back?`)
  }
}

/** The service that writes, as the target names it. */
export type Writer = { service: string; writer: string; postgresql: Manifest['postgresql'] }

/**
 * Opens the target of the settings. One that was written to is not begun anew: its disk may not be mounted.
 * @param state what the service noted; undefined when the operator gives it the target
 * @throws PassphraseError, ExchangedKeyError
 */
export function openOwnVault(if_empty: 'begin' | 'leave', state: Partial<BackupState> = {}): Promise<Vault> {
  const is_known = state.place === config.BACKUP_TO
  return openVault(openTarget(config.BACKUP_TO!), config.BACKUP_PASSPHRASE, is_known ? 'leave' : if_empty, {
    known_digest: is_known ? state.key_digest : undefined,
  })
}

/**
 * Takes the target for this process, when it is empty or this service's.
 * @throws ForeignTargetError; BackupError when what was written there before is away
 */
export async function claimTarget(vault: Vault, state: BackupState, writer: Writer): Promise<Manifest> {
  const is_known = state.place === vault.target.place
  const found = await readKnown(vault, is_known ? state : {})
  if (!found && is_known) {
    throw new BackupError(
      `the backup in ${state.place} has lost its manifest: is the right disk mounted? To begin anew, run cli backup adopt`,
    )
  }
  if (found) refuseForeign(vault, found, writer)
  const key = keyFingerprints()[0]!
  const before = found ?? { generation: 0, chains: [] }
  const manifest = { ...before, format: 2 as const, ...writer, release: version, key }
  return putManifest(vault, manifest, state.shipped)
}

/**
 * Writes a manifest with the next number, and the head.
 * @param shipped the last piece of the log that is there
 */
export async function putManifest(
  vault: Vault,
  manifest: Manifest,
  shipped: BackupState['shipped'],
): Promise<Manifest> {
  const next = { ...manifest, generation: manifest.generation + 1 }
  await writeManifest(vault, next)
  await writeHead(vault, { generation: next.generation, ...(shipped && { shipped }) })
  return next
}

/**
 * Reads a manifest that is at least as new as the service knows it. One without a MAC is taken once: that of an earlier
 * release.
 * @throws BackupError, DamagedBackupError; ForeignTargetError for one of another SECRET_KEY in a place that is new here
 */
async function readKnown(vault: Vault, { generation }: Partial<BackupState>): Promise<Manifest | undefined> {
  const { place } = vault.target
  const found = await readManifest(vault, generation === undefined ? 'any' : 'proven').catch((error) => {
    if (!(error instanceof OtherKeyError) || generation !== undefined) throw error
    throw new ForeignTargetError(`the backup in ${place} was made with another SECRET_KEY: name another place`)
  })
  if (!found || found.generation >= (generation ?? 0)) return found
  throw new OlderManifestError(place, found.generation)
}

/** Says in the target which piece of a chain is the last one there, when the manifest names the chain. */
export async function noteShipped(
  vault: Vault,
  { generation, chains }: Manifest,
  chain: OpenChain | undefined,
  state: BackupState,
): Promise<void> {
  if (!chain?.shipped || chain.shipped === state.shipped?.piece || chains.at(-1)?.id !== chain.id) return
  state.shipped = { chain: chain.id, piece: chain.shipped }
  await writeHead(vault, { generation, shipped: state.shipped })
}

/** Reads the manifest of a target that this process has. @throws ForeignTargetError when another one took it */
export async function readOwn(vault: Vault, writer: Writer, state: BackupState): Promise<Manifest> {
  const found = await readKnown(vault, state)
  if (!found) throw new BackupError(`the backup in ${vault.target.place} has lost its manifest`)
  refuseForeign(vault, found, writer)
  if (found.writer === writer.writer) return found
  throw new ForeignTargetError(
    `another process writes to the backup in ${vault.target.place}, perhaps from a copy of DATA_DIR: restart the service that is to have it`,
  )
}

/**
 * Opens the backup of this service to look at it.
 * @param state what the service noted
 * @throws BackupError, DamagedBackupError when there is none, or it is older than it was
 */
export async function openOwnBackup(
  state: BackupState | undefined,
): Promise<{ vault: Vault; manifest: Manifest; head: Head | undefined }> {
  useSecrets(...presentKeys())
  const vault = await openOwnVault('leave', state)
  const { place } = vault.target
  const found = await readWithHead(vault, () => readKnown(vault, state?.place === place ? state : {}))
  if (!found) throw new BackupError(`${place} holds no backup yet`)
  return { vault, ...found }
}

/**
 * Gives the target to this service, which was restored from it or comes after another.
 * @throws BackupError, also when it has the target already: a process of it that runs would have to stop writing
 */
export async function adoptTarget(vault: Vault, writer: Writer): Promise<Manifest> {
  const found = await readKnown(vault, {})
  if (found?.service === writer.service) {
    throw new BackupError(`the backup in ${vault.target.place} is this service's already`)
  }
  const keys = keyFingerprints()
  if (found && !keys.includes(found.key)) {
    throw new ForeignTargetError(
      `the backup in ${vault.target.place} was made with another SECRET_KEY: name another place`,
    )
  }
  const shipped = (await readWithHead(vault, async () => found).catch(() => undefined))?.head?.shipped
  const chains = (found?.chains ?? []).map((chain) => endedChain(chain, undefined, shipped))
  const generation = found?.generation ?? 0
  const adopted = { format: 2 as const, generation, ...writer, release: version, key: keys[0]!, chains }
  return putManifest(vault, adopted, undefined)
}

/** True when the last base copy was not sealed with the present SECRET_KEY, and a new one is due. */
export function isUnproven({ chains }: Manifest): boolean {
  const base = chains.at(-1)?.bases.at(-1)
  return base !== undefined && base.key !== keyFingerprints()[0]
}

/** A service that has written since is likely to live. One at rest writes each some minutes. */
const LIVING_MS = 900_000

/** Asks before a target is taken from another service that may still write. @throws BackupError */
export async function refuseLiving(vault: Vault, service: string): Promise<void> {
  const found = await readWithHead(vault, () => readKnown(vault, {})).catch(() => undefined)
  const age_ms = Date.now() - Date.parse(found?.head?.at ?? '')
  if (!found || found.manifest.service === service || !(age_ms < LIVING_MS)) return
  throw new BackupError(
    `another service wrote to the backup in ${vault.target.place} ${Math.ceil(age_ms / 1000)} seconds ago, and its backup ends when this one takes it. If that service is gone, run cli backup adopt --yes`,
  )
}

/** A chain that no more is written to. @param shipped the last piece of the log that is in the place */
export function endedChain(chain: Chain, until: string | undefined, shipped: BackupState['shipped']): Chain {
  if (chain.ended_at) return chain
  const last = shipped?.chain === chain.id ? { last: shipped.piece } : {}
  return { ...chain, ended_at: until ?? new Date().toISOString(), ...last }
}

function refuseForeign({ target }: Vault, found: Manifest, { service }: Writer): void {
  if (found.service === service) return
  throw new ForeignTargetError(
    `BACKUP_TO ${target.place} is the backup of another service: name another place, or run cli backup adopt if this ` +
      'service was restored from it or takes its place',
  )
}
