/** Finds where the log of a chain goes on after a start, and whether pieces of it are missing. */
import type { Session } from '../../base/db/session'
import { type Chain, logFolder, logName } from './chain-manifest'
import { follows, isPiece, placeOf } from './log-pieces'
import type { Vault } from './vault'

/** A chain that the log is written to. */
export type OpenChain = {
  id: string
  /** The first piece that it needs. */
  first: string
  /** The last piece that is in the target. */
  shipped: string | undefined
}

/**
 * @param names what waits on this disk, in the order of the log
 * @returns undefined when the log between the target and this server has a gap: a new chain is to begin
 */
export async function resumeChain(
  chain: Chain | undefined,
  vault: Vault,
  names: string[],
  sql: Session,
): Promise<OpenChain | undefined> {
  const first = chain?.bases[0]?.log?.first
  if (!chain || chain.ended_at || !first) return undefined
  const shipped = await lastPiece(vault, chain.id, first)
  if (!shipped) return undefined
  const [now] = await sql<{ piece: string }[]>`select pg_walfile_name(pg_current_wal_insert_lsn()) as piece`
  const [from, to] = [placeOf(shipped), placeOf(now!.piece)]
  // A server that is behind the target was set back, to a snapshot of its disk.
  if (from.timeline !== to.timeline || from.number > to.number) return undefined
  const waiting = names.filter((name) => isPiece(name) && placeOf(name).number > from.number)
  const is_whole = waiting.every((name, index) => follows(name, index === 0 ? shipped : waiting[index - 1]!))
  const last = placeOf(waiting.at(-1) ?? shipped).number
  return is_whole && last >= to.number - 1 ? { id: chain.id, first, shipped } : undefined
}

/** The last piece of the log that a chain has. @returns undefined when one before it is missing */
async function lastPiece(vault: Vault, chain_id: string, first: string): Promise<string | undefined> {
  let last: string | undefined
  for await (const { name } of vault.target.list(logFolder(chain_id))) {
    const piece = name.slice(logName(chain_id, '').length)
    if (!isPiece(piece) || piece < first) continue
    if (last ? !follows(piece, last) : piece !== first) return undefined
    last = piece
  }
  return last
}
