/** The outbox handler of kind email: composes a message, hands it to its mailbox's server, records the results. */
import { config } from '../../base/config'
import type { Connection } from '../../base/db/transact'
import { log } from '../../base/log'
import { type Scope, SYSTEM } from '../../base/scope'
import { traced } from '../../base/tracing/trace'
import type { OutboxHandler, OutboxJob, Outcome } from '../../delivery/outbox/job'
import { type Heard, noteLane, readLane, takeTurn } from '../../delivery/outbox/lane-faults'
import { nextDelay_s } from '../../delivery/outbox/retry'
import { tokenSource } from './access-token'
import { ComposeError, type CustomerReply, composeReply } from './compose'
import { needsUtf8 } from './header-values'
import {
  decryptColumn,
  type Email,
  type MailRecipient,
  readEmail,
  readFilesFault,
  readRecipients,
  replyOf,
} from './queued-email'
import { type RecipientResult, recordResults, recordWait } from './record-results'
import { heardFrom, SendError } from './send-error'
import { type MailboxSmtp, sendOptions } from './settings'
import { type SendResult, sendMail } from './transport'

const NO_SERVER = 'The mailbox is switched off or has no SMTP settings, or its domain is not verified'
const INFECTED = 'The scan for viruses found one in an attachment'
const UNSCANNED = 'An attachment waits for a scan for viruses'
/** Seconds until a message is looked at again whose files wait for a scan. */
const SCAN_WAIT_S = 30

/** Makes one attempt to send a message to the recipients that are still queued, when it is its turn. */
export async function sendEmail(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const [email, recipients, lane] = await Promise.all([
    readEmail(scope, job),
    readRecipients(scope, job.id),
    readLane(scope, job),
  ])
  if (!email || !recipients.some(({ is_queued }) => is_queued)) return { type: 'done' }
  const is_held = lane.error !== null && !(await takeTurn(scope, job))
  const attempt = is_held ? held(recipients, lane.error) : await tryToSend(scope, job.id, email, recipients)
  const { heard } = attempt
  const waits = attempt.wait_s !== undefined || heard.lane === 'at fault' || heard.lane === 'held'
  const delay_s = waits ? (attempt.wait_s ?? null) : nextDelay_s(job.attempts + 1, config.RETRY_SCHEDULE_SECONDS)
  const is_over = waits ? lane.is_late : delay_s === null
  const results = is_over ? attempt.results.map(giveUpOn) : attempt.results
  const settle = async (inner: Connection) => {
    const settling = { ...scope, ...inner }
    await recordResults(settling, job.id, email.ticket_id, results, saidOf(attempt, job.attempts + (waits ? 0 : 1)))
    await recordWait(settling, await noteLane(settling, job, heard))
  }
  if (!is_held) log.info({ message_id: job.id, attempt: job.attempts + 1, results: countOf(results) }, 'email attempt')
  const healthy = is_held ? undefined : heard.lane === 'works' || heard.lane === 'not tried'
  const is_queued = results.some(({ status }) => status === 'queued')
  if (is_queued) return { type: 'retry', delay_s, counts: !waits, healthy, settle }
  return { type: 'done', healthy: healthy ?? false, settle }
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

type Attempt = {
  results: RecipientResult[]
  heard: Heard
  server_message_id?: string
  response?: string
  /** Seconds until it can be tried: its files wait, which uses no attempt. */
  wait_s?: number
}

/** The words of the server, as they are kept. Those of a refusal stand with the recipient. */
function saidOf({ results, heard, server_message_id, response }: Attempt, attempts: number) {
  if (heard.lane === 'held' || heard.lane === 'not tried') return undefined
  const refusal = results.find(({ error }) => error !== null)?.error
  return { attempts, response: refusal ?? response ?? null, message_id: server_message_id }
}

async function tryToSend(scope: Scope, id: string, email: Email, everyone: MailRecipient[]): Promise<Attempt> {
  const { address, active, smtp } = email
  const recipients = queuedOf(everyone)
  if (!address) {
    const results = recipients.map(({ position }) => failed(position, 'The mailbox was removed'))
    return { results, heard: { lane: 'not tried' } }
  }
  // This may be undone: the message waits, as it does for a server that cannot be reached.
  if (!active || !smtp) return atFault(recipients, NO_SERVER)
  const fault = await readFilesFault(scope, id)
  if (fault === 'infected') {
    return { results: recipients.map(({ position }) => failed(position, INFECTED)), heard: { lane: 'not tried' } }
  }
  if (fault) return { ...later(recipients, UNSCANNED), heard: { lane: 'not tried' }, wait_s: SCAN_WAIT_S }
  const reply = await replyOf(scope, id, email, address, everyone)
  const password = smtp.password ? decryptColumn(scope, email, 'smtp_password', smtp.password) : null
  const { organization_id } = scope
  const tokens = tokenSource(scope, { organization_id, id: email.mailbox_id!, version: email.sign_in_version })
  const [international, others] = partition(recipients, ({ email }) => needsUtf8(email))
  let attempt: Attempt = { results: [], heard: { lane: 'not tried' } }
  // Recipients who need a server with SMTPUTF8 get another message, so that they do not stop the others.
  for (const group of [others, international]) {
    if (group.length > 0) attempt = joined(attempt, await sendTo(group, reply, { ...smtp, password, tokens }))
  }
  return attempt
}

/** It is the turn of another message to try the mailbox. */
function held(recipients: MailRecipient[], error: string | null): Attempt {
  return { ...later(queuedOf(recipients), error), heard: { lane: 'held' } }
}

function atFault(recipients: MailRecipient[], error: string): Attempt {
  return { ...later(recipients, error), heard: { lane: 'at fault', error } }
}

function later(recipients: MailRecipient[], error: string | null): Pick<Attempt, 'results'> {
  return { results: recipients.map(({ position }) => ({ position, status: 'queued', error })) }
}

async function sendTo(group: MailRecipient[], reply: CustomerReply, smtp: MailboxSmtp): Promise<Attempt> {
  try {
    const mail = composeReply({ ...reply, recipients: group.map(({ email }) => email) })
    const attributes = { 'network.protocol.name': 'smtp', 'server.address': smtp.host, 'server.port': smtp.port }
    const sent = await traced({ name: 'send mail', kind: 'client', attributes }, () =>
      sendMail(smtp, mail, sendOptions()),
    )
    const { server_message_id, response } = sent
    const results = group.map((one) => resultOf(one, sent))
    return { results, heard: { lane: 'works' }, server_message_id, response }
  } catch (error) {
    if (error instanceof ComposeError) {
      return { results: group.map(({ position }) => failed(position, error.message)), heard: { lane: 'not tried' } }
    }
    if (!(error instanceof SendError)) throw error
    const status = error.verdict === 'refused' ? 'failed' : 'queued'
    const results = group.map(({ position }) => ({ position, status, error: error.response }) as const)
    return { results, heard: heardFrom(error) }
  }
}

/** The second counts, unless the first knows more. */
function joined(first: Attempt, second: Attempt): Attempt {
  return {
    results: [...first.results, ...second.results],
    heard: second.heard.lane === 'not tried' ? first.heard : second.heard,
    server_message_id: first.server_message_id ?? second.server_message_id,
    response: second.response ?? first.response,
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
