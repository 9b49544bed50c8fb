/**
 * Records a report about delivery. A report can be forged by everybody who got one of our emails: it marks only what it
 * proves to know, and the note about it is in the words of the service, with those of the report as a quotation.
 */
import { addressKey } from '../../base/address/email'
import { textToHtml } from '../../base/html/body'
import { count } from '../../base/metrics/organization-figures'
import { afterCommit, type Scope, together } from '../../base/scope'
import { addMessage } from '../../desk/messages/commands'
import { type Conversation, lockConversation } from '../../desk/messages/conversation'
import { publishEmailEvents } from '../../desk/messages/message-events'
import { recordActivity } from '../../desk/timeline/activity'
import type { Bounce } from '../parse/parse'
import type { Reported } from './reported'

/** Characters of the report that the note quotes: it is for people, and the original has all of it. */
const MAX_WORDS = 10_000
/** Addresses that the note lists. */
const MAX_LISTED = 10

const NO_REASON = 'The report gives no reason'
const NO_PROOF = 'It is not in the form of a delivery report, so the email still counts as sent.'
const NO_RECIPIENT = 'It names nobody to whom the email went, so the email still counts as sent.'

/** A recipient that a server took the message for, and that the report is about. `is_known` to have bounced before. */
type Failed = { position: number; email: string; status: string | null; is_known: boolean }

/**
 * Marks the recipients that the report names, and adds an internal note, when the report says that delivery failed and
 * says anything new. A warning that delivery is late, or a confirmation of it, changes nothing. Nothing is marked by a
 * report that neither has the form of RFC 3464 nor came to the bounce address of the message.
 * @param words body text, when the mail is a report in no known form: a person may have written it
 */
export async function recordBounce(scope: Scope, about: Reported, report: Bounce, words = ''): Promise<void> {
  if (report.kind !== 'failed') return
  const { ticket_id, message_id, is_addressed } = about
  const ticket = await lockConversation(scope, ticket_id)
  const diagnostic = report.diagnostic || NO_REASON
  const failed = await findFailed(scope, message_id, report, is_addressed)
  const is_proven = report.is_formal || is_addressed
  const body = bodyOf(failed, is_proven, report, [diagnostic, words])
  if (is_proven && failed.length > 0) {
    // Servers that report the same again and again add nothing.
    const news = await markBounced(scope, message_id, failed, diagnostic)
    if (!news) return
    afterCommit(scope, () => count(scope.organization_id, 'emails_bounced', failed.length))
    await recordActivity(scope, ticket_id, [{ type: 'email_bounced', data: { message_id, error: diagnostic } }])
    if (news === 'bounced') await publishEmailEvents(scope, message_id, ['message.email_bounced'])
    return addNote(scope, ticket, body)
  }
  if (!(await hasNote(scope, ticket_id, body.text))) await addNote(scope, ticket, body)
}

/**
 * Finds the recipients that the report names. A report to the bounce address that names nobody is about the only
 * recipient, because nobody else got that address; when there are several, it is about none, because the others may
 * well have got the message.
 */
async function findFailed(
  { sql, organization_id }: Scope,
  message_id: string,
  { recipients }: Bounce,
  is_addressed: boolean,
): Promise<Failed[]> {
  const reached = await sql<{ position: number; email: string; email_key: string; is_known: boolean }[]>`
    select position, email, email_key, status = 'bounced' as is_known from message_recipients
    where organization_id = ${organization_id} and message_id = ${message_id} and status in ('sent', 'bounced')
    order by position`
  const named = new Map(
    recipients.filter(({ action }) => action === 'failed').map((one) => [addressKey(one.address), one.status]),
  )
  if (named.size === 0 && is_addressed && reached.length === 1) return [{ ...reached[0]!, status: null }]
  return reached.flatMap((one) => {
    const status = named.get(one.email_key)
    return status === undefined ? [] : [{ ...one, status }]
  })
}

/** @returns what is new: that recipients or the message bounced, or only the words about it; undefined: nothing */
async function markBounced(scope: Scope, id: string, failed: Failed[], diagnostic: string) {
  const { sql, organization_id } = scope
  const positions = failed.map(({ position }) => position)
  const [recipients, messages] = await together([
    sql`
      update message_recipients set status = 'bounced', error = ${diagnostic}
      where organization_id = ${organization_id} and message_id = ${id} and position = any(${positions}::integer[])
        and (status <> 'bounced' or error is distinct from ${diagnostic})`,
    sql<{ is_known: boolean }[]>`
      with before as materialized (
        select id, email_status from messages
        where organization_id = ${organization_id} and id = ${id} for no key update
      )
      update messages m set email_status = 'bounced', email_error = ${diagnostic} from before
      where m.organization_id = ${organization_id} and m.id = before.id
        and (m.email_status <> 'bounced' or m.email_error is distinct from ${diagnostic})
      returning before.email_status = 'bounced' as is_known`,
  ])
  if (recipients.count + messages.count === 0) return undefined
  return [...failed, ...messages].some(({ is_known }) => !is_known) ? 'bounced' : 'words'
}

type NoteBody = { text: string; html: string }

/** @param words of the report */
function bodyOf(failed: Failed[], is_proven: boolean, { recipients }: Bounce, words: string[]): NoteBody {
  const to = failed
    .slice(0, MAX_LISTED)
    .map(({ email, status }) => (status ? `${email} (${status})` : email))
    .join(', ')
  const claim = `the email${to && ` to ${to}`} could not be delivered.`
  const others = recipients
    .map(({ address }) => address)
    .filter((address) => !failed.some(({ email }) => email === address))
  const named = others.length > 0 ? ` It names ${others.slice(0, MAX_LISTED).join(', ')}.` : ''
  const said =
    is_proven && failed.length > 0
      ? `T${claim.slice(1)}`
      : `A report says that ${claim}${named} ${is_proven ? NO_RECIPIENT : NO_PROOF}`
  const quoted = words.filter(Boolean).join('\n\n').slice(0, MAX_WORDS).replaceAll('\u0000', '').toWellFormed().trim()
  const lines = quoted.split(/\r\n?|\n/).map((line) => `> ${line}`)
  return {
    text: `${said}\n\nWords of the report:\n\n${lines.join('\n')}`,
    html: `${textToHtml(`${said}\n\nWords of the report:`)}<blockquote>${textToHtml(quoted)}</blockquote>`,
  }
}

async function addNote(scope: Scope, ticket: Conversation, { text, html }: NoteBody): Promise<void> {
  await addMessage(scope, ticket, {
    body: text,
    // The words of the report are in a quotation.
    format: 'html',
    body_html: html,
    text,
    is_internal: true,
    direction: null,
    channel: 'email',
    sender_name: scope.actor.name,
    sender_email: null,
  })
}

/** True when the ticket has a note of the service with this text. */
async function hasNote({ sql, organization_id }: Scope, ticket_id: string, text: string): Promise<boolean> {
  const found = await sql`
    select 1 from messages
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and is_internal and sender_email is null
      and body = ${text}
    limit 1`
  return found.length > 0
}
