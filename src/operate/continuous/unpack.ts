/** Puts a base copy and its log where a PostgreSQL server recovers from them. */
import fs from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import path from 'node:path'
import type { Home } from '../../base/db/embedded/home'
import { giveTo } from '../../base/db/embedded/ownership'
import { startProgress } from '../../base/long-work'
import { BackupError } from '../backup/backup-error'
import { logFolder, logName, partName } from './chain-manifest'
import type { Chosen } from './choose-base'
import { unpackArchive, writeConfiguration } from './data-files'
import { follows, isNeeded, isPiece, PIECE_BYTES, placeOf } from './log-pieces'
import type { Recovered } from './recover'
import { DamagedBackupError } from './sealed'
import { readNamed, type Vault } from './vault'

/** Bytes that are written at once, or left out when all of them are zero. */
const STEP_BYTES = 65_536

export type Unpacked = {
  /** The last piece of the log that is there. */
  last: string
  /** The fault of the log behind it. */
  fault: DamagedBackupError | undefined
}

/**
 * Fills the data directory.
 * @throws BackupError, DamagedBackupError when no moment can be restored
 */
export async function unpackBase(vault: Vault, home: Home, chosen: Chosen): Promise<Unpacked> {
  const { chain, base, last } = chosen
  const { pieces, gap } = await listPieces(vault, chosen)
  const total = base.bytes + pieces.length * PIECE_BYTES
  await requireSpace(home.dir, total)
  using progress = startProgress('restore of the database', { total, unit: 'bytes' })
  fs.rmSync(home.data, { recursive: true, force: true })
  fs.mkdirSync(home.data, { mode: 0o700 })
  for (let part = 0; part < base.parts; part++) {
    await unpackArchive(progress.through(readNamed(vault, partName(chain.id, base.id, part))), home.data)
  }
  writeConfiguration(home.data)
  fs.writeFileSync(path.join(home.data, 'backup_label'), base.log.label, { mode: 0o600 })
  fs.writeFileSync(path.join(home.data, 'recovery.signal'), '', { mode: 0o600 })
  let fault = gap
  let reached = ''
  for (const name of pieces) {
    try {
      const content = progress.through(readNamed(vault, logName(chain.id, name)))
      await writePiece(path.join(home.data, 'pg_wal', name), content)
    } catch (error) {
      if (!(error instanceof DamagedBackupError)) throw error
      fault = error
    }
    if (fault && fault !== gap) break
    if (isPiece(name)) reached = name
    if (last !== undefined && isPiece(name) && name >= last) break
  }
  if (reached < base.log.last) {
    throw fault ?? new DamagedBackupError(`the backup is damaged: the log of the copy of ${base.ended_at} is missing`)
  }
  if (home.user) giveTo(home.user, home.data)
  return { last: reached, fault }
}

/**
 * Makes sure that all of the log was replayed which is to be: a server takes a piece that does not go on where the one
 * before ended for the end of the log.
 * @throws DamagedBackupError
 */
export function requireAll(
  { last, fault }: Unpacked,
  { is_all, last_number }: Pick<Recovered, 'is_all' | 'last_number'>,
): void {
  if (!is_all) return
  if (fault) throw fault
  if (last_number >= placeOf(last).number) return
  throw new DamagedBackupError(`the backup is damaged: the log cannot be replayed until its last piece ${last}`)
}

/** The log from the base copy on, until its end or a gap. */
async function listPieces(
  vault: Vault,
  { chain, base, end }: Chosen,
): Promise<{ pieces: string[]; gap: DamagedBackupError | undefined }> {
  const pieces: string[] = []
  let before: string | undefined
  for await (const { name } of vault.target.list(logFolder(chain.id))) {
    const piece = name.slice(logName(chain.id, '').length)
    if (!isNeeded(piece) || (isPiece(piece) && piece < base.log.first)) continue
    if (isPiece(piece)) {
      const is_next = before ? follows(piece, before) : piece === base.log.first
      if (!is_next) {
        const lost = before ?? base.log.first
        return { pieces, gap: new DamagedBackupError(`the backup is damaged: the log has a gap at ${lost}`) }
      }
      before = piece
    }
    pieces.push(piece)
  }
  if (end !== undefined && (before ?? '') < end) {
    const gap = new DamagedBackupError(`the backup is damaged: the log until ${end} is missing`)
    return { pieces, gap }
  }
  return { pieces, gap: undefined }
}

/** Most of a piece that was completed by time is zero, and takes no space. */
async function writePiece(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    let at = 0
    for await (const block of content) {
      for (let from = 0; from < block.length; from += STEP_BYTES) {
        const step = block.subarray(from, from + STEP_BYTES)
        if (step.some((byte) => byte !== 0)) await handle.write(step, 0, step.length, at)
        at += step.length
      }
    }
    await handle.truncate(at)
    await handle.sync()
  } catch (error) {
    fs.rmSync(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** @throws BackupError when the disk has no room */
async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize > bytes) return
  const [needed, free] = [bytes, bavail * bsize].map((n) => `${Math.ceil(n / 1_000_000)} MB`)
  throw new BackupError(`the disk of ${folder} has ${free} free, and the restore may need ${needed}`)
}
