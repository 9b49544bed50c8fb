/** Reports about the delivery of a message: RFC 3464, and the many forms that came before or ignore it. Pure. */
import { storable } from '../../search/fold'
import { looksLikeAddress, parseAddresses } from '../mime/addresses'
import { type HeaderField, headerText, messageIds, oneLine, rawHeader, splitHeader } from '../mime/headers'
import { findParts, type Part } from '../mime/parts'

export type BounceRecipient = {
  address: string
  /** Enhanced status code (RFC 3463) such as `5.1.1`; null when the report has none. */
  status: string | null
  diagnostic: string | null
  action: BounceKind
}

/** `failed` is final; `delayed` is a warning while delivery goes on; `delivered` confirms it. */
export type BounceKind = 'failed' | 'delayed' | 'delivered'

export type Bounce = {
  /** The worst that the report says of any recipient. Only `failed` is a bounce. */
  kind: BounceKind
  recipients: BounceRecipient[]
  /**
   * The message that was not delivered, as far as the report quotes it. Ids without brackets; addresses are where
   * answers to it and reports about it were to go, which stay when a relay gives it another id.
   */
  about: { message_ids: string[]; return_addresses: string[]; subject: string | null }
  /** One line for people. */
  diagnostic: string
}

type Report = { root: Part; original: Original; author: Author; subject: string }

/**
 * Who wrote, as far as that proves a report: a mail system for certain, an address that both mail systems and people
 * use, a robot of any kind, or somebody else.
 */
type Author = 'daemon' | 'postmaster' | 'robot' | 'other'

/** The returned message or its header, in a part of its own or quoted in the text. */
type Original = {
  message_ids: string[]
  return_addresses: string[]
  subject: string | null
  isReturned: boolean
  notice: string
}

const MAX_RECIPIENTS = 100
/** Of the part that machines read: thousands of recipients are no report. */
const MAX_STATUS_BYTES = 200_000
/** A report returns one message, in one or two forms. */
const MAX_RETURNED = 10
/** Two in each form. */
const MAX_RETURN_FIELDS = MAX_RETURNED * 2
const MAX_DIAGNOSTIC = 1000
/** Reports say what happened at the start; the rest is the returned message. */
const MAX_TEXT = 200_000

/** Addresses that no person writes from. */
const DAEMON =
  /^(?:mailer[-_.]?daemon|mail[-_]?daemon|mdaemon|post[-_]master|double-bounce|mmdf|uucp|microsoftexchange[0-9a-f]{20,40})(?:@|$)/i

/** Addresses of mail systems that people answer for, and write from. */
const POSTMASTER = /^(?:postmaster|mail[-_.]?(?:delivery|system)[-_.\w]*|bounces?)@/i

const MACHINE = /^(?:no[-_.]?reply|do[-_.]?not[-_.]?reply|sys(?:tem)?[-_.]?admin|.*-(?:admin|owner|request))@/i

/** What people put before the subject of what they answer or pass on. */
const ANSWER_SUBJECT =
  /^\s*(?:re|aw|antw|sv|vs|fwd?|wg|tr|rv|enc|doorst|vb|res?p|rif|r|i|odp|ynt|回复|答复|转发|回覆)\s*(?:\[\d+\])?\s*[:：]/i

const FAILED_SUBJECT =
  /undeliver|returned (?:mail|to sender)|(?:mail|message|delivery)[\s:()]*(?:delivery )?(?:status notification|has )?\W*(?:failed|failure|fehlgeschlagen)|failure notice|delivery (?:status )?(?:notification|report|error|problem)|could not (?:be delivered|send)|(?:error|problem) sending (?:your )?(?:mail|message)|mail system error|non-?delivery|permanent(?:ly)? (?:delivery )?fail|unzustellbar|nicht zugestellt|zustellung|non remis|[eé]chec de (?:la )?remise|no se (?:ha )?(?:podido|pudo) entregar|no entregado|mancat[oa] (?:recapito|consegna)|falha na entrega|não entregue|onbestelbaar|nie została dostarczona|kunde inte levereras|olevererbar|kunne ikke leveres|nedoručiteln|kézbesíthetetlen|teslim edilemedi|не доставлено|недоставлен|退信|无法送达|無法傳遞|반송|delayed \d+ hours|delivery (?:delayed|incomplete)|配信|配送|送信できません|エラー通知|メールエラー|\[bounce\]|fail(?:ed|ure) delivery|^delivery status$|loop alert/i

