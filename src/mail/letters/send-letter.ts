/** The outbox handler of kind letter: hands a letter to the operator's server, or to that of the default mailbox. */
import type { SendMailOptions } from 'nodemailer'
import { config } from '../../base/config'
import { newId } from '../../base/db/columns'
import { sharedTime } from '../../base/db/shared-time'
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { log } from '../../base/log'
import { type Scope, SYSTEM } from '../../base/scope'
import { decrypt } from '../../base/secrets'
import type { OutboxHandler, OutboxJob, Outcome } from '../../delivery/outbox/job'
import { type Heard, noteLane, readLane, takeTurn } from '../../delivery/outbox/lane-faults'
import { nextDelay_s } from '../../delivery/outbox/retry'
import { forgetRequest } from '../../desk/ratings/requests'
import { getLetterSmtp, getMailbox, getMailboxDkim, getMailboxSmtp, isMailboxUsable } from '../mailboxes/queries'
import { type ComposedMail, type DkimSigner, signatureOf } from '../outbound/compose'
import { encodedText, headerAddress, type MailAddress, needsUtf8 } from '../outbound/header-values'
import { recordWait } from '../outbound/record-results'
import { heardFrom, SendError } from '../outbound/send-error'
import { type MailboxSmtp, type SendOptions, sendOptions } from '../outbound/settings'
import { sendMail } from '../outbound/transport'
import type { LetterText, ReadyLetter } from './letter-texts'
import { writeMemberLetter } from './member-letters'
import { ANY_NETWORK, operatorServer } from './operator-server'
import { writeRatingLetter } from './rating-letter'
import { isOwnMailbox } from './ways'

type Letter = {
  id: string
  mailbox_id: string | null
  about_id: string
  /** Null for a letter to a member, or to the contact of a ticket. */
  recipient: string | null
  sealed_text: string | null
  member_id: string | null
}
type Sender = { smtp: MailboxSmtp; from: MailAddress; dkim?: DkimSigner | null; options: SendOptions }
/** The outcome of an attempt. `heard` tells about the server. */
type Result = { status: 'sent' | 'failed' | 'queued' | 'dropped'; heard: Heard; reply_code?: number | null }

const HELD: Result = { status: 'queued', heard: { lane: 'held' } }
/** Nothing is to be told any more. */
const DROPPED: Result = { status: 'dropped', heard: { lane: 'not tried' } }
const NO_SERVER = 'There is no server that sends letters'

/** Makes one attempt to send a letter, when it is its turn. */
async function sendLetter(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const [letter, lane] = await Promise.all([findLetter(scope, job.id), readLane(scope, job)])
  if (!letter) return giveUp(job)
  const is_held = lane.error !== null && !(await takeTurn(scope, job))
  const ready = is_held ? undefined : await readyLetter(scope, letter)
  const { status, heard, reply_code }: Result = is_held ? HELD : ready ? await tryToSend(scope, ready) : DROPPED
  const waits = heard.lane === 'at fault' || heard.lane === 'held'
  const delay_s = waits ? null : nextDelay_s(job.attempts + 1, config.RETRY_SCHEDULE_SECONDS)
  const is_over = waits ? lane.is_late : delay_s === null
  const line = { letter_id: job.id, attempt: job.attempts + 1, reply_code }
  if (!is_held) log.info({ ...line, result: status === 'sent' ? 'sent' : 'failed' }, 'letter attempt')
  const healthy = is_held ? undefined : heard.lane === 'works' || heard.lane === 'not tried'
  const settle = async (inner: Connection) => {
    const settling = { ...scope, ...inner }
    await recordWait(settling, await noteLane(settling, job, heard))
  }
  if (status === 'queued' && !is_over) return { type: 'retry', delay_s, counts: !waits, healthy, settle }
  if (status === 'failed' || status === 'queued')
    log.warn({ ...line, organization_id: job.organization_id }, 'a letter was given up')
  return {
    type: 'done',
    healthy: healthy ?? false,
    settle: async (inner) => {
      if (status === 'sent' && letter.sealed_text === null) await keepSent(inner, job)
      else await dropLetter({ ...scope, ...inner }, job, letter)
      await settle(inner)
    },
  }
}

export const letterHandler: OutboxHandler = { attempt: sendLetter, giveUp }

/** Ends a letter: its row and the link in it go. */
function giveUp(job: OutboxJob): Outcome {
  const { organization_id } = job
  return { type: 'done', settle: (inner) => dropLetter({ ...inner, organization_id, actor: SYSTEM }, job) }
}

/** Removes a letter that did not leave, or left with a link. Who was not asked for a rating may be asked again. */
async function dropLetter(scope: Scope, job: OutboxJob, letter?: Letter): Promise<void> {
  await removeLetter(scope, job)
  if (!letter?.sealed_text) await forgetRequest(scope, job.id)
}

