/** Tells what became of a mail that came to the service. */
import type { SPAM_JUDGES } from '../../base/db/schema'
import type { Connection } from '../../base/db/transact'
import { readMessageId } from '../../desk/messages/anchors'
import { type Found, listed, type Story, ticketWords } from './story'

type Mail = {
  email_message_id: string | null
  from_email: string | null
  envelope_sender: string | null
  recipients: string[]
  remote_address: string | null
  helo: string | null
  tls: boolean | null
  relay_address: string | null
  received_at: string
  storage_key: string | null
  outcome: string
  rule: string | null
  /** The id or code that led to the ticket, and the message that has the id. */
  led_by: string | null
  led_to: string | null
  sender_verified: boolean | null
  spam_score: number | null
  spam_by: (typeof SPAM_JUDGES)[number] | null
  code: string | null
  is_deleted: boolean
  /** The message that it became or reports about, and whether it is still there. */
  message_id: string | null
  filed_at: string | null
  has_job: boolean
  is_leased: boolean
  attempts: number
  run_at: string | null
}

/** Tells of a mail that got a 250. */
export async function tellMail({ sql }: Connection, { organization_id, id }: Found): Promise<Story> {
  const [mail] = await sql<Mail[]>`
    select i.email_message_id, i.from_email, i.envelope_sender,
      case when i.recipients = '{}' then array[i.recipient] else i.recipients end as recipients, i.remote_address, i.helo,
      i.tls, i.relay_address, i.received_at, i.storage_key, i.outcome, i.rule, i.led_by, i.sender_verified, i.spam_score, i.spam_by, t.code,
      t.deleted_at is not null as is_deleted, i.message_id, m.created_at as filed_at, o.id is not null as has_job,
      (select a.message_id from email_anchors a where a.organization_id = ${organization_id}
        and a.email_message_id = i.led_by and a.ticket_id = i.ticket_id and a.message_id <> i.message_id limit 1) as led_to,
      coalesce(o.lease_until > now(), false) as is_leased, coalesce(o.attempts, 0) as attempts,
      case when o.run_at > now() and o.run_at < 'infinity' then o.run_at end as run_at
    from inbound_messages i
    left join tickets t on t.organization_id = ${organization_id} and t.id = i.ticket_id
    left join messages m on m.organization_id = ${organization_id} and m.id = i.message_id
    left join outbox o on o.organization_id = ${organization_id} and o.id = i.id and o.kind = 'inbound'
    where i.organization_id = ${organization_id} and i.id = ${id}`
  if (!mail) return { title: `mail ${id}, which was removed meanwhile`, events: [] }
  const { email_message_id, from_email, envelope_sender, recipients } = mail
  const name = email_message_id === null ? `mail ${id}` : `mail <${email_message_id}>`
  const sender = from_email ?? (envelope_sender || 'nobody (an empty sender, as of reports)')
  return {
    title: `${name} from ${sender} to ${listed(recipients)}`,
    events: [[mail.received_at, takenWords(id, mail)], ...outcomeEvents(id, mail)],
  }
}

/** Tells of a mail that was refused. */
export async function tellRefused({ sql }: Connection, { organization_id, id }: Found): Promise<Story> {
  type Refused = Pick<Mail, 'remote_address' | 'helo' | 'tls' | 'received_at'> & Record<'recipient' | 'reply', string>
  const [mail] = await sql<(Refused & { envelope_sender: string })[]>`
    select recipient, envelope_sender, smtp_reply as reply, remote_address, helo, tls, received_at
    from refused_messages where organization_id = ${organization_id} and id = ${id}`
  if (!mail) return { title: `refused mail ${id}, which was removed meanwhile`, events: [] }
  const { recipient, envelope_sender, reply, received_at } = mail
  return {
    title: `mail from ${envelope_sender || 'nobody (an empty sender, as of reports)'} to ${recipient}`,
    events: [[received_at, `refused ${hostWords({ ...mail, relay_address: null })}: ${reply}`]],
  }
}

function takenWords(id: string, mail: Mail): string {
  // Imports and inlets name no client, and no SMTP reply was given to them.
  if (mail.remote_address === null || mail.helo === null) return `accepted over HTTPS or from an import, as ${id}`
  return `accepted ${hostWords(mail)}: 250 Ok: queued as ${id}`
}

type Host = Pick<Mail, 'remote_address' | 'helo' | 'tls' | 'relay_address'>

function hostWords({ remote_address, helo, tls, relay_address }: Host): string {
  const told = [helo === null ? [] : `HELO ${helo}`, tls ? 'TLS' : 'no TLS', relay_address ? `by ${relay_address}` : []]
  return `from ${remote_address} (${told.flat().join(', ')})`
}

function outcomeEvents(id: string, mail: Mail): Story['events'] {
  const { outcome, filed_at, message_id } = mail
  const ticket = ticketWords(mail)
  const gone = message_id !== null && filed_at === null ? ', and that message was removed since' : ''
  switch (outcome) {
    case 'pending':
      return [[null, pendingWords(id, mail)]]
    case 'ticket':
    case 'message':
      return [[filed_at, `filed in ${ticket} (${outcome}, by the rule ${ruleWords(mail)}; ${proofWords(mail)})${gone}`]]
    case 'unparsed':
      return [[filed_at, `could not be parsed: filed in ${ticket} with the original attached${gone}`]]
    case 'bounce':
      return [[null, `a report about the answer ${message_id ?? 'that was removed since'} in ${ticket}`]]
    case 'unmatched_bounce':
      return [[null, 'a report about no answer that is known here: nothing was filed']]
    case 'duplicate':
      return [[null, 'a copy of a mail that was filed before: nothing was filed']]
    case 'own':
      return [[null, 'sent by this service itself: nothing was filed']]
    case 'spam':
      return [[null, `held as spam${spamWords(mail)}. POST /inbound-messages/${id}/release files it`]]
    default:
      return [[null, outcome]]
  }
}

/** Says which rule led to the ticket, by which id or code, and whose id that is. */
function ruleWords({ rule, led_by, led_to }: Mail): string {
  if (rule === null) return 'of an older release'
  if (led_by === null) return rule
  if (rule === 'subject_code') return `${rule}: ${led_by}`
  const owner = readMessageId(led_by) ?? led_to
  return `${rule}: <${led_by}>${owner === null ? '' : ` of the message ${owner}`}`
}

function proofWords({ sender_verified }: Mail): string {
  if (sender_verified === null) return 'nobody could tell if From is true'
  return sender_verified ? 'From is proven' : 'From is forged'
}

const HOLDERS: Record<(typeof SPAM_JUDGES)[number], string> = {
  relay: 'a trusted relay',
  rspamd: 'rspamd',
  sender_rule: 'a sender rule',
  repeat: 'the limit for repeated Message-IDs',
}

function spamWords({ spam_by, spam_score }: Mail): string {
  return `${spam_by ? ` by ${HOLDERS[spam_by]}` : ''}${spam_score === null ? '' : `, score ${spam_score}`}`
}

function pendingWords(id: string, { has_job, is_leased, attempts, run_at, storage_key }: Mail): string {
  if (!has_job)
    return 'not filed, and no job will file it: this is a fault of the service. Keep the log and the database'
  const tried = attempts > 0 ? `, after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}` : ''
  if (is_leased) return `not filed yet: a worker is at it${tried}`
  const log = `lines of the log with ${id} say why`
  if (run_at !== null) return `not filed yet: waits until ${run_at}${tried}; ${log}`
  return `not filed yet: due${tried}${storage_key === null ? ', and its original is gone' : ''}. Is the service running? ${log}`
}
