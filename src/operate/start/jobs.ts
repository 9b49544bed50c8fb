/** Background jobs and their times. Every job may run in any number of processes at once. */
import { Cron } from 'croner'
import { removeOldAuditEntries } from '../../base/audit/audit-retention'
import { config } from '../../base/config'
import { noteAway } from '../../base/db/all-organizations'
import { watchClock } from '../../base/db/clock'
import { analyzeGrownTables } from '../../base/db/statistics'
import type { Connection } from '../../base/db/transact'
import { isNodeAway } from '../../base/db/violations'
import { log, safeError } from '../../base/log'
import { removeOldStats, writeStats } from '../../base/metrics/organization-figures'
import { removeOldEvents } from '../../delivery/events/event-retention'
import { findPublished } from '../../delivery/events/follow'
import { endWaits } from '../../delivery/outbox/lane-faults'
import { forgetSecrets, purgeDeliveries, sweepDeliveries } from '../../delivery/webhooks/upkeep'
import { removeUnusedUploads } from '../../desk/attachments/commands'
import { removeStoredBytes } from '../../desk/attachments/removals'
import { scanPending } from '../../desk/attachments/scan'
import { fillFacts } from '../../desk/facts/fill'
import { removeOldTokens } from '../../desk/portal/contact-tokens'
import { applyRetention } from '../../desk/retention/apply'
import { foldTallies } from '../../desk/tallies/tallies'
import { deleteClosedTickets } from '../../desk/tickets/closed'
import { foldTicketCounts } from '../../desk/tickets/counts'
import { purgeDeletedTickets } from '../../desk/tickets/purge'
import { foldTimeTotals } from '../../desk/time-entries/totals'
import { stopAbandonedTimers } from '../../desk/timers/commands'
import { countUncounted } from '../../desk/turn/turn'
import { removeOldViewers } from '../../desk/viewing/commands'
import { writeKeyUses } from '../../http/admission/key-uses'
import { removeIdempotencyKeys } from '../../http/rerun/idempotency-keys'
import { removeOldLedger } from '../../mail/inbound/ledger-retention'
import { removeOldRefusals } from '../../mail/inbound/refused-ledger'
import { removeOldOriginals } from '../../mail/inbound/retention'
import { forgetTakenRequests } from '../../mail/inlets/taken-requests'
import { removeOldLetters } from '../../mail/letters/send-letter'
import { forgetReleasedAddresses } from '../../mail/mailboxes/claims'
import { writeNotedEntries } from '../../people/auth/account-audit'
import { deleteExpiredTokens } from '../../people/auth/commands'
import { forgetAccounts } from '../../people/auth/forget-accounts'
import { removeOldResets } from '../../people/auth/password-reset'
import { deleteProviderTokens } from '../../people/identity/provider-sign-in'
import { removeOldInvitations } from '../../people/invitations/commands'
import { finishDeeds } from './deed-works'

type CronJob = { name: string; pattern: string; run(connection: Connection): Promise<unknown> }

