/** Tells what became of an answer of the team: each attempt to send it, and what waits. */
import type { Connection } from '../../base/db/transact'
import { outboxWaits } from '../../delivery/outbox/hold'
import { type Found, listed, type Story, ticketWords } from './story'

type Answer = {
  email_message_id: string | null
  email_status: string
  attempts: number
  server_response: string | null
  tries: { at: string; response: string | null }[]
  created_at: string
  code: string | null
  is_deleted: boolean
  address: string | null
  recipients: { email: string; status: string; error: string | null }[]
  has_job: boolean
  is_leased: boolean
  is_parked: boolean
  run_at: string | null
  fault: string | null
  failing_since: string | null
  try_at: string | null
}

/** The entries about it in the timeline of the ticket. */
type Entry = {
  type: string
  data: { recipients?: string[]; recipient?: string; error?: string | null }
  created_at: string
}

/** Tells of an answer. */
export async function tellAnswer(connection: Connection, { organization_id, id }: Found): Promise<Story> {
  const [answer, entries] = await Promise.all([
    readAnswer(connection, organization_id, id),
    readEntries(connection, organization_id, id),
  ])
  if (!answer) return { title: `answer ${id}, which was removed meanwhile`, events: [] }
  const { email_message_id, email_status, recipients, address, created_at } = answer
  const title = `answer ${email_message_id === null ? id : `<${email_message_id}>`} in ${ticketWords(answer)}`
  if (email_status === 'none') return { title, events: [[created_at, 'written, and not to be sent by email']] }
  const to = `${listed(recipients.map(({ email }) => email))}, by the mailbox ${address ?? 'that was deleted since'}`
  return { title, events: [[created_at, `queued for ${to}`], ...between(answer, entries), ...openEvents(answer)] }
}

async function readAnswer({ sql }: Connection, organization_id: string, id: string): Promise<Answer | undefined> {
  const [answer] = await sql<Answer[]>`
    select m.email_message_id, m.email_status, coalesce(o.attempts, m.email_attempts, 0) as attempts, m.server_response,
      coalesce(m.email_tries, '[]') as tries, m.created_at, t.code, t.deleted_at is not null as is_deleted, b.address, (
        select coalesce(json_agg(json_build_object('email', r.email, 'status', r.status, 'error', r.error)
          order by r.position), '[]')
        from message_recipients r where r.organization_id = ${organization_id} and r.message_id = m.id
      ) as recipients,
      o.id is not null as has_job, coalesce(o.lease_until > now(), false) as is_leased,
      coalesce(o.run_at = 'infinity', false) as is_parked,
      case when o.run_at > now() and o.run_at < 'infinity' then o.run_at end as run_at,
      f.error as fault, f.failing_since, f.try_at
    from messages m
    left join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id
    left join outbox o on o.organization_id = ${organization_id} and o.id = m.id and o.kind = 'email'
    left join lane_faults f on f.organization_id = ${organization_id} and f.lane_id = o.lane_id
    left join mailboxes b on b.organization_id = ${organization_id} and b.id = coalesce(m.mailbox_id, o.lane_id)
    where m.organization_id = ${organization_id} and m.id = ${id}`
  return answer
}

/** Entries stay on the ticket on which they were written. */
function readEntries({ sql }: Connection, organization_id: string, id: string) {
  return sql<Entry[]>`
    select a.type, a.data, a.created_at
    from messages m
    join activities a on a.organization_id = ${organization_id} and a.ticket_id in (m.ticket_id, m.original_ticket_id)
      and a.type in ('email_sent', 'email_resent', 'email_failed', 'email_bounced') and a.data ->> 'message_id' = m.id::text
    where m.organization_id = ${organization_id} and m.id = ${id}
    order by a.id`
}

/** Attempts that were not the last, and what the timeline says, in the order of time. */
function between({ tries, server_response, recipients }: Answer, entries: Entry[]): Story['events'] {
  const tried = tries.map(({ at, response }): Story['events'][number] => [
    at,
    `tried, and stays queued: ${response ?? 'no answer'}`,
  ])
  const told = entries.map(({ type, data, created_at }): Story['events'][number] => {
    const to = listed(data.recipients ?? (data.recipient ? [data.recipient] : recipients.map(({ email }) => email)))
    if (type === 'email_sent') return [created_at, `taken by the server for ${to}${last(server_response)}`]
    if (type === 'email_resent') return [created_at, `sent again by a person, to ${to}`]
    if (type === 'email_failed') return [created_at, `failed for good for ${to}: ${data.error ?? 'without a reason'}`]
    return [created_at, `bounced: ${data.error ?? 'a report came back'}`]
  })
  return [...tried, ...told].toSorted(([one], [other]) => (one ?? '').localeCompare(other ?? ''))
}

function last(response: string | null): string {
  return response === null ? '' : `, which said: ${response}`
}

/** The work that is still to be done. */
function openEvents(answer: Answer): Story['events'] {
  const { email_status, has_job, is_leased, is_parked, run_at, fault, failing_since, try_at, attempts } = answer
  if (email_status !== 'queued') return []
  if (!has_job) {
    return [[null, 'queued, and no job will send it: this is a fault of the service. Keep the log and the database']]
  }
  if (outboxWaits()) return [[null, 'queued: the outbox of this restored service waits for bun run cli outbox resume']]
  if (is_leased) return [[null, 'queued: a worker sends it now']]
  if (fault !== null) {
    const next = try_at === null ? '' : `; the next try is at ${try_at}`
    return [
      [null, `waits with all mail of its mailbox, whose server is at fault since ${failing_since}: ${fault}${next}`],
    ]
  }
  if (is_parked)
    return [[null, 'waits, and nothing is known of why: bun run cli outbox retry --organization ID makes it due']]
  if (run_at !== null) return [[null, `queued: attempt ${attempts + 1} is due at ${run_at}`]]
  return [[null, `queued: attempt ${attempts + 1} is due. Is the service running?`]]
}
