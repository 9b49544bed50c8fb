/** Imports originals of email, or only tries what they would become, and opens them for reading. */

import { searchKeys } from '../../base/address/search-keys'
import { audit } from '../../base/audit/audit'
import { config } from '../../base/config'
import { newId, ZERO_ID } from '../../base/db/columns'
import { sharedTime } from '../../base/db/shared-time'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { InboundSteps } from '../../base/metrics/inbound-steps'
import { inTransaction, type Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { keep, promiseRemoval } from '../../desk/attachments/removals'
import { storage } from '../../desk/attachments/storage'
import { contentLengthOf, holdBody, holdMore, inTime } from '../../http/request/arriving-body'
import { withCheckedSender } from '../inbound/checked-sender'
import { decide } from '../inbound/decide'
import { discardAfter, fileAll, prepareFiling, readMail } from '../inbound/filing'
import type { InboundMail, LedgerEntry } from '../inbound/message'
import { unwrapForwarded } from '../inbound/team-mail'
import type { InboundMessage, InboundOptions } from './model'
import { getInboundMessage, openOriginal } from './queries'

type Mailbox = { id: string; address: string }

/**
 * Puts an original through the pipeline that mail over SMTP takes. A dry run stores nothing and says what the message
 * would become.
 * @throws BAD_REQUEST, PAYLOAD_TOO_LARGE (while reading), MAILBOX_NOT_FOUND, VALIDATION_ERROR without a mailbox
 */
export async function importMessage(scope: Scope, request: Request, options: InboundOptions): Promise<InboundMessage> {
  const { mailbox_id } = options
  if (!mailbox_id) throw fieldError('VALIDATION_ERROR', '/query/mailbox_id', 'is required')
  const body = requireEmail(request)
  const mailbox = await requireMailbox(scope, mailbox_id)
  const limit_bytes = config.SMTP_MAX_BYTES
  if ((contentLengthOf(request) ?? 0) > limit_bytes) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
  holdBody(request, scope.organization_id, 'original')
  const raw = await readOriginal(request, body)
  const steps = new InboundSteps()
  const parsed = await readMail(scope, entryFor(mailbox), raw, {
    is_patient: true,
    group: scope.organization_id,
    steps,
  })
  const mail = unwrapForwarded(await withCheckedSender(parsed))
  if (options.dry_run) return dryRun(scope, mailbox, mail)
  const storage_key = `inbound/${mail.id}`
  steps.enter('store')
  await promiseRemoval(scope.sql, [storage_key])
  await storage().put(storage_key, raw)
  const filing = await prepareFiling(scope, mail, steps)
  await inTransaction(scope, async (inner) => {
    await addToLedger(inner, mailbox, mail, storage_key)
    await fileAll(inner, [filing]).catch(async (error) => {
      await discardAfter(error, scope, filing)
      throw error
    })
    await audit(inner, { action: 'inbound_message.imported', resource: { type: 'inbound_message', id: mail.id } })
  })
  return getInboundMessage(scope, mail.id)
}

/** Opens an original for a person, and notes in the audit log that it was read. @throws INBOUND_MESSAGE_NOT_FOUND */
export async function downloadOriginal(scope: Scope, id: string): Promise<ReadableStream<Uint8Array>> {
  const original = await openOriginal(scope, id)
  await audit(scope, { action: 'inbound_message.raw_read', resource: { type: 'inbound_message', id } })
  return original
}

/** An import did not come over SMTP: only signatures can prove its sender. */
function entryFor({ id, address }: Mailbox): LedgerEntry {
  const unknown = { envelope_sender: null, remote_address: null, helo: null, relay_address: null }
  return { id: newId(), mailbox_id: id, recipient: address, ...unknown }
}

/** The ledger row that the message would get. */
async function dryRun(scope: Scope, mailbox: Mailbox, mail: InboundMail): Promise<InboundMessage> {
  const decision = await decide(scope, mail)
  const { headers, passed_on, raw, sender_verified, authentication } = mail
  const sender = passed_on?.by ?? mail.sender
  return {
    id: null,
    mailbox,
    envelope_from: null,
    recipients: [
      mailbox.address,
      ...headers.to.map(({ address }) => address),
      ...headers.cc.map(({ address }) => address),
    ],
    smtp_reply: null,
    email_message_id: headers.message_id,
    from: { name: sender?.name || null, email: sender?.email ?? null },
    subject: headers.subject,
    size: raw.length,
    remote_address: null,
    helo: null,
    tls: null,
    sender_verified,
    authentication,
    spam_score: mail.spam?.score ?? null,
    spam_by: decision.spam_by,
    received_at: `${new Date(sharedTime()).toISOString().slice(0, 19)}Z`,
    outcome: decision.outcome,
    rule: 'rule' in decision ? decision.rule : null,
    ticket_id: 'ticket_id' in decision ? decision.ticket_id : null,
    message_id: 'message_id' in decision ? decision.message_id : null,
  }
}

/** Writes the row of a message that is about to be filed, and keeps the bytes of its original. */
async function addToLedger(scope: Scope, mailbox: Mailbox, mail: InboundMail, storage_key: string): Promise<void> {
  const { sql, organization_id } = scope
  await keep(sql, storage_key)
  await sql`
    insert into inbound_messages (organization_id, id, mailbox_id, mailbox_address, recipient, recipients, to_keys,
      envelope_sender, size, storage_key)
    values (${organization_id}, ${mail.id}, ${mailbox.id}, ${mailbox.address}, ${mail.recipient}, ${[mail.recipient]},
      ${searchKeys([mail.recipient])}, '', ${mail.raw.length}, ${storage_key})`
}

async function requireMailbox({ sql, organization_id }: Scope, id: string): Promise<Mailbox> {
  const [mailbox] = await sql<Mailbox[]>`
    select id, address from mailboxes where organization_id = ${organization_id} and id = ${asIds([id])[0] ?? ZERO_ID}`
  if (!mailbox) throw unknownIds('MAILBOX_NOT_FOUND', '/query/mailbox_id', [id])
  return mailbox
}

function requireEmail(request: Request): ReadableStream<Uint8Array> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'message/rfc822' || !request.body) {
    throw new ApiError('BAD_REQUEST', { reason: 'The body must be an email, with Content-Type message/rfc822' })
  }
  return request.body
}

async function readOriginal(request: Request, body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const has_length = contentLengthOf(request) !== undefined
  for await (const chunk of inTime(body)) {
    size += chunk.length
    if (!has_length) holdMore(request, chunk.length)
    if (size > config.SMTP_MAX_BYTES) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes: config.SMTP_MAX_BYTES })
    chunks.push(chunk)
  }
  if (size === 0) throw new ApiError('BAD_REQUEST', { reason: 'The body is empty' })
  return new Uint8Array(Buffer.concat(chunks))
}
