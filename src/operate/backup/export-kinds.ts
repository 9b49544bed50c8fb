/** The kinds of things in an export, with how each is read: by the lists of the API where there is one. */

import { organizationOfUrl } from '../../base/attachment-url'
import { ZERO_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import { attachmentAt, placeSafeImages } from '../../base/html/image-addresses'
import { type Scope, together } from '../../base/scope'
import { listDeliveries, listWebhooks } from '../../delivery/webhooks/queries'
import { listCompanies } from '../../desk/companies/queries'
import { listContacts } from '../../desk/contacts/queries'
import { getDrafts } from '../../desk/drafts/queries'
import { listLabels } from '../../desk/labels/queries'
import { getMacros } from '../../desk/macros/queries'
import { getMessages } from '../../desk/messages/queries'
import { listRules } from '../../desk/rules/queries'
import { listSchedules } from '../../desk/schedules/queries'
import { listSlaPolicies } from '../../desk/sla-policies/queries'
import { listTickets } from '../../desk/tickets/list'
import { listTimeEntries } from '../../desk/time-entries/queries'
import { actorOf } from '../../desk/timeline/queries'
import { listTimers } from '../../desk/timers/queries'
import { listDomains } from '../../mail/domains/queries'
import { listInboundMessages } from '../../mail/inbound-messages/queries'
import { listMailboxes } from '../../mail/mailboxes/queries'
import { listSenderRules } from '../../mail/sender-rules/queries'
import { listApiKeys } from '../../people/api-keys/queries'
import { listAuditLog } from '../../people/audit-log/queries'
import { getOrganization } from '../../people/organizations/queries'
import { listUsers } from '../../people/users/queries'

/** A kind of thing: the name of its file, its meaning for people, and its rows in steps. */
export type Kind = { name: string; meaning: string; read: (scope: Scope) => AsyncIterable<readonly object[]> }

/** The longest page of the API. */
const PAGE = 100
/** Rows of one step that is no page. */
const STEP = 500
/** Messages, drafts or macros of one step: each may be large. */
const LARGE = 20

type Paged = { data: readonly object[]; meta?: { next_cursor: string | null } }

export const KINDS: Kind[] = [
  { name: 'organization', meaning: 'its name, currency and rules', read: organization },
  { name: 'users', meaning: 'members and invited people', read: pages(listUsers) },
  { name: 'api_keys', meaning: 'API keys, without what signs in', read: pages(listApiKeys) },
  { name: 'mailboxes', meaning: 'mailboxes, without passwords and keys', read: pages(listMailboxes) },
  { name: 'domains', meaning: 'domains of mailboxes', read: pages(listDomains) },
  { name: 'companies', meaning: 'companies', read: pages(listCompanies) },
  { name: 'contacts', meaning: 'contacts', read: pages(listContacts) },
  { name: 'views', meaning: 'saved filters, private ones too', read: byId(viewRows) },
  { name: 'labels', meaning: 'labels', read: pages(listLabels) },
  { name: 'teams', meaning: 'teams, with the addresses of their members', read: byId(teamRows) },
  { name: 'schedules', meaning: 'hours of work', read: pages(listSchedules) },
  { name: 'sla_policies', meaning: 'which tickets are promised what', read: pages(listSlaPolicies) },
  { name: 'tickets', meaning: 'tickets', read: pages(listTickets) },
  { name: 'promises', meaning: 'what tickets were promised, and what became of it', read: byId(promiseRows) },
  { name: 'messages', meaning: 'messages and notes, with the ticket_id of each, and whom they quote', read: messages },
  { name: 'drafts', meaning: 'messages that are not sent yet', read: drafts },
  { name: 'macros', meaning: 'prepared answers', read: macros },
  { name: 'rules', meaning: 'macros that are applied by themselves', read: pages(listRules) },
  { name: 'participants', meaning: 'people of a ticket besides its contact', read: byId(participantRows) },
  { name: 'activity', meaning: 'timelines of tickets', read: byId(activityRows) },
  {
    name: 'attachments',
    meaning: 'files of messages and drafts, and uploads that nothing uses yet',
    read: byId(attachmentRows),
  },
  { name: 'time_entries', meaning: 'logged time', read: pages(listTimeEntries) },
  { name: 'timers', meaning: 'running timers', read: pages(listTimers) },
  { name: 'webhooks', meaning: 'webhooks, without secrets', read: pages(listWebhooks) },
  { name: 'deliveries', meaning: 'deliveries of webhooks, with the webhook_id of each', read: deliveries },
  { name: 'sender_rules', meaning: 'senders whose mail is held, or never is', read: pages(listSenderRules) },
  { name: 'inbound_messages', meaning: 'the mail ledger', read: pages(listInboundMessages) },
  { name: 'audit_log', meaning: 'the audit log', read: pages(listAuditLog) },
]

/** The files of the export: `file` is the name in it, `storage_key` that in the store. */
export const fileNames = byId(fileRows)

async function* organization(scope: Scope) {
  yield [await getOrganization(scope)]
}

/** Reads a list of the API page by page. */
function pages(list: (scope: Scope, query: { per_page: number; cursor?: string }) => Promise<Paged>) {
  return async function* (scope: Scope): AsyncGenerator<readonly object[]> {
    for (let cursor: string | undefined; ; ) {
      const { data, meta } = await list(scope, { per_page: PAGE, ...(cursor && { cursor }) })
      yield data
      if (!meta?.next_cursor) return
      cursor = meta.next_cursor
    }
  }
}

type Rows = (scope: Scope, after: string, most: Fragment) => Promise<readonly { id: string }[]>

/** Reads rows in the order of their ids. */
function byId(rowsAfter: Rows, step = STEP) {
  return async function* (scope: Scope): AsyncGenerator<readonly { id: string }[]> {
    for (let after = ZERO_ID; ; ) {
      const rows = await rowsAfter(scope, after, scope.sql`limit ${step}`)
      yield rows
      if (rows.length < step) return
      after = rows.at(-1)!.id
    }
  }
}

/** A message, with what the API does not show: a list has passed it on, so that no rule answers it elsewhere. */
type Exported = { id: string; ticket_id: string; from_list: boolean }

async function* messages(scope: Scope): AsyncGenerator<readonly object[]> {
  const { sql, organization_id } = scope
  const idsAfter: Rows = (_, after, most) => sql<Exported[]>`
    select m.id, m.ticket_id, m.from_list from messages m ${withLiveTicket(scope, sql`m`)}
    where m.organization_id = ${organization_id} and m.id > ${after} order by m.id ${most}`
  for await (const rows of byId(idsAfter, LARGE)(scope)) {
    const ids = rows.map(({ id }) => id)
    const [found, quotes] = await together([getMessages(scope, ids), quotesOf(scope, ids)])
    yield (rows as Exported[]).map(({ id, ticket_id, from_list }) => ({
      ticket_id,
      ...withPlaces(found.get(id)!),
      ...(from_list && { from_list }),
      ...(quotes.has(id) && { quotes: quotes.get(id) }),
    }))
  }
}

/** Reads the sources of what messages quote, with the copies of their files. @returns by the ids of the messages */
async function quotesOf({ sql, organization_id }: Scope, ids: string[]): Promise<Map<string, object[]>> {
  const rows = await sql<{ quoting_id: string }[]>`
    select q.message_id as quoting_id, q.piece, q.source_id as message_id, q.source_ticket_id as ticket_id,
      coalesce(g.contact_id, q.contact_id) as contact_id, q.sender_key as email, q.body_length as length,
      q.attachment_ids
    from message_quotes q
    left join merged_contacts g on g.organization_id = ${organization_id} and g.id = coalesce(q.contact_id, ${ZERO_ID})
    where q.organization_id = ${organization_id} and q.message_id = any(${ids}::uuid[])
    order by q.message_id, q.piece, q.source_id`
  const by_message = Map.groupBy(rows, ({ quoting_id }) => quoting_id)
  return new Map([...by_message].map(([id, quotes]) => [id, quotes.map(({ quoting_id: _, ...quote }) => quote)]))
}

async function* drafts(scope: Scope): AsyncGenerator<readonly object[]> {
  const { sql, organization_id } = scope
  const idsAfter: Rows = (_, after, most) => sql<{ id: string }[]>`
    select id from drafts where organization_id = ${organization_id} and id > ${after} order by id ${most}`
  for await (const rows of byId(idsAfter, LARGE)(scope)) {
    const found = await getDrafts(
      scope,
      rows.map(({ id }) => id),
    )
    yield found.map(withPlaces)
  }
}

async function* macros(scope: Scope): AsyncGenerator<readonly object[]> {
  const { sql, organization_id } = scope
  const idsAfter: Rows = (_, after, most) => sql<{ id: string }[]>`
    select id from macros where organization_id = ${organization_id} and id > ${after} order by id ${most}`
  for await (const rows of byId(idsAfter, LARGE)(scope)) {
    yield await getMacros(
      scope,
      rows.map(({ id }) => id),
    )
  }
}

type WithFiles = { body_html: string; attachments: { id: string; url: string }[] }

/** Puts the place in the export where the API has a signed address, in the HTML of images too. */
function withPlaces<T extends WithFiles>(message: T): T {
  const body_html = placeSafeImages(message.body_html, (address) => {
    const id = organizationOfImage(address) && attachmentAt(address)
    return id ? { src: pathOfAttachment(id) } : undefined
  })
  const attachments = message.attachments.map((file) => ({ ...file, url: pathOfAttachment(file.id) }))
  return { ...message, body_html, attachments }
}

/** An image that the API shows has a signature that holds; others are what somebody wrote. */
function organizationOfImage(address: string): string | undefined {
  return URL.canParse(address) ? organizationOfUrl(address) : undefined
}

function pathOfAttachment(attachment_id: string): string {
  return `files/attachments/${attachment_id}`
}

async function* deliveries(scope: Scope): AsyncGenerator<readonly object[]> {
  for await (const webhooks of pages(listWebhooks)(scope)) {
    for (const { id } of webhooks as { id: string }[]) {
      for await (const step of pages((inner, query) => listDeliveries(inner, id, query))(scope)) {
        yield step.map((delivery) => ({ webhook_id: id, ...delivery }))
      }
    }
  }
}

function viewRows({ sql, organization_id }: Scope, after: string, most: Fragment) {
  return sql<{ id: string }[]>`
    select v.id, v.name, v.filter, v.sort, v.shared, v.owner_id, v.created_at, v.updated_at
    from views v where v.organization_id = ${organization_id} and v.id > ${after} order by v.id ${most}`
}

function teamRows({ sql, organization_id }: Scope, after: string, most: Fragment) {
  const members = sql`
    from team_members m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.team_id = t.id order by m.user_id`
  return sql<{ id: string }[]>`
    select t.id, t.name, array(select m.user_id ${members}) as member_ids, array(select u.email ${members}) as member_emails,
      t.assign, t.capacity, t.created_at, t.updated_at
    from teams t where t.organization_id = ${organization_id} and t.id > ${after} order by t.id ${most}`
}

function promiseRows(scope: Scope, after: string, most: Fragment) {
  const { sql, organization_id } = scope
  return sql<{ id: string }[]>`
    select p.ticket_id, p.id, p.policy_id, p.metric, p.minutes, p.began_at, p.due_at, p.breached_at, p.ended_at, p.outcome
    from promises p ${withLiveTicket(scope, sql`p`)}
    where p.organization_id = ${organization_id} and p.id > ${after} order by p.id ${most}`
}

function participantRows(scope: Scope, after: string, most: Fragment) {
  const { sql, organization_id } = scope
  return sql<{ id: string }[]>`
    select p.ticket_id, p.id, p.name, p.email, p.contact_id, p.confirmed, p.left_out, p.original_ticket_id
    from participants p ${withLiveTicket(scope, sql`p`)}
    where p.organization_id = ${organization_id} and p.id > ${after} order by p.id ${most}`
}

function activityRows(scope: Scope, after: string, most: Fragment) {
  const { sql, organization_id } = scope
  return sql<{ id: string }[]>`
    select a.ticket_id, a.id, a.type, ${actorOf(sql)} as actor, a.data, a.created_at
    from activities a ${withLiveTicket(scope, sql`a`)}
    where a.organization_id = ${organization_id} and a.id > ${after} order by a.id ${most}`
}

function attachmentRows(scope: Scope, after: string, most: Fragment) {
  const { sql, organization_id } = scope
  return sql<{ id: string }[]>`
    select a.id, a.message_id, a.draft_id, a.filename, a.content_type, a.size, a.scan, a.digest as sha256,
      'files/attachments/' || a.id as url, a.created_at
    from attachments a ${withLiveMessage(scope)}
    where a.organization_id = ${organization_id} and a.id > ${after} and t.deleted_at is null order by a.id ${most}`
}

function fileRows(scope: Scope, after: string, most: Fragment) {
  const { sql, organization_id } = scope
  return sql<{ id: string }[]>`
    select * from (
      select a.id, 'files/attachments/' || a.id as file, a.storage_key
      from attachments a ${withLiveMessage(scope)}
      where a.organization_id = ${organization_id} and t.deleted_at is null
      union all
      select id, 'files/inbound/' || id || '.eml', storage_key from inbound_messages
      where organization_id = ${organization_id} and storage_key is not null
    ) as f
    where f.id > ${after} order by f.id ${most}`
}

/** Leaves out rows of deleted tickets. @param row the alias of a table with `ticket_id` */
function withLiveTicket({ sql, organization_id }: Scope, row: Fragment): Fragment {
  return sql`
    join tickets t on t.organization_id = ${organization_id} and t.id = ${row}.ticket_id and t.deleted_at is null`
}

function withLiveMessage({ sql, organization_id }: Scope): Fragment {
  return sql`
    left join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
    left join drafts d on d.organization_id = ${organization_id} and d.id = a.draft_id
    left join tickets t on t.organization_id = ${organization_id} and t.id = coalesce(m.ticket_id, d.ticket_id)`
}
