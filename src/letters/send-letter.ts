/** The outbox handler of kind letter: hands a letter to the operator's server, or to that of the default mailbox. */
import type { SendMailOptions } from 'nodemailer'
import { config } from '../config'
import { type Find, workOff } from '../db/all-organizations'
import { newId } from '../db/columns'
import { sharedTime } from '../db/shared-time'
import type { Connection, Sql } from '../db/transact'
import { ApiError } from '../errors'
import { log } from '../log'
import { type ComposedMail, type DkimSigner, signatureOf } from '../mail/outbound/compose'
import { encodedText, headerAddress, type MailAddress, needsUtf8 } from '../mail/outbound/header-values'
import { SendError } from '../mail/outbound/send-error'
import { type MailboxSmtp, type SendOptions, sendOptions } from '../mail/outbound/settings'
import { sendMail } from '../mail/outbound/transport'
import { getLetterSmtp, getMailbox, getMailboxDkim, isMailboxUsable } from '../mailboxes/queries'
import type { OutboxHandler, OutboxJob, Outcome } from '../outbox/job'
import { nextDelay_s } from '../outbox/retry'
import { type Scope, SYSTEM } from '../scope'
import { decrypt } from '../secrets'
import type { LetterText } from './letter-texts'
import { ANY_NETWORK, operatorServer } from './operator-server'
import { isOwnMailbox } from './ways'

type Letter = { id: string; mailbox_id: string | null; recipient: string; sealed_text: string }
type Sender = { smtp: MailboxSmtp; from: MailAddress; dkim?: DkimSigner | null; options: SendOptions }
type Failure = { is_permanent: boolean; is_healthy: boolean; reply_code: number | null }

const FINAL: Failure = { is_permanent: true, is_healthy: true, reply_code: null }

/** Makes one attempt to send a letter. */
async function sendLetter(job: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id: job.organization_id, actor: SYSTEM }
  const letter = await findLetter(scope, job.id)
  const failure = letter && (await tryToSend(scope, letter))
  const delay_s = nextDelay_s(job.attempts + 1, config.RETRY_SCHEDULE_SECONDS)
  const line = { letter_id: job.id, attempt: job.attempts + 1, reply_code: failure?.reply_code }
  if (letter) log.info({ ...line, result: failure ? 'failed' : 'sent' }, 'letter attempt')
  if (failure && !failure.is_permanent && delay_s !== null) {
    return { type: 'retry', delay_s, counts: true, healthy: failure.is_healthy }
  }
  if (failure) log.warn({ ...line, organization_id: job.organization_id }, 'a letter was given up')
  return { ...giveUp(job), healthy: failure?.is_healthy ?? true }
}

export const letterHandler: OutboxHandler = { attempt: sendLetter, giveUp }

/** Ends a letter: its row and the link in it go. */
function giveUp({ organization_id, id }: OutboxJob): Outcome {
  return {
    type: 'done',
    settle: async ({ sql }) => {
      await sql`delete from letters where organization_id = ${organization_id} and id = ${id}`
    },
  }
}

/** Deletes letters that are too old to be sent and have no outbox row any more. */
export async function removeOldLetters({ sql }: Connection): Promise<void> {
  await workOff(sql, findOldLetters(sql), async (organization_id) => {
    const { count } = await sql`
      delete from letters where organization_id = ${organization_id} and expires_at < now() - interval '1 day'`
    return count
  })
}

function findOldLetters(sql: Sql): Find {
  return (among) => sql`
    select distinct organization_id from letters where expires_at < now() - interval '1 day' ${among()}`
}

async function findLetter({ sql, organization_id }: Scope, id: string): Promise<Letter | undefined> {
  const [letter] = await sql<Letter[]>`
    select id, mailbox_id, recipient, sealed_text from letters
    where organization_id = ${organization_id} and id = ${id} and expires_at > now()`
  return letter
}

/** @returns undefined when the server has the letter */
async function tryToSend(scope: Scope, letter: Letter): Promise<Failure | undefined> {
  if (await isOwnMailbox(scope, letter.recipient)) return FINAL
  const sender = await findSender(scope, letter.mailbox_id)
  // The operator or an admin may set it again, while the letter waits.
  if (!sender) return { is_permanent: false, is_healthy: true, reply_code: null }
  try {
    const { rejected } = await sendMail(sender.smtp, compose(scope, letter, sender), sender.options)
    const [refusal] = rejected
    return refusal && { is_permanent: refusal.is_permanent, is_healthy: true, reply_code: refusal.code }
  } catch (error) {
    if (!(error instanceof SendError)) throw error
    const is_healthy = error.is_permanent || error.blame === 'own'
    return { is_permanent: error.is_permanent, is_healthy, reply_code: error.code }
  }
}

async function findSender(scope: Scope, mailbox_id: string | null): Promise<Sender | undefined> {
  if (mailbox_id === null) {
    const server = operatorServer()
    return server && { ...server, options: { ...sendOptions(), allowed: ANY_NETWORK } }
  }
  try {
    const [{ address, name }, is_usable, smtp, dkim] = await Promise.all([
      getMailbox(scope, mailbox_id),
      isMailboxUsable(scope, mailbox_id),
      getLetterSmtp(scope, mailbox_id),
      getMailboxDkim(scope, mailbox_id),
    ])
    return smtp && is_usable ? { smtp, from: { name, address }, dkim, options: sendOptions() } : undefined
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function compose(scope: Scope, { id, recipient, sealed_text }: Letter, { from, dkim }: Sender): ComposedMail {
  const at = { column: 'letters.sealed_text', organization_id: scope.organization_id, id } as const
  const { subject, text }: LetterText = JSON.parse(decrypt(sealed_text, at))
  const message: SendMailOptions = {
    from: headerAddress(from),
    to: headerAddress({ address: recipient }),
    messageId: `<${newId()}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
    date: new Date(sharedTime()),
    text: text.replaceAll('\n', '\r\n'),
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
