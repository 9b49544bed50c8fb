/** The operator's commands for the outbox. */
import { setTimeout as sleep } from 'node:timers/promises'
import { audit, OPERATOR } from '../../base/audit/audit'
import { config, ignoreProxies } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { inTransaction, SYSTEM } from '../../base/scope'
import { drainOutbox } from '../../delivery/outbox/drain'
import { outboxWaits } from '../../delivery/outbox/hold'
import type { OutboxKind } from '../../delivery/outbox/job'
import { outboxStats, retryOutbox } from '../../delivery/outbox/operate'
import { type Command, type Options, UsageError } from './command-line'
import { organizationOption } from './organization-option'
import { checkAuthorities } from './preflight'
import { resendOutbox } from './resend-outbox'
import { resumeRestored } from './resume-outbox'

/** Between looks at the outbox while it is drained. */
const ROUND_MS = 100

export const OUTBOX_COMMANDS: Command[] = [
  {
    name: 'outbox stats',
    meaning: 'Prints how much work the outbox holds, by kind.',
    needs: 'database',
    run: (_options, connection) => outboxStats(connection),
  },
  {
    name: 'outbox retry',
    options: '--organization ID',
    meaning: 'Makes all waiting work of an organization due now, except for failed webhooks.',
    needs: 'database',
    run: retryNow,
  },
  {
    name: 'outbox resend',
    options: '--organization ID [--since TIME]',
    meaning: 'Sends all failed emails of an organization again, or those that were written since a time.',
    needs: 'database',
    run: async (options, connection) =>
      resendOutbox(options, connection, await organizationOption(options, connection)),
  },
  {
    name: 'outbox resume',
    meaning:
      'Lets a service that was restored send again: webhooks, emails and letters that the lost one may have sent already, too.',
    needs: 'database',
    run: (_options, connection) => resumeRestored(connection),
  },
  {
    name: 'outbox drain',
    meaning: 'Runs everything that is due until nothing is, and prints the number of attempts by kind.',
    needs: 'database',
    pool_size: config.DATABASE_POOL,
    run: (_options, connection) => drain(connection),
  },
]

async function retryNow(options: Options, connection: Connection): Promise<unknown> {
  const organization_id = await organizationOption(options, connection)
  return inTransaction({ ...connection, organization_id, actor: SYSTEM }, async (scope) => {
    const due_now = await retryOutbox(scope, organization_id)
    const resource = { type: 'organization', id: organization_id } as const
    await audit({ ...scope, actor: OPERATOR }, { action: 'operator.outbox_retry', resource })
    return { due_now }
  })
}

/** Runs everything that is due until nothing is. @returns how many attempts were settled, by kind */
async function drain(connection: Connection): Promise<Record<OutboxKind, number>> {
  if (outboxWaits()) throw new UsageError('the outbox of this restored service waits: run outbox resume first')
  const { closeHandlers, HANDLERS } = await import('./outbox-handlers')
  ignoreProxies()
  checkAuthorities()
  const settled = { webhook: 0, email: 0, inbound: 0, letter: 0, wake: 0, draft: 0, rule: 0, promise: 0 }
  const isDue = async () => (await outboxStats(connection)).some(({ due }) => due > 0)
  // A round leaves out the rows that another process was just looking at: the next round takes them.
  for (; await isDue(); await sleep(ROUND_MS)) {
    await drainOutbox(connection, HANDLERS, { on_settled: (kind) => settled[kind]++ })
  }
  await closeHandlers()
  return settled
}
