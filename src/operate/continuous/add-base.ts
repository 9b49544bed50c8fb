/** Adds a base copy to the manifest, when all that it needs is in the target. */
import { log } from '../../base/log'
import type { Base, Manifest } from './chain-manifest'
import { placeOf } from './log-pieces'
import { endedChain, isUnproven, openOwnVault, putManifest, readOwn, type Writer } from './own-target'
import { keptChains } from './prune'
import type { BackupState } from './state'
import type { Vault } from './vault'

export type MadeBase = { chain_id: string; base: Base }

/** The log that a base copy needs is in the target. @param shipped the last piece that is there */
export function isWhole({ log: needed }: Base, shipped: string | undefined): boolean {
  return !needed || (shipped !== undefined && placeOf(shipped).number >= placeOf(needed.last).number)
}

/**
 * Writes the manifest with the copy, and without those that no kept moment needs.
 * @param state is told what the backup has now
 * @param piece the last piece of its chain that is in the target
 */
export async function addBase(
  vault: Vault,
  writer: Writer,
  state: BackupState,
  { chain_id, base }: MadeBase,
  piece: string | undefined,
): Promise<Manifest> {
  // Opens it anew, as a restore will: another process may have taken it, or changed its key.
  const own = await readOwn(await openOwnVault('leave', state), writer, state)
  const known = own.chains.find(({ id }) => id === chain_id)
  const chains = known
    ? own.chains.map((chain) => (chain === known ? { ...chain, bases: [...chain.bases, base] } : chain))
    : [
        ...own.chains.map((chain) => endedChain(chain, state.covered_until, state.shipped)),
        { id: chain_id, bases: [base], ended_at: null },
      ]
  const shipped = piece === undefined ? undefined : { chain: chain_id, piece }
  const manifest = await putManifest(vault, { ...own, chains: keptChains(chains, Date.now()) }, shipped)
  Object.assign(state, {
    ...{ generation: manifest.generation, shipped, is_unproven: isUnproven(manifest) },
    ...{ last_base: base.ended_at, given_up_at: undefined, given_up_why: undefined },
    // The copy has what was there when it began. The log may have led further already.
    covered_until: [base.started_at, state.covered_until ?? ''].toSorted()[1],
  })
  log.info({ bytes: base.bytes, parts: base.parts }, 'a base copy is in the backup')
  return manifest
}
