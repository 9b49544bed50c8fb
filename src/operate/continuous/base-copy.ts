/**
 * Copies the whole embedded database while it is in use: PostgreSQL's low-level backup (`pg_backup_start`), because the
 * package of the embedded server has no pg_basebackup. What changes meanwhile is mended by the log from `first` to
 * `last`. The copy is slowed down, so that it leaves the disk and the processor to the service.
 */
import { randomUUID } from 'node:crypto'
import type { ConnectionOptions } from '../../base/db/connection-url'
import type { Home } from '../../base/db/embedded/home'
import { withSession } from '../../base/db/session'
import { type Base, listName, partName } from './chain-manifest'
import { type CopiedFiles, linesOfNames, readList } from './copied-files'
import { archiveOf, partsOf } from './data-files'
import { keyFingerprints } from './key-fingerprints'
import { pacer } from './pace'
import type { Vault } from './vault'

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

/**
 * Makes a base copy with the files of its rows.
 * @param place the database, with the rights of its owner
 * @param database undefined when only files are backed up
 * @param files `which` of them are copied, as `copyMissing` says
 */
export async function copyWhole(
  place: string | ConnectionOptions,
  database: Pick<Options, 'home' | 'owner'> | undefined,
  options: Pick<Options, 'vault' | 'chain_id' | 'signal' | 'onBegin'>,
  files: { copied: CopiedFiles; which: 'all' | 'lacking' },
): Promise<Base> {
  const { vault, chain_id, signal } = options
  const started_at = new Date().toISOString()
  const id = randomUUID()
  const list = listName(chain_id, id)
  await withSession(place, (sql) => vault.put(list, linesOfNames(sql)))
  const copied = database && (await copyBase({ ...database, ...options, base_id: id }))
  await files.copied.copyMissing(readList(vault.read(list)), vault, pacer(signal), files.which)
  const key = keyFingerprints()[0]!
  return { id, started_at, ended_at: new Date().toISOString(), parts: 0, bytes: 0, key, ...copied }
}

/** The entry of the manifest about a copy of the database. */
type Copied = Required<Pick<Base, 'ended_at' | 'log' | 'parts' | 'bytes'>>

/** Makes a base copy. Its files are in the target when it resolves; the manifest does not name it yet. */
function copyBase(options: Options): Promise<Copied> {
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
