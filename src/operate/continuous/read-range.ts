/** Reads every object that the promised moments need, and compares its checksum and MAC. */
import { type Progress, startProgress } from '../../base/long-work'
import { isNothingThere } from '../../desk/attachments/store-faults'
import {
  type Base,
  type Chain,
  chainFolder,
  FILES,
  fileName,
  type Head,
  listName,
  logFolder,
  logName,
  type Manifest,
  partName,
} from './chain-manifest'
import { isProvable } from './choose-base'
import { readList } from './copied-files'
import { follows, isNeeded, isPiece } from './log-pieces'
import { DamagedBackupError } from './sealed'
import { readNamed, type Vault } from './vault'

/** Successive moments that can be restored, as far as reading tells. */
export type Span = { from_ms: number; to_ms: number }

type Range = {
  /** Those behind the last thing that is wrong. */
  spans: Span[]
  /** The faults, each in one line. */
  faults: string[]
}

/**
 * Reads copies, log and files. Copies of releases until 0.2, or of another SECRET_KEY, are left out: nothing tells them
 * from those of others.
 * @param until_ms end of the chain that is written to
 */
export async function readRange(
  whole: Vault,
  { chains }: Manifest,
  head: Head | undefined,
  until_ms: number,
): Promise<Range> {
  const range: Range = { spans: [], faults: [] }
  using progress = startProgress('check of the backup', { total: await countObjects(whole, chains), unit: 'objects' })
  const vault = counting(whole, progress)
  const is_old = chains.some(({ bases }) => bases.some((base) => !isProvable(base, vault)))
  for (const chain of chains) await readChain(vault, chain, head, until_ms, range)
  // A file may be named at any moment since.
  if (!(await readFiles(vault, is_old, range.faults))) range.spans = []
  return range
}

async function countObjects({ target }: Vault, chains: Chain[]): Promise<number> {
  let count = 0
  for (const folder of [...chains.map(({ id }) => chainFolder(id)), FILES])
    for await (const _ of target.list(folder)) count++
  return count
}

/** Counts the objects that are read. */
function counting(vault: Vault, progress: Progress): Vault {
  return {
    ...vault,
    async *read(name, accepted) {
      yield* vault.read(name, accepted)
      progress.add()
    },
  }
}

/** @returns false when something is wrong, which is noted */
async function noting(faults: string[], work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof DamagedBackupError)) throw error
    faults.push(error.message)
    return false
  }
}

async function readChain(
  vault: Vault,
  chain: Chain,
  head: Head | undefined,
  until_ms: number,
  range: Range,
): Promise<void> {
  const { faults } = range
  const end_ms = chain.ended_at ? Date.parse(chain.ended_at) : until_ms
  const end = head?.shipped?.chain === chain.id ? head.shipped.piece : chain.last
  const pieces = await piecesOf(vault, chain)
  for (const [index, base] of chain.bases.entries()) {
    if (!isProvable(base, vault)) continue
    const next = chain.bases[index + 1]
    const is_whole = await noting(faults, () => readBase(vault, chain, base))
    // The log of the last copy of a chain goes on until the end of that.
    const is_logged = await noting(faults, () => readLog(vault, chain, pieces, base, next?.log?.first, end))
    const span = { from_ms: Date.parse(base.ended_at), to_ms: next ? Date.parse(next.ended_at) : end_ms }
    range.spans = is_whole && is_logged ? [...range.spans, span] : []
  }
}

async function piecesOf(vault: Vault, { id }: Chain): Promise<string[]> {
  const listed = await Array.fromAsync(vault.target.list(logFolder(id)))
  return listed.map(({ name }) => name.slice(logName(id, '').length)).filter(isNeeded)
}

async function readBase(vault: Vault, chain: Chain, base: Base): Promise<void> {
  for (let part = 0; part < base.parts; part++) await readAll(readNamed(vault, partName(chain.id, base.id, part)))
  const there = vault.target.list(FILES)
  let at = await there.next()
  let missing = 0
  for await (const { key } of readList(readNamed(vault, listName(chain.id, base.id)))) {
    while (!at.done && at.value.name < fileName(key)) at = await there.next()
    if (at.done || at.value.name !== fileName(key)) missing++
  }
  if (missing === 0) return
  throw new DamagedBackupError(`the backup lacks ${missing} of the files of ${base.ended_at}`)
}

/** @param before the first piece that is read for the next copy @param end the last piece that the chain had */
async function readLog(
  vault: Vault,
  chain: Chain,
  pieces: string[],
  base: Base,
  before: string | undefined,
  end: string | undefined,
): Promise<void> {
  if (!base.log) return
  const { first, last } = base.log
  const least = [last, before ?? end ?? last].toSorted()[1]!
  let reached: string | undefined
  for (const piece of pieces) {
    if (isPiece(piece) && piece < first) continue
    if (isPiece(piece)) {
      if (reached ? !follows(piece, reached) : piece !== first) {
        throw new DamagedBackupError(`the backup is damaged: the log has a gap at ${reached ?? first}`)
      }
      reached = piece
    }
    await readAll(readNamed(vault, logName(chain.id, piece)))
    if (before !== undefined && reached !== undefined && reached >= least) return
  }
  if ((reached ?? '') >= least) return
  throw new DamagedBackupError(`the backup is damaged: the log until ${least} is missing`)
}

/** @param is_old moments of releases until 0.2 are still kept, whose files have no MAC @returns false for a fault */
async function readFiles(vault: Vault, is_old: boolean, faults: string[]): Promise<boolean> {
  let is_whole = true
  for await (const { name } of vault.target.list(FILES)) {
    const work = () => readAll(vault.read(name, is_old ? 'any' : undefined)).catch(unlessNothingThere)
    // One that is gone since was of no use. The lists of copies tell which are missing.
    is_whole = (await noting(faults, work)) && is_whole
  }
  return is_whole
}

function unlessNothingThere(error: unknown): void {
  if (!isNothingThere(error)) throw error
}

async function readAll(blocks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of blocks);
}
