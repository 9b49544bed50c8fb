/** The operator's command that spreads the database over a cluster. */
import { config } from '../../base/config'
import { distributeDatabase, planDistribution } from '../../base/db/cluster/distribute'
import { OperatorError } from '../../base/errors'
import type { Command, Options } from './command-line'
import { openAsItIs } from './database'
import { dropRoot } from './drop-root'

export const DISTRIBUTE_COMMAND: Command = {
  name: 'distribute',
  options: '[--plan]',
  meaning:
    'Spreads the database over the machines of its Citus cluster, by organization, in one transaction: stop the service first. --plan only prints what would be done, and what is in the way.',
  needs: 'nothing',
  run: distribute,
}

async function distribute({ plan }: Options): Promise<unknown[]> {
  if (!config.DATABASE_URL) {
    throw new OperatorError(
      'the embedded database runs on one machine: move to a cluster with a backup and DATABASE_URL',
    )
  }
  await dropRoot('refuse')
  const { target, close } = await openAsItIs('refuse')
  try {
    if (plan) {
      const { blockers, tables } = await planDistribution(target)
      return [
        ...blockers.map((blocker) => ({ blocker })),
        ...tables,
        { blockers: blockers.length, tables: tables.length },
      ]
    }
    const { tables, duration_ms } = await distributeDatabase(target)
    return [...tables, { placed: tables.length, duration_ms }]
  } finally {
    await close()
  }
}