const FAILED_TEXT =
  /(?:could|can|cannot|would|were|was)\s?(?:not|n['’]t)?\s+(?:not\s+)?be\s+delivered|un(?:able|deliverable)|(?:delivery|message|mail)[^.\n]{0,60}\b(?:failed|failure|failing|rejected|impossible)|not\s+(?:deliver|reach)|undelivered|returned\s+(?:to|mail)|(?:user|mailbox|recipient|address|account|host|domain)[^.\n]{0,40}(?:unknown|not found|full|unavailable|disabled|doesn't|does not exist|invalid|rejected)|(?:unknown|invalid|no such)\s+(?:user|recipient|mailbox|address|account)|permanent (?:fatal )?error|transcript of session|gave up|giving up|bounced|had delivery (?:problems|errors)|error message below|duplicated message-id|error (?:sending|occurred while trying to deliver)|nicht zugestellt|n['’]a pas (?:pu être|été) (?:remis|délivré|distribué)|no (?:pudo|ha podido) (?:ser )?entrega|non (?:ha potuto|è stato possibile|può) (?:essere )?(?:consegna|recapita)|não (?:pôde|foi possível|pode) (?:ser )?entreg|ku?on? niet worden (?:bezorgd|afgeleverd)|nie (?:można|mogła|została)[^.\n]{0,20} dostarczon|送信できません|配信できません|无法送达|退回|не\s+(?:может быть |была\s+)?(?:доставлен|отправлен)/i

const DELAYED_TEXT =
  /warning message only|has not yet been delivered|delivery attempts will continue|temporary problem (?:while )?deliver|will retry for|has been delayed|is delayed|delayed for more than|do not need to re-?send|temporary failure report|will (?:be retried|continue to (?:try|be)|keep trying)|could not send message for past|still trying/i

const SMTP_ERROR = /(?:^|[\s:<#(])(?:[45]\d\d[\s-]+\S|[45]\.\d{1,3}\.\d{1,3}\b)/m

const ORIGINAL_MARKER =
  /^[ \t>]{0,20}(?:-{2,40}[ \t]{0,20})?(?:(?:this|here|below|the following) (?:is|follows|this line)[^\n]{0,60}(?:copy|header|original|text)|original message|(?:the )?original (?:message|mail)[^\n]{0,40}follow|(?:un(?:sent|delivered)|returned|rejected) (?:message|mail)[^\n]{0,20}follow|message (?:header|text|text follows|details)|header(?:s)? of[^\n]{0,40}|(?:begin|start)[^\n]{0,20}(?:message|header)|included is a copy|beginning of the original)[^\n]{0,80}$/im

/**
 * What a message reports about the delivery of another one; null for everything else. Wording counts only in mail from
 * the address of a mail system, whatever name stands before it, so that a customer who writes about a bounce is never
 * taken for one. Complaint reports (ARF) and read receipts are no delivery reports.
 * @param text the plain text of the message
 */
export function readBounce(root: Part, text: string): Bounce | null {
  const kind = root.content_params.get('report-type')?.toLowerCase()
  if (kind === 'feedback-report' || kind === 'disposition-notification') return null
  if (findParts(root, 'message/feedback-report').length > 0) return null
  const report = readReport(root, text)
  const status = readStatus(report)
  const recipients = status ? readRecipients(status) : []
  if (recipients.length > 0) return describe(report, recipients)
  return kind === 'delivery-status' || status || readsAsBounce(report)
    ? describe(report, guessRecipients(report))
    : null
}

/** The part that machines read. Outside of a report somebody may have passed it on. */
function readStatus({ root, author }: Report): Part | undefined {
  if (root.content_type !== 'multipart/report' && author === 'other') return undefined
  return ['message/delivery-status', 'message/global-delivery-status'].flatMap((type) => findParts(root, type))[0]
}

function readReport(root: Part, text: string): Report {
  const subject = (headerText(root.fields, 'subject') ?? '').slice(0, MAX_DIAGNOSTIC)
  return { root, original: readOriginal(root, text.slice(0, MAX_TEXT)), author: readAuthor(root, subject), subject }
}

function describe(report: Report, recipients: BounceRecipient[]): Bounce {
  const { root, original, subject } = report
  const worst = (['failed', 'delayed'] as const).find((kind) => recipients.some(({ action }) => action === kind))
  const kind = recipients.length > 0 ? (worst ?? 'delivered') : guessKind(report)
  const told = recipients.find(({ action, diagnostic }) => action === kind && diagnostic)?.diagnostic
  const replied = ['in-reply-to', 'references'].flatMap((key) => messageIds(rawHeader(root.fields, key) ?? ''))
  return {
    kind,
    recipients,
    about: {
      message_ids: [...new Set([...original.message_ids, ...replied])],
      return_addresses: original.return_addresses,
      subject: original.subject,
    },
    diagnostic: storable(oneLine(told ?? errorLine(original.notice) ?? subject), MAX_DIAGNOSTIC),
  }
}

/** The groups of fields of a delivery status (RFC 3464 section 2): the first is about the message, the others about recipients. */
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

/** A field of the form `type; value`. */
function typed(fields: HeaderField[], key: string): string | null {
  return (
    headerText(fields, key)
      ?.replace(/^[\w-]{1,40}\s*;\s*/, '')
      .slice(0, MAX_DIAGNOSTIC) || null
  )
}

function readsAsBounce(report: Report): boolean {
  const { root, original, author, subject } = report
  if (headerText(root.fields, 'x-failed-recipients')) return true
  if (author === 'other') return false
  const notice = original.notice.slice(0, 20_000)
  const isFailure = FAILED_TEXT.test(notice) || DELAYED_TEXT.test(notice)
  const hasCode = SMTP_ERROR.test(original.notice)
  if (author === 'daemon') {
    return [FAILED_SUBJECT.test(subject), isFailure, hasCode, original.isReturned].filter(Boolean).length >= 2
  }
  // Here the subject says so already.
  if (original.message_ids.length > 0) return isFailure || hasCode
  // Shops and parcel services write of deliveries that failed, too: from robots it takes the message itself.
  return author === 'postmaster' && hasCode && guessRecipients(report).length > 0
}

/** People and mail systems share addresses: what comes from there is a report only if its subject says so. */
function readAuthor(root: Part, subject: string): Author {
  const address = addressOfAuthor(root)
  if (DAEMON.test(address)) return 'daemon'
  if (ANSWER_SUBJECT.test(subject)) return 'other'
  const [isPostmaster, isRobot, isNobody] = [POSTMASTER.test(address), MACHINE.test(address), isFromNobody(root)]
  if (isNobody && (isPostmaster || isRobot)) return 'daemon'
  if (!FAILED_SUBJECT.test(subject)) return 'other'
  // Automatic answers have the null sender too.
  if (isNobody || isPostmaster) return 'postmaster'
  return isRobot ? 'robot' : 'other'
}

/** Mail systems may sign with a word that is no address; the name before an address is anybody's choice. */
function addressOfAuthor(root: Part): string {
  const from = (rawHeader(root.fields, 'from') ?? '').slice(0, MAX_DIAGNOSTIC)
  return parseAddresses(from)[0]?.address ?? from.replace(/[\s<>"']/g, '')
}

/** The null sender, as stores note it, or a report that qmail wrote itself. */
function isFromNobody({ fields }: Part): boolean {
  if (/^<(?:mailer-daemon(?:@[^<>]*)?)?>$/i.test(headerText(fields, 'return-path') ?? '')) return true
  return fields.some(({ key, value }) => key === 'received' && /\binvoked for bounce\)/.test(value))
}

function guessKind({ original }: Report): BounceKind {
  return DELAYED_TEXT.test(original.notice) && !/(?:^|[\s:<#(])(?:5\d\d[\s-]|5\.\d\.\d)/m.test(original.notice)
    ? 'delayed'
    : 'failed'
}

function guessRecipients(report: Report): BounceRecipient[] {
  const { root, original } = report
  const own = new Set([
    ...['from', 'to', 'reply-to'].flatMap((key) => addressesIn(headerText(root.fields, key) ?? '')),
    ...original.message_ids.map((id) => id.toLowerCase()),
    ...original.return_addresses,
  ])
  const named = addressesIn(headerText(root.fields, 'x-failed-recipients') ?? '')
  const quoted = addressesIn(original.notice).filter((address) => !own.has(address))
  const found = named.length > 0 ? named : quoted.slice(0, 10)
  const diagnostic = errorLine(original.notice)
  const status = /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(original.notice)?.[0] ?? null
  const action = guessKind(report)
  return found.slice(0, MAX_RECIPIENTS).map((address) => ({ address, status, diagnostic, action }))
}

function readOriginal(root: Part, text: string): Original {
  const returned = ['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']
    .flatMap((type) => findParts(root, type))
    .slice(0, MAX_RETURNED)
    .map(
      (part) =>
        part.content
          .subarray(0, 65_536)
          .toString('latin1')
          .trimStart()
          .split(/\r?\n\r?\n/)[0] ?? '',
    )
    .map((header) => splitHeader(Buffer.from(header, 'latin1')))
  const marker = ORIGINAL_MARKER.exec(text)
  const quoted = marker ? text.slice(marker.index) : text
  const ids = [
    ...returned.flatMap((fields) => messageIds(rawHeader(fields, 'message-id') ?? '')),
    ...Array.from(
      quoted.matchAll(/^[ \t>]{0,20}(?:x-original-)?message-id[ \t]{0,5}:\s{0,5}(<[^<>\s]{1,500}>)/gim),
      (match) => match[1]?.slice(1, -1) ?? '',
    ),
  ]
  const return_fields = [
    ...returned.flatMap((fields) => ['reply-to', 'return-path'].map((key) => rawHeader(fields, key) ?? '')),
    ...Array.from(
      quoted.matchAll(/^[ \t>]{0,20}(?:reply-to|return-path)[ \t]{0,5}:\s{0,5}(\S.{0,500})$/gim),
      (match) => match[1] ?? '',
    ),
  ]
  const header = returned.find((fields) => headerText(fields, 'subject'))
  const subject = header
    ? headerText(header, 'subject')
    : (/^[ \t>]{0,20}subject[ \t]{0,5}:[ \t]{0,20}(\S.{0,500})$/im.exec(quoted)?.[1] ?? null)
  return {
    message_ids: ids,
    return_addresses: [...new Set(return_fields.slice(0, MAX_RETURN_FIELDS).flatMap(addressesIn))],
    subject,
    isReturned: returned.length > 0 || ids.length > 0 || marker !== null,
    notice: marker ? text.slice(0, marker.index) : text,
  }
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

function addressesIn(text: string): string[] {
  const found = text.slice(0, 20_000).match(/[^\s@<>()[\],;:"'\\=]{1,64}@[^\s@<>()[\],;:"'\\]{1,190}/g) ?? []
  return [...new Set(found.map((address) => address.replace(/\.+$/, '').toLowerCase()))].filter(looksLikeAddress)
}

function bareAddress(value: string | null | undefined): string | null {
  return addressesIn(value ?? '')[0] ?? null
}
