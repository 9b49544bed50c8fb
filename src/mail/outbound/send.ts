/** The outbox handler of kind email: composes a message, hands it to its mailbox's server, records what came of it. */
import { config } from '../../config'
import type { Connection } from '../../db/transact'
import { log } from '../../log'
import { smtpOptions } from '../../mailboxes/commands'
import type { OutboxHandler, OutboxJob, Outcome } from '../../outbox/job'
import { nextDelay_s } from '../../outbox/retry'
import { type Scope, SYSTEM } from '../../scope'
import { decrypt } from '../../secrets'
import { ComposeError, composeReply, needsUtf8, type Reply } from './compose'
import { type Email, type Recipient, readEmail, readRecipients, replyOf } from './email'
import { type Result, recordResults } from './record-results'
import { SendError } from './send-error'
import { type MailboxSmtp, type SendResult, sendMail } from './transport'

/** One attempt to send a message (decisions.md section 7, Outbound). */
export async function sendEmail(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const [email, recipients] = await Promise.all([readEmail(scope, job), readRecipients(scope, job.id)])
  if (!email || !recipients.some(({ waits }) => waits)) return { type: 'done' }
  const attempt = await tryToSend(scope, job.id, email, recipients)
  const { server_message_id } = attempt
  const delay_s = nextDelay_s(job.attempts + 1, config.RETRY_SCHEDULE_SECONDS)
  const results = delay_s === null ? attempt.results.map(giveUpOn) : attempt.results
  const waits = results.some(({ status }) => status === 'queued')
  const settle = (inner: Connection) =>
    recordResults({ ...scope, ...inner }, job.id, email.ticket_id, results, server_message_id)
  log.info({ message_id: job.id, attempt: job.attempts + 1, results: countOf(results) }, 'email attempt')
  if (waits) return { type: 'retry', delay_s, counts: true, healthy: attempt.is_healthy, settle }
  return { type: 'done', healthy: attempt.is_healthy, settle }
}

export const emailHandler: OutboxHandler = { attempt: sendEmail, giveUp }

/** A message that ends its worker again and again is not tried any more. */
function giveUp(job: OutboxJob): Outcome {
  return {
    type: 'done',
    settle: async (connection) => {
      const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
      const [email, recipients] = await Promise.all([readEmail(scope, job), readRecipients(scope, job.id)])
      if (!email) return
      const results = waitingOf(recipients).map(({ position }) =>
        failed(position, 'The message could not be processed'),
      )
      await recordResults(scope, job.id, email.ticket_id, results)
    },
  }
}

type Attempt = { results: Result[]; is_healthy: boolean; server_message_id?: string }

async function tryToSend(scope: Scope, id: string, email: Email, everyone: Recipient[]): Promise<Attempt> {
  const { address, active, smtp } = email
  const recipients = waitingOf(everyone)
  if (!address) return notTried(recipients, 'failed', 'The mailbox was removed')
  // Whoever switched it off, or took its server away, may undo that: the message waits as for a server that is away.
  if (!active || !smtp) return notTried(recipients, 'queued', 'The mailbox is switched off or has no SMTP settings')
  const reply = await replyOf(scope, id, email, address, everyone)
  const password = smtp.password ? decrypt(smtp.password) : null
  const [international, others] = partition(recipients, ({ email }) => needsUtf8(email))
  let attempt: Attempt = { results: [], is_healthy: true }
  // Who needs a server with SMTPUTF8 gets a message of his own, so that he does not stop the others.
  for (const group of [others, international]) {
    if (group.length > 0) attempt = joined(attempt, await sendTo(group, reply, { ...smtp, password }))
  }
  return attempt
}

function notTried(recipients: Recipient[], status: 'failed' | 'queued', error: string): Attempt {
  return { results: recipients.map(({ position }) => ({ position, status, error })), is_healthy: true }
}

async function sendTo(group: Recipient[], reply: Reply, smtp: MailboxSmtp): Promise<Attempt> {
  try {
    const mail = composeReply({ ...reply, recipients: group.map(({ email }) => email) })
    const sent = await sendMail(smtp, mail, smtpOptions())
    const { server_message_id } = sent
    return { results: group.map((one) => resultOf(one, sent)), is_healthy: true, server_message_id }
  } catch (error) {
    if (error instanceof ComposeError) {
      return { results: group.map(({ position }) => failed(position, error.message)), is_healthy: true }
    }
    if (!(error instanceof SendError)) throw error
    const status = error.permanent ? 'failed' : 'queued'
    const results = group.map(({ position }) => ({ position, status, error: error.response }) as const)
    return { results, is_healthy: error.permanent || error.blame === 'own' }
  }
}

function joined(first: Attempt, second: Attempt): Attempt {
  return {
    results: [...first.results, ...second.results],
    is_healthy: first.is_healthy && second.is_healthy,
    server_message_id: first.server_message_id ?? second.server_message_id,
  }
}

function waitingOf(recipients: Recipient[]): Recipient[] {
  return recipients.filter(({ waits }) => waits)
}

function partition<T>(items: T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}

/** The server has the message for whom it did not refuse. */
function resultOf({ position, email }: Recipient, { rejected }: SendResult): Result {
  const refusal = rejected.find(({ address }) => address === email)
  if (!refusal) return { position, status: 'sent', error: null }
  return { position, status: refusal.permanent ? 'failed' : 'queued', error: refusal.response }
}

function failed(position: number, error: string): Result {
  return { position, status: 'failed', error }
}

function giveUpOn(result: Result): Result {
  return result.status === 'queued' ? { ...result, status: 'failed' } : result
}

function countOf(results: Result[]): Record<string, number> {
  const groups = Object.entries(Object.groupBy(results, ({ status }) => status))
  return Object.fromEntries(groups.map(([status, some]) => [status, some.length]))
}
