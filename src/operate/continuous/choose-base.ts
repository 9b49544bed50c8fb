/** Chooses the base copy from which a moment is restored. */
import { BackupError } from '../backup/backup-error'
import type { Base, Chain, Head, Manifest } from './chain-manifest'
import { keyFingerprints } from './key-fingerprints'
import type { Vault } from './vault'

export type Chosen = {
  chain: Chain
  base: Base & Required<Pick<Base, 'log'>>
  /** The last piece of the log that the moment can be in, when that is known. */
  last: string | undefined
  /** The last piece that the chain had when that was noted. */
  end: string | undefined
}

/**
 * @param until_ms the moment; the last one when undefined
 * @param head what was written last
 * @throws BackupError saying which moments there are
 */
export function chooseBase(
  { chains }: Manifest,
  until_ms: number | undefined,
  place: string,
  head?: Pick<Head, 'shipped'>,
): Chosen {
  const all = chains.flatMap((chain) => chain.bases.flatMap((base) => (base.log ? { chain, base, log: base.log } : [])))
  const [first] = all
  if (!first) throw new BackupError(`the backup in ${place} holds no complete copy of a database yet`)
  const index =
    until_ms === undefined ? all.length - 1 : all.findLastIndex(({ base }) => Date.parse(base.ended_at) <= until_ms)
  const chosen = all[index]
  if (!chosen) throw new BackupError(`the backup in ${place} begins at ${first.base.ended_at}: --until is before that`)
  const { chain, base, log } = chosen
  const next = all[index + 1]
  if (until_ms !== undefined && chain.ended_at && until_ms > Date.parse(chain.ended_at)) {
    const after = next ? `, and from ${next.base.ended_at}` : ''
    throw new BackupError(
      `the backup in ${place} holds moments until ${chain.ended_at}${after}, and not that of --until`,
    )
  }
  const end = head?.shipped?.chain === chain.id ? head.shipped.piece : chain.last
  return { chain, base: { ...base, log }, last: next?.chain === chain ? next.log.last : undefined, end }
}

/** True when the objects of a copy can be told from those that somebody else made. */
export function isProvable({ key }: Pick<Base, 'key'>, { key_digest }: Vault): boolean {
  return key === undefined ? key_digest !== null : keyFingerprints().includes(key)
}

/** The copy before one in its chain, which can be restored to the same moment: the log goes on from there. */
export function baseBefore({ chain, base, ...ends }: Chosen): Chosen | undefined {
  const index = chain.bases.findIndex(({ id }) => id === base.id)
  const before = chain.bases[index - 1]
  return before?.log && { chain, base: { ...before, log: before.log }, ...ends }
}
