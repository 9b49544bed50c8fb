/**
 * Reads reports about the delivery of a message: RFC 3464, and the many forms that came before or ignore it. Pure.
 *
 * Own code because no package for this platform reads reports without the form: of the 186 reports in the collection
 * from which the test corpus comes, 71 are not a multipart/report. The wording was taken from the reports of some 70
 * mail systems, and mail-corpus.test.ts checks that each of the corpus is known and no other message is taken for one.
 */
import { parseAddresses } from '../../base/mime/addresses'
import { type HeaderField, headerText, messageIds, oneLine, rawHeader, splitHeader } from '../../base/mime/headers'
import { findParts, type Part } from '../../base/mime/parts'
import {
  ANSWER_SUBJECT,
  DAEMON,
  DELAYED_TEXT,
  FAILED_SUBJECT,
  FAILED_TEXT,
  MACHINE,
  POSTMASTER,
  SMTP_ERROR,
} from './bounce-words'
import { addressesIn, type Returned, readReturned } from './returned'

type BounceRecipient = {
  address: string
  /** Enhanced status code (RFC 3463) such as `5.1.1`; null when the report has none. */
  status: string | null
  diagnostic: string | null
  action: BounceKind
}

/** `failed` is final; `delayed` is a warning while delivery goes on; `delivered` confirms it. */
type BounceKind = 'failed' | 'delayed' | 'delivered'

export type Bounce = {
  /** The worst that the report says of any recipient. Only `failed` is a bounce. */
  kind: BounceKind
  /** It has the form of RFC 3464, with recipients. Others are guessed from their words. */
  is_formal: boolean
  recipients: BounceRecipient[]
  /**
   * The message that was not delivered, as far as the report quotes it: its ids without brackets, and the addresses
   * that answers to it and reports about it were to go to, which stay when a relay gives it another id.
   */
  about: { message_ids: string[]; return_addresses: string[] }
  /** One line for people. */
  diagnostic: string
}

/** The sender of MAIL: the null sender, which mail systems write for reports, an address, or nobody knows. */
export type EnvelopeSender = 'null sender' | 'an address' | 'unknown'

type Report = { root: Part; returned: Returned; author: Author; subject: string }

/**
 * The author, as far as the address proves a report: certainly a mail system, an address that both mail systems and
 * people use, a robot of any kind, or somebody else.
 */
type Author = 'daemon' | 'postmaster' | 'robot' | 'other'

const MAX_RECIPIENTS = 100
/** Size of the part that machines read. Real reports do not name thousands of recipients. */
const MAX_STATUS_BYTES = 200_000
const MAX_DIAGNOSTIC = 1000
/** Length of the text that is read. Reports say at the start what happened; the rest is the returned message. */
const MAX_TEXT = 200_000

/**
 * Reads what a message reports about the delivery of another one; null for everything else. Wording counts only in mail
 * from the address of a mail system, whatever name stands before it, so that a customer may write about a bounce.
 * Complaint reports (ARF) and read receipts are not delivery reports.
 * @param text the plain text of the message
 * @param envelope_sender as far as the caller knows it; mail stores note the null sender in Return-Path, too
 */
export function readBounce(root: Part, text: string, envelope_sender: EnvelopeSender = 'unknown'): Bounce | null {
  const kind = root.content_params.get('report-type')?.toLowerCase()
  if (kind === 'feedback-report' || kind === 'disposition-notification') return null
  if (findParts(root, 'message/feedback-report').length > 0) return null
  const subject = (headerText(root.fields, 'subject') ?? '').slice(0, MAX_DIAGNOSTIC)
  const author = readAuthor(root, subject, envelope_sender)
  const status = readStatus(root, author)
  const is_named = kind === 'delivery-status' || status !== undefined || headerText(root.fields, 'x-failed-recipients')
  if (author === 'other' && !is_named) return null
  const report: Report = { root, returned: readReturned(root, text.slice(0, MAX_TEXT)), author, subject }
  const recipients = status ? readRecipients(status) : []
  if (recipients.length > 0) return { ...describe(report, recipients), is_formal: true }
  return is_named || readsAsBounce(report) ? { ...describe(report, guessRecipients(report)), is_formal: false } : null
}

