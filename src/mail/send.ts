/** The outbox handler of kind email: composes a message, hands it to its mailbox's server, records what came of it. */
import { domainToASCII } from 'node:url'
import { storage } from '../attachments/storage'
import { config } from '../config'
import type { Connection } from '../db/client'
import { log } from '../log'
import { smtpOptions } from '../mailboxes/commands'
import { renderBody } from '../messages/body'
import { placeImages } from '../messages/html-view'
import type { Handler, Job, Outcome } from '../outbox/job'
import { nextDelay_s } from '../outbox/retry'
import { type Scope, SYSTEM } from '../scope'
import { decrypt } from '../secrets'
import { recordActivity } from '../tickets/activity'
import { ComposeError, composeReply, type DkimSigner, type MailAttachment, needsUtf8, type Reply } from './compose'
import { bounceAddress, replyAddress } from './message-id'
import { SendError } from './send-error'
import { type MailboxSmtp, type SendResult, sendMail } from './transport'

/** What is known of an email when it is to be sent; the columns of the mailbox are null once it is gone. */
type Email = {
  ticket_id: string
  code: string
  subject: string
  body: string
  body_html: string
  sender_name: string
  email_message_id: string
  organization_name: string
  address: string | null
  mailbox_name: string | null
  active: boolean | null
  plus_addressing: boolean | null
  verp: boolean | null
  /** Password and private key are encrypted. */
  smtp: (Omit<MailboxSmtp, 'password'> & { password: string | null }) | null
  dkim: DkimSigner | null
}

type Recipient = { position: number; kind: 'to' | 'cc'; name: string | null; email: string; waits: boolean }

/** What an attempt means for each recipient who still waits. */
type Result = { position: number; status: 'sent' | 'failed' | 'queued'; error: string | null }

/** One attempt to send a message (decisions.md section 7, Outbound). */
export async function sendEmail(job: Job, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const [email, recipients] = await Promise.all([readEmail(scope, job), readRecipients(scope, job.id)])
  if (!email || !recipients.some(({ waits }) => waits)) return { type: 'done' }
  const attempt = await tryToSend(scope, job.id, email, recipients)
  const { server_message_id } = attempt
  const delay_s = nextDelay_s(job.attempts + 1, config.RETRY_SCHEDULE_SECONDS)
  const results = delay_s === null ? attempt.results.map(giveUpOn) : attempt.results
  const waits = results.some(({ status }) => status === 'queued')
  const settle = (inner: Connection) =>
    record({ ...scope, ...inner }, job.id, email.ticket_id, results, server_message_id)
  log.info({ message_id: job.id, attempt: job.attempts + 1, results: countOf(results) }, 'email attempt')
  if (waits) return { type: 'retry', delay_s, counts: true, healthy: attempt.is_healthy, settle }
  return { type: 'done', healthy: attempt.is_healthy, settle }
}

export const emailHandler: Handler = { attempt: sendEmail, giveUp }

