/** Reads the emails of the team with what became of them. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { escapeLike } from '../../base/shapes/fold'
import { firstIdAt } from '../../base/shapes/ids'
import { type Page, page } from '../../base/shapes/page'
import type { OutboundFilter, OutboundMessage } from './model'

/** Lists them, newest first. */
export function listOutboundMessages(scope: Scope, filter: OutboundFilter): Promise<Page<OutboundMessage>> {
  const { sql, organization_id } = scope
  const found = sql`
    from messages m
    where m.organization_id = ${organization_id} and m.email_status <> 'none' and m.ticket_id not in (
      select d.id from tickets d
      where d.organization_id = ${organization_id} and d.deleted_at is not null and d.purged_at is null
    ) ${conditionOf(scope, filter)}`
  return page(scope, filter, {
    name: 'outbound-messages',
    sort: { keys: [{ sql: sql`m.id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice, order }) => presented(scope, sql`select m.* ${found} ${slice}`, order),
    count: () => sql<{ total: number }[]>`select count(*) as total ${found}`,
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

function conditionOf({ sql, organization_id }: Scope, filter: OutboundFilter): Fragment {
  const { status, mailbox_id, to, subject, created_after, created_before } = filter
  const email_message_id = filter.email_message_id?.replace(/^<|>$/g, '')
  const words = subject?.split(/\s+/).filter(Boolean) ?? []
  const sentTo = (condition: Fragment) => sql`
    and m.id in (
      select r.message_id from message_recipients r where r.organization_id = ${organization_id} and ${condition}
    )`
  const subjectHas = (word: string) => sql`and t.subject ilike ${`%${escapeLike(word)}%`}`
  return sql`
    ${status === undefined ? sql`` : sql`and m.email_status = ${status}`}
    ${mailbox_id === undefined ? sql`` : sql`and m.mailbox_id = ${mailbox_id}`}
    ${created_after === undefined ? sql`` : sql`and m.id >= ${firstIdAt(created_after + 1)}`}
    ${created_before === undefined ? sql`` : sql`and m.id < ${firstIdAt(created_before)}`}
    ${to === undefined ? sql`` : sentTo(to.startsWith('@') ? sql`substring(r.email_key from '[^@]*$') = ${to.slice(1)}` : sql`r.email_key = ${to}`)}
    ${
      words.length === 0
        ? sql``
        : sql`
      and m.ticket_id in (
        select t.id from tickets t where t.organization_id = ${organization_id} ${words.map(subjectHas)}
      )`
    }
    ${
      email_message_id === undefined
        ? sql``
        : sql`
      and m.id in (
        select a.message_id from email_anchors a
        where a.organization_id = ${organization_id} and a.email_message_id = ${email_message_id}
      )`
    }`
}