async function removeLetter({ sql }: Connection, { organization_id, id }: OutboxJob): Promise<void> {
  await sql`delete from letters where organization_id = ${organization_id} and id = ${id}`
}

/** Leaves of a letter to a member when it left, so that the next one about the ticket waits. */
async function keepSent({ sql }: Connection, { organization_id, id }: OutboxJob): Promise<void> {
  await sql`
    update letters set news = null, expires_at = now() where organization_id = ${organization_id} and id = ${id}`
}

/** Deletes letters that are too old to be sent and have no outbox row any more. */
export async function removeOldLetters(connection: Connection): Promise<void> {
  await sweep(connection, { table: 'letters', is_old: connection.sql`expires_at < now() - interval '1 day'` })
}

async function findLetter({ sql, organization_id }: Scope, id: string): Promise<Letter | undefined> {
  const [letter] = await sql<Letter[]>`
    select id, mailbox_id, about_id, recipient, sealed_text, member_id from letters
    where organization_id = ${organization_id} and id = ${id} and expires_at > now()`
  return letter
}

/**
 * Opens a sealed letter, or writes one to a member or to a contact.
 * @returns undefined when nothing is to be told any more
 */
async function readyLetter(scope: Scope, letter: Letter): Promise<ReadyLetter | undefined> {
  const { id, mailbox_id, about_id, recipient, sealed_text, member_id } = letter
  if (recipient === null || sealed_text === null) {
    return member_id === null ? writeRatingLetter(scope, id, about_id) : writeMemberLetter(scope, id)
  }
  const at = { column: 'letters.sealed_text', organization_id: scope.organization_id, id } as const
  const text: LetterText = JSON.parse(decrypt(sealed_text, at))
  return { mailbox_id, recipient, messageId: (domain) => `${newId()}@${domain}`, ...text }
}

async function tryToSend(scope: Scope, letter: ReadyLetter): Promise<Result> {
  if (await isOwnMailbox(scope, letter.recipient)) return { status: 'failed', heard: { lane: 'not tried' } }
  const sender = await findSender(scope, letter)
  // The operator or an admin may set it again, while the letter waits.
  if (!sender) return { status: 'queued', heard: { lane: 'at fault', error: NO_SERVER } }
  try {
    const { rejected } = await sendMail(sender.smtp, compose(letter, sender), sender.options)
    const [refusal] = rejected
    const status = refusal ? (refusal.is_permanent ? 'failed' : 'queued') : 'sent'
    return { status, heard: { lane: 'works' }, reply_code: refusal?.code }
  } catch (error) {
    if (!(error instanceof SendError)) throw error
    const status = error.verdict === 'refused' ? 'failed' : 'queued'
    return { status, heard: heardFrom(error), reply_code: error.code }
  }
}

async function findSender(scope: Scope, { mailbox_id, from_name }: ReadyLetter): Promise<Sender | undefined> {
  if (mailbox_id === null) {
    const server = operatorServer()
    return server && { ...server, options: { ...sendOptions(), allowed: ANY_NETWORK } }
  }
  try {
    const [{ address, name }, is_usable, smtp, dkim] = await Promise.all([
      getMailbox(scope, mailbox_id),
      isMailboxUsable(scope, mailbox_id),
      from_name === undefined ? getLetterSmtp(scope, mailbox_id) : getMailboxSmtp(scope, mailbox_id),
      getMailboxDkim(scope, mailbox_id),
    ])
    const from = { name: from_name ?? name, address }
    return smtp && is_usable ? { smtp, from, dkim, options: sendOptions() } : undefined
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function compose(letter: ReadyLetter, { from, dkim }: Sender): ComposedMail {
  const { recipient, reply_to, subject, text, html } = letter
  const message: SendMailOptions = {
    from: headerAddress(from),
    to: headerAddress({ address: recipient }),
    ...(reply_to && { replyTo: headerAddress({ address: reply_to }) }),
    messageId: `<${letter.messageId(from.address.slice(from.address.lastIndexOf('@') + 1))}>`,
    date: new Date(sharedTime()),
    text: text.replaceAll('\n', '\r\n'),
    ...(html && { html: html.replaceAll('\n', '\r\n') }),
    headers: {
      Subject: { prepared: true, foldLines: true, value: encodedText(subject) },
      // A responder that answers it would only confuse (RFC 3834).
      'Auto-Submitted': 'auto-generated',
    },
    envelope: { from: { name: '', address: from.address }, to: [{ name: '', address: recipient }] },
    ...(dkim && { dkim: signatureOf(dkim) }),
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return { message, recipients: [recipient], invalid: [], needs_utf8: [recipient, from.address].some(needsUtf8) }
}