/** A message that ends its worker again and again is not tried any more. */
function giveUp(job: Job): Outcome {
  return {
    type: 'done',
    settle: async (connection) => {
      const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
      const [email, recipients] = await Promise.all([readEmail(scope, job), readRecipients(scope, job.id)])
      if (!email) return
      const results = waitingOf(recipients).map(({ position }) =>
        failed(position, 'The message could not be processed'),
      )
      await record(scope, job.id, email.ticket_id, results)
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

/** The library gives international domains as punycode. */
function keyOf(address: string): string {
  const at = address.lastIndexOf('@') + 1
  return `${address.slice(0, at)}${domainToASCII(address.slice(at)) || address.slice(at)}`.toLowerCase()
}

function resultOf({ position, email }: Recipient, { accepted, rejected }: SendResult): Result {
  const refusal = rejected.find(({ address }) => keyOf(address) === keyOf(email))
  if (refusal) return { position, status: refusal.permanent ? 'failed' : 'queued', error: refusal.response }
  const is_accepted = accepted.some((address) => keyOf(address) === keyOf(email))
  return is_accepted ? { position, status: 'sent', error: null } : { position, status: 'queued', error: 'no answer' }
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

async function replyOf(
  scope: Scope,
  id: string,
  email: Email,
  address: string,
  recipients: Recipient[],
): Promise<Reply> {
  const [conversation, files] = await Promise.all([
    readConversation(scope, email.ticket_id, id),
    readAttachments(scope, id),
  ])
  const to = (kind: Recipient['kind']) =>
    recipients.filter((one) => one.kind === kind).map(({ name, email }) => ({ name, address: email }))
  const shown = new Set<string>()
  const placeInline = (attachment_id: string) => {
    if (!files.some((file) => file.id === attachment_id)) return undefined
    shown.add(attachment_id)
    return `cid:${contentIdOf(attachment_id)}`
  }
  const html = placeImages(email.body_html, placeInline, 'src')
  return {
    from: { name: email.mailbox_name ?? email.organization_name, address },
    envelope_from: email.verp ? bounceAddress(address, id) : undefined,
    to: to('to'),
    cc: to('cc'),
    reply_to: email.plus_addressing ? { address: replyAddress(address, email.ticket_id) } : undefined,
    subject: email.subject,
    code: email.code,
    message_id: email.email_message_id,
    in_reply_to: conversation.at(-1),
    references: conversation,
    text: renderBody(email.body).text,
    html,
    attachments: files.map((file) => attachmentOf(file, shown.has(file.id))),
    dkim: email.dkim && { ...email.dkim, private_key: decrypt(email.dkim.private_key) },
  }
}

type File = { id: string; filename: string; content_type: string; size: number; storage_key: string }

function attachmentOf({ id, filename, content_type, size, storage_key }: File, inline: boolean): MailAttachment {
  const content = () => storage().open(storage_key)
  return { filename, content_type, size, content, inline, content_id: inline ? contentIdOf(id) : undefined }
}

function contentIdOf(attachment_id: string): string {
  return `${attachment_id}@deskwire`
}

async function readEmail({ sql, organization_id }: Scope, job: Job): Promise<Email | undefined> {
  const [email] = await sql<Email[]>`
    select t.id as ticket_id, t.code, t.subject, m.body, m.body_html, m.sender_name, m.email_message_id,
      o.name as organization_name, b.address, b.name as mailbox_name, b.active, b.plus_addressing, b.verp,
      case when b.smtp_host is not null then json_build_object(
        'host', b.smtp_host, 'port', b.smtp_port, 'security', b.smtp_security, 'username', b.smtp_username,
        'password', b.smtp_password
      ) end as smtp,
      case when b.dkim_domain is not null then json_build_object(
        'domain', b.dkim_domain, 'selector', b.dkim_selector, 'private_key', b.dkim_private_key
      ) end as dkim
    from messages m
    join tickets t on t.organization_id = m.organization_id and t.id = m.ticket_id
    join organizations o on o.id = m.organization_id
    left join mailboxes b on b.organization_id = m.organization_id and b.id = ${job.lane_id}
    where m.organization_id = ${organization_id} and m.id = ${job.id} and m.email_message_id is not null
      and t.deleted_at is null`
  return email
}

async function readRecipients({ sql, organization_id }: Scope, id: string): Promise<Recipient[]> {
  return sql<Recipient[]>`
    select position, kind, name, email, status = 'queued' as waits from message_recipients
    where organization_id = ${organization_id} and message_id = ${id}
    order by position`
}

/** Message-IDs of the conversation before this message, oldest first. */
async function readConversation({ sql, organization_id }: Scope, ticket_id: string, id: string): Promise<string[]> {
  const rows = await sql<{ email_message_id: string }[]>`
    select email_message_id from messages
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and id < ${id}
      and email_message_id is not null
    order by id`
  return rows.map(({ email_message_id }) => email_message_id)
}

async function readAttachments({ sql, organization_id }: Scope, id: string): Promise<File[]> {
  return sql<File[]>`
    select id, filename, content_type, size, storage_key from attachments
    where organization_id = ${organization_id} and message_id = ${id} order by id`
}

/** What became of the recipients, and of the message thereby: it is sent when one recipient took it. */
async function record(
  scope: Scope,
  id: string,
  ticket_id: string,
  results: Result[],
  server_message_id?: string,
): Promise<void> {
  const { sql, organization_id } = scope
  const updated = await sql<{ email: string; status: string; error: string | null }[]>`
    update message_recipients r set status = given.status, error = given.error
    from json_to_recordset(${JSON.stringify(results)}::text::json) as given (position integer, status text, error text)
    where r.organization_id = ${organization_id} and r.message_id = ${id} and r.position = given.position
      and r.status = 'queued'
    returning r.email, r.status, r.error`
  await sql`
    update messages m set email_status = r.status, email_error = r.error
    from (
      select case when bool_or(status in ('sent', 'bounced')) then 'sent' when bool_or(status = 'queued') then 'queued'
          else 'failed' end as status,
        (array_agg(error order by position) filter (where error is not null))[1] as error
      from message_recipients where organization_id = ${organization_id} and message_id = ${id}
    ) r
    where m.organization_id = ${organization_id} and m.id = ${id} and m.email_status <> 'bounced'`
  const sent = updated.filter(({ status }) => status === 'sent').map(({ email }) => email)
  const refused = updated.filter(({ status }) => status === 'failed')
  if (sent.length > 0)
    await recordActivity(scope, ticket_id, [{ type: 'email_sent', data: { message_id: id, recipients: sent } }])
  for (const { email, error } of refused) {
    await recordActivity(scope, ticket_id, [
      { type: 'email_failed', data: { message_id: id, recipient: email, error } },
    ])
  }
  if (server_message_id) await addServerAnchor(scope, id, ticket_id, server_message_id)
}

/** Some relays put a Message-ID of their own in place of ours; answers refer to that one. */
async function addServerAnchor(scope: Scope, id: string, ticket_id: string, server_message_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    insert into email_anchors (organization_id, email_message_id, ticket_id, message_id)
    values (${organization_id}, ${server_message_id}, ${ticket_id}, ${id})
    on conflict do nothing`
}
