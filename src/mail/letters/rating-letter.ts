/** Writes the letter that asks the contact of a ticket for a rating, when it leaves: if that is still to be asked. */
import { domainsOf } from '../../base/address/domains'
import { withChangeTime } from '../../base/db/change-time'
import { escapeHtml } from '../../base/html/text'
import { inTransaction, type Scope } from '../../base/scope'
import { findRecipients } from '../../desk/messages/addressees'
import { newMessageId, replyAddress } from '../../desk/messages/anchors'
import { ratingLink } from '../../desk/ratings/rating-link'
import { ratingWords } from '../../desk/ratings/rating-words'
import { isFinished } from '../../desk/ratings/requests'
import { readWriter } from '../../desk/ratings/written-language'
import { COUNTED_HOURS, MOST_TO_ADDRESS } from '../../desk/rules/may-answer'
import { fromName } from '../../desk/templates/from-name'
import { recordActivity } from '../../desk/timeline/activity'
import { type LetterText, plainName, type ReadyLetter } from './letter-texts'

/** Tickets of the contact among which the letters that the service sends by itself are counted. */
const LATEST_TICKETS = 100

/** A ticket that waits for its letter, with its request. */
type Asked = {
  id: string
  code: string
  subject: string
  status: string
  mailbox_id: string | null
  contact_id: string | null
  contact_name: string | null
  contact_email: string | null
  is_automatic: boolean
  /** The organization asks no more when tickets are resolved. */
  is_off: boolean
  sent_at: string | null
}

/**
 * Writes the letter, and notes that it leaves: its links are good from now on, and answers to it lead to the ticket.
 * @param id of the letter and of the request
 * @returns undefined when nobody is to be asked: the ticket is open again, merged or gone, it has no contact, no
 *   mailbox can send, or the organization has switched it off meanwhile. By itself the service asks no machine, and
 *   nobody too often
 */
export function writeRatingLetter(scope: Scope, id: string, ticket_id: string): Promise<ReadyLetter | undefined> {
  return inTransaction(scope, async (scope) => {
    const [asked, locked_at] = await withChangeTime(scope.sql, findAsked(scope, id, ticket_id))
    if (!asked?.contact_id || !isFinished(asked.status) || (asked.is_automatic && asked.is_off)) return undefined
    const { code, subject, contact_id, is_automatic, sent_at } = asked
    const { mailbox, recipients } = await findRecipients(scope, asked, [])
    const writer = await readWriter(scope, { ticket_id, contact_id })
    const [to] = recipients
    if (!mailbox || !to) return undefined
    if (is_automatic && (writer.is_forged || (await isForMachine(scope, { id, ticket_id, contact_id }))))
      return undefined
    const { address, plus_addressing, organization_name } = mailbox
    const message_id = newMessageId(id, domainsOf(address)[0] ?? '')
    if (sent_at === null) await noteSent(scope, { id, ticket_id, contact_id, is_automatic, message_id, locked_at })
    return {
      mailbox_id: mailbox.id,
      recipient: to.email,
      from_name: fromName(mailbox, mailbox.mailbox_name ?? organization_name),
      reply_to: plus_addressing ? replyAddress(address, ticket_id) : undefined,
      messageId: () => message_id,
      ...letterOf(writer.language, { code, subject, organization_name, link: ratingLink({ ...scope, id }) }),
    }
  })
}

/** Reads what is asked about, behind the lock of the ticket: whoever opens it again waits, or is seen. */
async function findAsked({ sql, organization_id }: Scope, id: string, ticket_id: string): Promise<Asked | undefined> {
  await sql`
    select from tickets where organization_id = ${organization_id} and id = ${ticket_id} for no key update`
  const [asked] = await sql<Asked[]>`
    select t.id, t.code, t.subject, t.status, t.mailbox_id, t.contact_id, c.name as contact_name,
      c.email as contact_email, r.is_automatic, r.sent_at, o.ask_rating_after_minutes is null as is_off
    from rating_requests r
    join tickets t on t.organization_id = ${organization_id} and t.id = r.ticket_id and t.deleted_at is null
      and t.merged_into_id is null
    join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    join organizations o on o.id = ${organization_id}
    where r.organization_id = ${organization_id} and r.id = ${id}`
  return asked
}

/** Tells if machines and lists alone wrote on a ticket, or its contact got as many letters as a rule may answer. */
async function isForMachine(
  { sql, organization_id }: Scope,
  { id, ticket_id, contact_id }: { id: string; ticket_id: string; contact_id: string },
): Promise<boolean> {
  const [found] = await sql<{ is_for_machine: boolean }[]>`
    select coalesce((
      select bool_and(m.auto_reply or m.from_list) from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} and m.direction = 'inbound'
    ), false) or (
      select count(*) >= ${MOST_TO_ADDRESS} from rating_requests r
      where r.organization_id = ${organization_id} and r.id <> ${id} and r.is_automatic
        and r.sent_at > now() - make_interval(hours => ${COUNTED_HOURS}) and r.ticket_id = any(array(
          select t.id from tickets t
          where t.organization_id = ${organization_id} and t.contact_id = ${contact_id} and t.deleted_at is null
          order by t.id desc limit ${LATEST_TICKETS}
        ))
    ) as is_for_machine`
  return found!.is_for_machine
}

type Sent = {
  id: string
  ticket_id: string
  contact_id: string
  is_automatic: boolean
  message_id: string
  locked_at: string
}

async function noteSent(scope: Scope, sent: Sent): Promise<void> {
  const { sql, organization_id } = scope
  const { id, ticket_id, contact_id, is_automatic, message_id, locked_at } = sent
  await sql`
    update rating_requests set sent_at = ${locked_at}, contact_id = ${contact_id}
    where organization_id = ${organization_id} and id = ${id}`
  await sql`
    insert into email_anchors (organization_id, email_message_id, ticket_id)
    values (${organization_id}, ${message_id}, ${ticket_id}) on conflict do nothing`
  if (is_automatic) await recordActivity(scope, ticket_id, [{ type: 'rating_requested', data: {} }])
}

type Fields = { code: string; subject: string; organization_name: string; link: string }

function letterOf(language: Parameters<typeof ratingWords>[0], { code, subject, ...fields }: Fields): LetterText {
  const words = ratingWords(language)
  const name = plainName(fields.organization_name)
  const is_done = words.is_done(code, plainName(subject))
  const links = (['good', 'bad'] as const).map((score) => [words[score], `${fields.link}?score=${score}`] as const)
  const before = [words.hello, is_done]
  const after = [words.asks_again, words.is_open, name]
  const paragraphs = (texts: string[]) => texts.map((text) => `<p>${escapeHtml(text)}</p>`).join('\n')
  const anchors = links.map(([word, href]) => `<a href="${escapeHtml(href)}">${word}</a>`)
  return {
    subject: `${words.question} [${code}]`,
    text: `${[...before, ...links.map(([word, href]) => `${word}: ${href}`), ...after].join('\n\n')}\n`,
    html: [paragraphs(before), `<p>${anchors.join(' &nbsp; ')}</p>`, paragraphs(after)].join('\n'),
  }
}