/** Finds the part that machines read. In a message that is not a report it counts only when a machine wrote it. */
function readStatus(root: Part, author: Author): Part | undefined {
  if (root.content_type !== 'multipart/report' && author === 'other') return undefined
  return ['message/delivery-status', 'message/global-delivery-status'].flatMap((type) => findParts(root, type))[0]
}

function describe(report: Report, recipients: BounceRecipient[]): Omit<Bounce, 'is_formal'> {
  const { root, returned, subject } = report
  const worst = (['failed', 'delayed'] as const).find((kind) => recipients.some(({ action }) => action === kind))
  const kind = recipients.length > 0 ? (worst ?? 'delivered') : guessKind(report)
  const reason = recipients.find(({ action, diagnostic }) => action === kind && diagnostic)?.diagnostic
  const replied = ['in-reply-to', 'references'].flatMap((key) => messageIds(rawHeader(root.fields, key) ?? ''))
  return {
    kind,
    recipients,
    about: {
      message_ids: [...new Set([...returned.message_ids, ...replied])],
      return_addresses: returned.return_addresses,
    },
    diagnostic: oneLine(reason ?? errorLine(returned.notice) ?? subject)
      .slice(0, MAX_DIAGNOSTIC)
      .toWellFormed(),
  }
}

/**
 * Reads the groups of fields of a delivery status (RFC 3464 section 2): the first is about the message, the others are
 * about recipients.
 */
function readRecipients(status: Part): BounceRecipient[] {
  return status.content
    .toString('latin1', 0, MAX_STATUS_BYTES)
    .split(/\r?\n[ \t]*\r?\n/)
    .slice(0, MAX_RECIPIENTS * 2)
    .map((group) => splitHeader(Buffer.from(group, 'latin1')))
    .flatMap(readRecipient)
    .slice(0, MAX_RECIPIENTS)
}

function readRecipient(fields: HeaderField[]): BounceRecipient[] {
  const final = typed(fields, 'original-recipient') ?? typed(fields, 'final-recipient')
  const address = [final, typed(fields, 'final-recipient')].map(bareAddress).find((found) => found !== null)
  if (!address) return []
  const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(headerText(fields, 'status') ?? '')?.[0] ?? null
  return [{ address, status, diagnostic: typed(fields, 'diagnostic-code'), action: readAction(fields, status) }]
}

function readAction(fields: HeaderField[], status: string | null): BounceKind {
  const action = /[a-z]+/.exec((headerText(fields, 'action') ?? '').toLowerCase())?.[0]
  if (action === 'failed' || action === 'delayed') return action
  if (action === 'delivered' || action === 'relayed' || action === 'expanded') return 'delivered'
  return status?.startsWith('2') ? 'delivered' : 'failed'
}

/** Gives the value of a field of the form `type; value`. */
function typed(fields: HeaderField[], key: string): string | null {
  return (
    headerText(fields, key)
      ?.replace(/^[\w-]{1,40}\s*;\s*/, '')
      .slice(0, MAX_DIAGNOSTIC) || null
  )
}

function readsAsBounce(report: Report): boolean {
  const { returned, author, subject } = report
  const notice = returned.notice.slice(0, 20_000)
  const is_failure = FAILED_TEXT.test(notice) || DELAYED_TEXT.test(notice)
  const has_code = SMTP_ERROR.test(returned.notice)
  if (author === 'daemon') {
    return [FAILED_SUBJECT.test(subject), is_failure, has_code, returned.is_there].filter(Boolean).length >= 2
  }
  // The subject of any other author says already that it is a report.
  if (returned.message_ids.length > 0) return is_failure || has_code
  // Shops and parcel services write of deliveries that failed, too: a robot has to return the message itself.
  return author === 'postmaster' && has_code && guessRecipients(report).length > 0
}