const JOBS: CronJob[] = [
  { name: 'find events of other processes', pattern: '* * * * * *', run: findPublished },
  { name: 'analyze grown tables', pattern: '*/2 * * * * *', run: analyzeGrownTables },
  { name: 'fold ticket counts', pattern: '*/5 * * * * *', run: foldTicketCounts },
  { name: 'fold tallies', pattern: '*/2 * * * * *', run: foldTallies },
  { name: 'fold time totals', pattern: '4-59/5 * * * * *', run: foldTimeTotals },
  { name: 'count messages', pattern: '*/10 * * * * *', run: countUncounted },
  { name: 'fill facts', pattern: '6-59/10 * * * * *', run: fillFacts },
  { name: 'finish deeds', pattern: '2-59/5 * * * * *', run: finishDeeds },
  { name: 'sweep deliveries', pattern: '15 * * * * *', run: (c) => sweepDeliveries(c, config.DELIVERY_HOLD_DAYS) },
  { name: 'end waits for mailboxes', pattern: '35 * * * * *', run: endWaits },
  { name: 'watch the clock', pattern: '25,55 * * * * *', run: watchClock },
  { name: 'stop abandoned timers', pattern: '25 * * * * *', run: stopAbandonedTimers },
  { name: 'remove old viewers', pattern: '4-59/10 * * * * *', run: removeOldViewers },
  { name: 'remove old tokens of customers', pattern: '40 */10 * * * *', run: removeOldTokens },
  { name: 'write stats', pattern: '3-59/5 * * * * *', run: writeStats },
  { name: 'remove old stats', pattern: '50 */10 * * * *', run: removeOldStats },
  { name: 'write entries about accounts', pattern: '6-59/10 * * * * *', run: writeNotedEntries },
  { name: 'write key uses', pattern: '5 * * * * *', run: writeKeyUses },
  { name: 'remove stored bytes', pattern: '45 * * * * *', run: removeStoredBytes },
  { name: 'scan pending attachments', pattern: '7-59/10 * * * * *', run: scanPending },
  { name: 'forget released addresses', pattern: '45 25 3 * * *', run: forgetReleasedAddresses },
  { name: 'forget secrets', pattern: '30 15 * * * *', run: forgetSecrets },
  { name: 'remove unused uploads', pattern: '0 5 * * * *', run: removeUnusedUploads },
  {
    name: 'purge deliveries',
    pattern: '0 */10 * * * *',
    run: (c) => purgeDeliveries(c, config.DELIVERY_RETENTION_DAYS, config.EVENT_RETENTION_DAYS),
  },
  { name: 'remove events', pattern: '30 */10 * * * *', run: (c) => removeOldEvents(c, config.EVENT_RETENTION_DAYS) },
  { name: 'purge tickets', pattern: '0 20 * * * *', run: (c) => purgeDeletedTickets(c, config.DELETED_RETENTION_DAYS) },
  {
    name: 'remove originals',
    pattern: '0 35 * * * *',
    run: (c) => removeOldOriginals(c, config.RAW_MAIL_RETENTION_DAYS),
  },
  { name: 'remove refusals', pattern: '20 */10 * * * *', run: removeOldRefusals },
  { name: 'forget taken requests', pattern: '50 55 * * * *', run: forgetTakenRequests },
  { name: 'remove ledger', pattern: '15 35 * * * *', run: (c) => removeOldLedger(c, config.LEDGER_RETENTION_DAYS) },
  {
    name: 'delete closed tickets',
    pattern: '0 25 * * * *',
    run: (c) => deleteClosedTickets(c, config.CLOSED_RETENTION_DAYS),
  },
  { name: 'apply retention', pattern: '30 10 * * * *', run: applyRetention },
  { name: 'forget accounts', pattern: '0 45 * * * *', run: (c) => forgetAccounts(c, config.ACCOUNT_RETENTION_DAYS) },
  {
    name: 'remove audit entries',
    pattern: '0 40 * * * *',
    run: (c) => removeOldAuditEntries(c, config.AUDIT_RETENTION_DAYS),
  },
  { name: 'delete expired tokens', pattern: '0 50 * * * *', run: deleteExpiredTokens },
  { name: 'delete tokens of providers', pattern: '30 50 * * * *', run: deleteProviderTokens },
  { name: 'remove old resets', pattern: '45 50 * * * *', run: removeOldResets },
  { name: 'remove old invitations', pattern: '15 50 * * * *', run: removeOldInvitations },
  { name: 'remove old letters', pattern: '30 50 * * * *', run: removeOldLetters },
  { name: 'remove idempotency keys', pattern: '30 55 * * * *', run: removeIdempotencyKeys },
]

/**
 * Starts all jobs at their times. `stop` starts no job any more, and resolves once the running ones have ended and what
 * was collected since is written.
 */
export function startJobs(connection: Connection): { stop(): Promise<void> } {
  const running = new Set<Promise<void>>()
  const crons = JOBS.map(({ name, pattern, run }) => {
    return new Cron(pattern, { protect: true }, async () => {
      const work = run(connection).then(
        () => {},
        (error) => {
          if (isNodeAway(error)) noteAway(error)
          else log.warn({ job: name, error: safeError(error) }, 'a background job failed and will be tried again')
        },
      )
      running.add(work)
      await work
      running.delete(work)
    })
  })
  return {
    async stop() {
      for (const cron of crons) cron.stop()
      await Promise.all(running)
      await Promise.all([
        writeKeyUses(connection).catch((error) =>
          log.warn({ error: safeError(error) }, 'the last uses of API keys could not be written'),
        ),
        writeStats(connection).catch((error) =>
          log.warn({ error: safeError(error) }, 'the last figures of organizations could not be written'),
        ),
      ])
    },
  }
}
