/** The operator's command that sends failed emails of an organization again. */
import { audit, OPERATOR } from '../../base/audit/audit'
import type { Connection } from '../../base/db/transact'
import { SYSTEM } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { timeOf } from '../../base/shapes/time'
import { resendFailed } from '../../desk/messages/resend'
import { type Options, UsageError } from './command-line'

/** @returns how many are queued, and how many cannot be sent @throws UsageError for a wrong time */
export async function resendOutbox(
  { since }: Options,
  connection: Connection,
  organization_id: string,
): Promise<{ queued: number; refused: number }> {
  const time = typeof since === 'string' ? timeOf(since) : 0
  if (time === undefined) throw new UsageError('--since must be a time with offset, such as 2026-01-31T08:00:00Z')
  const scope = { ...connection, organization_id, actor: SYSTEM }
  const resource = { type: 'organization', id: organization_id } as const
  await audit({ ...scope, actor: OPERATOR }, { action: 'operator.outbox_resend', resource })
  return resendFailed(scope, firstIdAt(time))
}
