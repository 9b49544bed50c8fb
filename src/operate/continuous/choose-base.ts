/** Chooses the base copy from which a moment is restored. */
import { BackupError } from '../backup/backup-error'
import type { Base, Chain, Manifest } from './chain-manifest'

export type Chosen = { chain: Chain; base: Base & Required<Pick<Base, 'log'>>; last: string | undefined }

/**
 * @param until_ms the moment; the last one when undefined
 * @returns the base copy, and the last piece of the log that the moment can be in, when that is known
 * @throws BackupError saying which moments there are
 */
export function chooseBase({ chains }: Manifest, until_ms: number | undefined, place: string): Chosen {
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
  return { chain, base: { ...base, log }, last: next?.chain === chain ? next.log.last : undefined }
}

/** The copy before one in its chain, which can be restored to the same moment: the log goes on from there. */
export function baseBefore({ chain, base, last }: Chosen): Chosen | undefined {
  const index = chain.bases.findIndex(({ id }) => id === base.id)
  const before = chain.bases[index - 1]
  return before?.log && { chain, base: { ...before, log: before.log }, last }
}
