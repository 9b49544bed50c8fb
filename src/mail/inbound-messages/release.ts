/** Files mail that was held as spam. */
import { audit } from '../../base/audit/audit'
import { violates } from '../../base/db/violations'
import { ApiError } from '../../base/errors'
import { InboundSteps } from '../../base/metrics/inbound-steps'
import { inTransaction, type Scope } from '../../base/scope'
import { storage } from '../../desk/attachments/storage'
import { lockMail } from '../../desk/messages/conversation'
import { withCheckedSender } from '../inbound/checked-sender'
import { discardAfter, fileAll, prepareFiling, readMail } from '../inbound/filing'
import type { LedgerEntry } from '../inbound/message'
import { unwrapForwarded } from '../inbound/team-mail'
import type { InboundMessage } from './model'
import { getInboundMessage } from './queries'

/**
 * Files a message that is held, whatever judges and rules say of it, by the way of all mail. Of two requests one does.
 * @throws INBOUND_MESSAGE_NOT_FOUND; NOT_HELD, also when its original is gone
 */
export async function releaseMessage(scope: Scope, id: string): Promise<InboundMessage> {
  await release(scope, id).catch((error) => {
    if (!violates(error, 'tickets_mailbox_fk')) throw error
    // The mailbox was deleted meanwhile: now the mail is of none.
    return release(scope, id)
  })
  return getInboundMessage(scope, id)
}

/** @throws INBOUND_MESSAGE_NOT_FOUND, NOT_HELD */
async function release(scope: Scope, id: string): Promise<void> {
  const { entry, storage_key } = await getHeld(scope, id)
  const raw = await storage().read(storage_key)
  const steps = new InboundSteps()
  const read = await readMail(scope, entry, raw, { is_patient: true, group: scope.organization_id, steps })
  const mail = unwrapForwarded(await withCheckedSender({ ...read, is_released: true }))
  const filing = await prepareFiling(scope, mail, steps)
  await inTransaction(scope, async (inner) => {
    await lockMail(inner)
    await getHeld(inner, id)
    await fileAll(inner, [filing])
    await audit(inner, { action: 'inbound_message.released', resource: { type: 'inbound_message', id } })
  }).catch(async (error) => {
    await discardAfter(error, scope, filing)
    throw error
  })
}

/** @throws INBOUND_MESSAGE_NOT_FOUND, NOT_HELD */
async function getHeld(scope: Scope, id: string): Promise<{ entry: LedgerEntry; storage_key: string }> {
  const { sql, organization_id } = scope
  const [row] = await sql<(LedgerEntry & { storage_key: string })[]>`
    select id, mailbox_id, recipient, envelope_sender, remote_address, helo, relay_address, storage_key
    from inbound_messages
    where organization_id = ${organization_id} and id = ${id} and outcome = 'spam' and storage_key is not null`
  if (row) {
    const { storage_key, ...entry } = row
    return { entry, storage_key }
  }
  await getInboundMessage(scope, id)
  throw new ApiError('NOT_HELD')
}
