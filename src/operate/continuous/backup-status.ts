/** Says how the backup of this service is, from what is in the target and what the service noted. */
import { config } from '../../base/config'
import { explained } from '../backup/backup-error'
import { fullWords, unprovenWords } from './backup-words'
import { FILES } from './chain-manifest'
import { isUnproven, openOwnBackup } from './own-target'
import { readState, readVerified } from './state'
import type { Target } from './target'

type BackupStatus = {
  place: string
  is_encrypted: boolean
  base_copies: number
  last_base: string | null
  /** The moments that can be restored, perhaps with gaps. */
  restorable_from: string | null
  restorable_until: string | null
  behind_seconds: number | null
  waiting_bytes: number
  bytes: { base_copies: number; log: number; files: number }
  files: number
  verified_at: string | null
  /** All moments since then were proven to be whole at `verified_at`, as far as there is no gap. */
  proven_since: string | null
  faults: string[]
}

/** @throws BackupError when the target cannot be read */
export async function backupStatus(): Promise<BackupStatus> {
  try {
    const state = readState()
    const { vault, manifest } = await openOwnBackup(state)
    const verified = readVerified()
    const bases = manifest.chains.flatMap((chain) => chain.bases)
    // A service with an external database may have noted nothing on this machine.
    const is_ours = state?.service === manifest.service
    // A copy can be restored to its end, also when no more is noted yet.
    const until = is_ours ? [state.covered_until ?? '', bases.at(-1)?.ended_at ?? ''].toSorted()[1] : undefined
    return {
      place: vault.target.place,
      is_encrypted: vault.key_digest !== null,
      base_copies: bases.length,
      last_base: bases.at(-1)?.ended_at ?? null,
      restorable_from: bases[0]?.ended_at ?? null,
      restorable_until: until ?? null,
      behind_seconds: until ? Math.round((Date.now() - Date.parse(until)) / 1000) : null,
      waiting_bytes: state?.waiting_bytes ?? 0,
      ...(await measureTarget(vault.target)),
      verified_at: verified && !verified.fault ? verified.at : null,
      proven_since: laterOf(verified?.proven_since, bases[0]?.ended_at),
      faults: [
        ...(is_ours ? [] : ['the backup is that of another service']),
        ...[
          unprovenWords(isUnproven(manifest)),
          await fullWords(),
          state?.error,
          state?.given_up_why,
          verified?.fault,
        ].filter((each) => each !== undefined),
      ],
    }
  } catch (error) {
    throw explained(error, 'the look at the backup')
  }
}

/** A moment that is no longer kept is not proven. */
function laterOf(proven_since: string | undefined, from: string | undefined): string | null {
  if (!proven_since || !from) return null
  return proven_since > from ? proven_since : from
}

/** True when more may be missing from the backup than the settings allow. */
export function isBehind({ behind_seconds }: BackupStatus): boolean {
  return behind_seconds === null || behind_seconds > 2 * config.BACKUP_LAG_SECONDS
}

async function measureTarget(target: Target): Promise<Pick<BackupStatus, 'bytes' | 'files'>> {
  const bytes = { base_copies: 0, log: 0, files: 0 }
  let files = 0
  for await (const { name, size } of target.list('chains'))
    bytes[name.split('/')[2] === 'log' ? 'log' : 'base_copies'] += size
  for await (const { size } of target.list(FILES)) {
    bytes.files += size
    files++
  }
  return { bytes, files }
}
