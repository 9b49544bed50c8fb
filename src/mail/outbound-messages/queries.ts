/** Reads the emails of the team with what became of them. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { escapeLike } from '../../base/shapes/fold'
import { firstIdAt } from '../../base/shapes/ids'
import { type Page, page } from '../../base/shapes/page'
import type { OutboundFilter, OutboundMessage } from './model'

/**
 * Lists them, newest first. A page looks at its own rows alone. A count reads indexes: each condition is in one that
 * has the ids, too, and the emails of deleted tickets are found once, whatever the planner expects of a recipient.
 */
export function listOutboundMessages(scope: Scope, filter: OutboundFilter): Promise<Page<OutboundMessage>> {
  const { sql, organization_id } = scope
  const deleted = (more?: Fragment) => sql`
    select h.id from tickets d join messages h on h.organization_id = ${organization_id} and h.ticket_id = d.id
    where d.organization_id = ${organization_id} and d.deleted_at is not null and d.purged_at is null ${more ?? sql``}`
  const { from, conditions, row } = foundBy(scope, filter)
  const shown = sql`${from} ${conditions} and not exists (${deleted(sql`and h.id = m.id`)})`
  const counted = sql`${from} ${conditions} and not exists (select 1 from deleted where deleted.id = m.id)`
  return page(scope, filter, {
    name: 'outbound-messages',
    sort: { keys: [{ sql: sql`m.id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice, order }) => presented(scope, sql`select ${row}.* ${shown} ${slice}`, order),
    count: () => sql<{ total: number }[]>`
      with deleted as materialized (${deleted()}) select count(*) as total ${counted}`,
  })
}

/** Selects rows as answers show them: JSON is made of those of the page alone. */
function presented({ sql, organization_id }: Scope, rows: Fragment, order: Fragment) {
  return sql<OutboundMessage[]>`
    select m.id, json_build_object('id', t.id, 'code', t.code, 'subject', t.subject) as ticket,
      case when b.id is not null then json_build_object('id', b.id, 'address', b.address) end as mailbox,
      m.email_message_id, (
        select coalesce(json_agg(json_build_object('email', r.email, 'status', r.status, 'error', r.error)
          order by r.position), '[]')
        from message_recipients r where r.organization_id = ${organization_id} and r.message_id = m.id
      ) as recipients,
      m.email_status as status, coalesce(o.attempts, m.email_attempts, 0) as attempts,
      case when o.run_at = 'infinity' then f.try_at else o.run_at end as next_attempt_at,
      m.server_response, m.created_at
    from (${rows}) m
    join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id
    left join outbox o on o.organization_id = ${organization_id} and o.id = m.id and o.kind = 'email'
    left join lane_faults f on f.organization_id = ${organization_id} and f.lane_id = o.lane_id
    left join mailboxes b on b.organization_id = ${organization_id} and b.id = coalesce(m.mailbox_id, o.lane_id)
    ${order}`
}

/**
 * The words of `messages_undelivered` stand here as they are: a parameter would hide that the index has all of them.
 * Nearly all emails are sent, so they are those that are not in it.
 */
function statusIs({ sql, organization_id }: Scope, status: string, row: Fragment): Fragment {
  const is_undelivered = (of: Fragment) => sql`${of}.email_status in ('queued', 'failed', 'bounced')`
  if (status !== 'sent') return sql`and ${is_undelivered(row)} and ${row}.email_status = ${status}`
  return sql`
    and not exists (
      select 1 from messages u where u.organization_id = ${organization_id} and u.id = m.id and ${is_undelivered(sql`u`)}
    )`
}

/**
 * SQL: the emails that a filter finds, rows `m` with an id, and their messages under the name `row`. Those to a
 * recipient come from its index in their order, so that a page of a common domain stops early.
 */
function foundBy(scope: Scope, filter: OutboundFilter): { from: Fragment; conditions: Fragment; row: Fragment } {
  const { sql, organization_id } = scope
  const { to } = filter
  if (to === undefined) {
    const from = sql`from messages m where m.organization_id = ${organization_id}`
    return { from, conditions: conditionsOf(scope, filter, sql`m`), row: sql`m` }
  }
  const is_to = to.startsWith('@')
    ? sql`substring(r.email_key from '[^@]*$') = ${to.slice(1)}`
    : sql`r.email_key = ${to}`
  const from = sql`
    from (
      select distinct r.message_id as id from message_recipients r
      where r.organization_id = ${organization_id} and ${is_to} order by r.message_id desc
    ) m join messages e on e.id = m.id where e.organization_id = ${organization_id}`
  return { from, conditions: conditionsOf(scope, filter, sql`e`), row: sql`e` }
}

function conditionsOf(scope: Scope, filter: OutboundFilter, row: Fragment): Fragment {
  const { sql, organization_id } = scope
  const { status, mailbox_id, subject, created_after, created_before } = filter
  const email_message_id = filter.email_message_id?.replace(/^<|>$/g, '')
  const words = subject?.split(/\s+/).filter(Boolean) ?? []
  const subjectHas = (word: string) => sql`and t.subject ilike ${`%${escapeLike(word)}%`}`
  const withSubject = sql`
    and ${row}.ticket_id in (
      select t.id from tickets t where t.organization_id = ${organization_id} ${words.map(subjectHas)}
    )`
  const withMessageId = sql`
    and m.id in (
      select a.message_id from email_anchors a
      where a.organization_id = ${organization_id} and a.email_message_id = ${email_message_id ?? ''}
    )`
  return sql`
    ${mailbox_id === undefined ? sql`and ${row}.email_status <> 'none'` : sql`and ${row}.mailbox_id = ${mailbox_id}`}
    ${status === undefined ? sql`` : statusIs(scope, status, row)}
    ${created_after === undefined ? sql`` : sql`and m.id >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and m.id < ${firstIdAt(created_before)}`}
    ${words.length === 0 ? sql`` : withSubject} ${email_message_id === undefined ? sql`` : withMessageId}`
}