/**
 * Finds the author. People and mail systems share addresses: mail from there is a report only if its subject says so.
 */
function readAuthor(root: Part, subject: string, envelope_sender: EnvelopeSender): Author {
  const address = addressOfAuthor(root)
  if (DAEMON.test(address)) return 'daemon'
  if (ANSWER_SUBJECT.test(subject)) return 'other'
  const [is_postmaster, is_robot, is_from_nobody] = [
    POSTMASTER.test(address),
    MACHINE.test(address),
    envelope_sender === 'null sender' || isFromNobody(root),
  ]
  if (is_from_nobody && (is_postmaster || is_robot)) return 'daemon'
  // Administrators write about mail that failed, too. A report has no address in its envelope.
  if (!FAILED_SUBJECT.test(subject) || (envelope_sender === 'an address' && !is_from_nobody)) return 'other'
  // Automatic answers have the null sender too.
  if (is_from_nobody || is_postmaster) return 'postmaster'
  return is_robot ? 'robot' : 'other'
}

/**
 * Gives the address in From. Mail systems may sign with a word instead: it stands in brackets, before a comment, or
 * alone, and gets an `@` without a domain. Empty brackets are the null sender. A name before an address proves nothing.
 */
function addressOfAuthor(root: Part): string {
  const from = (rawHeader(root.fields, 'from') ?? '').slice(0, MAX_DIAGNOSTIC)
  const address = parseAddresses(from)[0]?.address
  if (address) return address
  const outside = from.replace(/"[^"]*"|\([^()]*\)/g, ' ')
  const word = (/<([^<>]*)>/.exec(outside)?.[1] ?? outside).replace(/[\s<>"']/g, '').replace(/@+$/, '')
  return `${word || (/<\s*>/.test(outside) ? 'mailer-daemon' : from.replace(/[\s<>"']/g, ''))}@`
}

/** True for the null sender, as mail stores note it, and for a report that Exchange 2003 or qmail wrote itself. */
function isFromNobody({ fields }: Part): boolean {
  if (/^<(?:mailer-daemon(?:@[^<>]*)?)?>$/i.test(headerText(fields, 'return-path') ?? '')) return true
  return fields.some(
    ({ key, value }) => key === 'x-ms-embedded-report' || (key === 'received' && /\binvoked for bounce\)/.test(value)),
  )
}

function guessKind({ returned }: Report): BounceKind {
  return DELAYED_TEXT.test(returned.notice) && !/(?:^|[\s:<#(])(?:5\d\d[\s-]|5\.\d\.\d)/m.test(returned.notice)
    ? 'delayed'
    : 'failed'
}

function guessRecipients(report: Report): BounceRecipient[] {
  const { root, returned } = report
  const own = new Set([
    ...['from', 'to', 'reply-to'].flatMap((key) => addressesIn(headerText(root.fields, key) ?? '')),
    ...returned.message_ids.map((id) => id.toLowerCase()),
    ...returned.return_addresses,
  ])
  const named = addressesIn(headerText(root.fields, 'x-failed-recipients') ?? '')
  const quoted = addressesIn(returned.notice).filter((address) => !own.has(address))
  const found = named.length > 0 ? named : quoted.slice(0, 10)
  const diagnostic = errorLine(returned.notice)
  const status = /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(returned.notice)?.[0] ?? null
  const action = guessKind(report)
  return found.slice(0, MAX_RECIPIENTS).map((address) => ({ address, status, diagnostic, action }))
}

function errorLine(notice: string): string | null {
  const lines = notice.split('\n').map(oneLine)
  return (
    lines.find((line) => /(?:^|\s|<)[45]\d\d[\s-]/.test(line) && SMTP_ERROR.test(line)) ??
    lines.find((line) => SMTP_ERROR.test(line)) ??
    lines.find((line) => FAILED_TEXT.test(line)) ??
    null
  )
}

function bareAddress(value: string | null | undefined): string | null {
  return addressesIn(value ?? '')[0] ?? null
}
