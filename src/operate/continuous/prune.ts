/** Removes from a target what no moment of the last BACKUP_KEEP_DAYS needs. */
import { config } from '../../base/config'
import { type Chain, FILES, listName, type Manifest } from './chain-manifest'
import { readList, removeUnneeded } from './copied-files'
import { isPiece } from './log-pieces'
import type { Vault } from './vault'

const DAY_MS = 86_400_000

/** The chains without the base copies that no kept moment needs: the last one before those moments is the oldest. */
export function keptChains(chains: Chain[], now_ms: number): Chain[] {
  const from = new Date(now_ms - config.BACKUP_KEEP_DAYS * DAY_MS).toISOString()
  const bases = chains.flatMap((chain) => chain.bases)
  const first = bases.findLast(({ ended_at }) => ended_at <= from) ?? bases[0]
  const kept = new Set(first ? bases.slice(bases.indexOf(first)) : [])
  return chains
    .map((chain) => ({ ...chain, bases: chain.bases.filter((base) => kept.has(base)) }))
    .filter((chain) => chain.bases.length > 0)
}

/**
 * Removes the objects that a manifest does not name. Write the manifest first: what it names must be there. No base
 * copy may be under way, which no manifest names yet.
 */
export async function prune(vault: Vault, { chains }: Manifest): Promise<void> {
  const unneeded: string[] = []
  for await (const { name } of vault.target.list('chains')) if (!isNeeded(name, chains)) unneeded.push(name)
  for (const name of unneeded) await vault.target.remove(name)
  for (const folder of ['chains', FILES]) await vault.target.removeUnfinished(folder)
  const [chain] = chains
  const base = chain?.bases[0]
  if (!chain || !base) return
  await removeUnneeded(readList(vault.read(listName(chain.id, base.id), 'any')), Date.parse(base.started_at), vault)
}

function isNeeded(name: string, chains: Chain[]): boolean {
  const [, chain_id, kind, third = ''] = name.split('/')
  const chain = chains.find(({ id }) => id === chain_id)
  if (kind === 'bases') return chain?.bases.some(({ id }) => id === third) ?? false
  const first = chain?.bases[0]?.log?.first
  return first !== undefined && (!isPiece(third) || third >= first)
}
