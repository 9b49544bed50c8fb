/**
 * Copies the whole embedded database while it is in use: PostgreSQL's low-level backup (`pg_backup_start`), because the
 * package of the embedded server has no pg_basebackup. What changes meanwhile is mended by the log from `first` to
 * `last`. The copy is slowed down, so that it leaves the disk and the processor to the service.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionOptions } from '../../base/db/connection-url'
import type { Home } from '../../base/db/embedded/home'
import { withSession } from '../../base/db/session'
import { type Base, partName } from './chain-manifest'
import { archiveOf, partsOf } from './data-files'
import type { Vault } from './vault'

/** Bytes of the database that are read in a second. */
const PACE_BYTES = 16 * 1024 * 1024

type Options = {
  home: Home
  /** The superuser's connection. */
  owner: ConnectionOptions
  vault: Vault
  chain_id: string
  base_id: string
  signal: AbortSignal
  /** Is told the first piece of the log that the copy needs, before anything is copied. */
  onBegin(first: string): void
}

/** What the manifest says of a copy of the database. */
type Copied = Required<Pick<Base, 'ended_at' | 'log' | 'parts' | 'bytes'>>

/** Makes a base copy. Its files are in the target when it resolves; the manifest does not name it yet. */
export function copyBase(options: Options): Promise<Copied> {
  const { home, owner, vault, chain_id, base_id, signal, onBegin } = options
  return withSession(owner, async (sql) => {
    const [begun] = await sql.unsafe<{ first: string }[]>(
      "select pg_walfile_name(pg_backup_start('deskwire', fast => true)) as first",
    )
    onBegin(begun!.first)
    const pace = pacer(signal)
    const parts = await partsOf(home.data)
    for (const [index, files] of parts.entries()) {
      await vault.put(partName(chain_id, base_id, index), archiveOf(home.data, files, pace))
    }
    const [ended] = await sql.unsafe<{ label: string; last: string }[]>(
      'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(wait_for_archive => false)',
    )
    const bytes = parts.flat().reduce((sum, { size }) => sum + size, 0)
    const log = { first: begun!.first, last: ended!.last, label: ended!.label }
    return { ended_at: new Date().toISOString(), log, parts: parts.length, bytes }
  })
}

/** Waits until so many bytes may have been read. @throws the reason of the signal */
export type Pace = (bytes: number) => Promise<void>

/** Makes one for a copy that begins now. */
export function pacer(signal: AbortSignal): Pace {
  const started_ms = performance.now()
  let sum = 0
  return async (bytes) => {
    signal.throwIfAborted()
    sum += bytes
    const early_ms = (sum / PACE_BYTES) * 1000 - (performance.now() - started_ms)
    if (early_ms > 20) await sleep(early_ms, undefined, { signal })
  }
}
