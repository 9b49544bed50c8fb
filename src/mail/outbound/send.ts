/** The outbox handler of kind email: composes a message, hands it to its mailbox's server, records the results. */
import { config } from '../../config'
import type { Connection } from '../../db/transact'
import { log } from '../../log'
import type { OutboxHandler, OutboxJob, Outcome } from '../../outbox/job'
import { nextDelay_s } from '../../outbox/retry'
import { type Scope, SYSTEM } from '../../scope'
import { traced } from '../../tracing/trace'
import { ComposeError, type CustomerReply, composeReply } from './compose'
import { needsUtf8 } from './header-values'
import { decryptColumn, type Email, type MailRecipient, readEmail, readRecipients, replyOf } from './queued-email'
import { type RecipientResult, recordResults } from './record-results'
import { SendError } from './send-error'
import { type MailboxSmtp, sendOptions } from './settings'
import { type SendResult, sendMail } from './transport'

/** Makes one attempt to send a message to the recipients that are still queued. */
export async function sendEmail(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const [email, recipients] = await Promise.all([readEmail(scope, job), readRecipients(scope, job.id)])
  if (!email || !recipients.some(({ is_queued }) => is_queued)) return { type: 'done' }
  const attempt = await tryToSend(scope, job.id, email, recipients)
  const { server_message_id } = attempt
  const delay_s = nextDelay_s(job.attempts + 1, config.RETRY_SCHEDULE_SECONDS)
  const results = delay_s === null ? attempt.results.map(giveUpOn) : attempt.results
  const is_queued = results.some(({ status }) => status === 'queued')
  const settle = (inner: Connection) =>
    recordResults({ ...scope, ...inner }, job.id, email.ticket_id, results, server_message_id)
  log.info({ message_id: job.id, attempt: job.attempts + 1, results: countOf(results) }, 'email attempt')
  if (is_queued) return { type: 'retry', delay_s, counts: true, healthy: attempt.is_healthy, settle }
  return { type: 'done', healthy: attempt.is_healthy, settle }
}

export const emailHandler: OutboxHandler = { attempt: sendEmail, giveUp }

/** Fails a message for good that ended its worker again and again. */
function giveUp(job: OutboxJob): Outcome {
  return {
    type: 'done',
    settle: async (connection) => {
      const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
      const [email, recipients] = await Promise.all([readEmail(scope, job), readRecipients(scope, job.id)])
      if (!email) return
      const results = queuedOf(recipients).map(({ position }) => failed(position, 'The message could not be processed'))
      await recordResults(scope, job.id, email.ticket_id, results)
    },
  }
}

type Attempt = { results: RecipientResult[]; is_healthy: boolean; server_message_id?: string }

async function tryToSend(scope: Scope, id: string, email: Email, everyone: MailRecipient[]): Promise<Attempt> {
  const { address, active, smtp } = email
  const recipients = queuedOf(everyone)
  if (!address) return notTried(recipients, 'failed', 'The mailbox was removed')
  // This may be undone: the message waits, as it does for a server that cannot be reached.
  if (!active || !smtp)
    return notTried(
      recipients,
      'queued',
      'The mailbox is switched off or has no SMTP settings, or its domain is not verified',
    )
  const reply = await replyOf(scope, id, email, address, everyone)
  const password = smtp.password ? decryptColumn(scope, email, 'smtp_password', smtp.password) : null
  const [international, others] = partition(recipients, ({ email }) => needsUtf8(email))
  let attempt: Attempt = { results: [], is_healthy: true }
  // Recipients who need a server with SMTPUTF8 get another message, so that they do not stop the others.
  for (const group of [others, international]) {
    if (group.length > 0) attempt = joined(attempt, await sendTo(group, reply, { ...smtp, password }))
  }
  return attempt
}

function notTried(recipients: MailRecipient[], status: 'failed' | 'queued', error: string): Attempt {
  return { results: recipients.map(({ position }) => ({ position, status, error })), is_healthy: true }
}

async function sendTo(group: MailRecipient[], reply: CustomerReply, smtp: MailboxSmtp): Promise<Attempt> {
  try {
    const mail = composeReply({ ...reply, recipients: group.map(({ email }) => email) })
    const attributes = { 'network.protocol.name': 'smtp', 'server.address': smtp.host, 'server.port': smtp.port }
    const sent = await traced({ name: 'send mail', kind: 'client', attributes }, () =>
      sendMail(smtp, mail, sendOptions()),
    )
    const { server_message_id } = sent
    return { results: group.map((one) => resultOf(one, sent)), is_healthy: true, server_message_id }
  } catch (error) {
    if (error instanceof ComposeError) {
      return { results: group.map(({ position }) => failed(position, error.message)), is_healthy: true }
    }
    if (!(error instanceof SendError)) throw error
    const status = error.is_permanent ? 'failed' : 'queued'
    const results = group.map(({ position }) => ({ position, status, error: error.response }) as const)
    return { results, is_healthy: error.is_permanent || error.blame === 'own' }
  }
}

function joined(first: Attempt, second: Attempt): Attempt {
  return {
    results: [...first.results, ...second.results],
    is_healthy: first.is_healthy && second.is_healthy,
    server_message_id: first.server_message_id ?? second.server_message_id,
  }
}

function queuedOf(recipients: MailRecipient[]): MailRecipient[] {
  return recipients.filter(({ is_queued }) => is_queued)
}

function partition<T>(items: T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}

/** A recipient that the server did not refuse has the message. */
function resultOf({ position, email }: MailRecipient, { rejected }: SendResult): RecipientResult {
  const refusal = rejected.find(({ address }) => address === email)
  if (!refusal) return { position, status: 'sent', error: null }
  return { position, status: refusal.is_permanent ? 'failed' : 'queued', error: refusal.response }
}

function failed(position: number, error: string): RecipientResult {
  return { position, status: 'failed', error }
}

function giveUpOn(result: RecipientResult): RecipientResult {
  return result.status === 'queued' ? { ...result, status: 'failed' } : result
}

function countOf(results: RecipientResult[]): Record<string, number> {
  const groups = Object.entries(Object.groupBy(results, ({ status }) => status))
  return Object.fromEntries(groups.map(([status, some]) => [status, some.length]))
}
