/** The rows that lists of sent mail, and the preview of retention, read of an organization with many tickets. */
import { expect } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import type { Sql } from '../../src/base/db/transact'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { cursorOf } from '../../src/base/shapes/cursor'
import { previewRetention } from '../../src/desk/retention/queries'
import { listOutboundMessages } from '../../src/mail/outbound-messages/queries'
import { createDatabase } from './database'
import { type Explaining, nodesOf, openExplaining, pagesOf, scansOf } from './explaining'

type Desk = { scope: Scope; tickets: number; mailboxes: string[]; labels: string[]; company_id: string }

/**
 * Pages for each ticket that a list or a preview may read. A page looks at its own rows, and a preview once at all that
 * is due. A count reads some indexes; what it expects to find seldom it looks up one by one, which takes 4 pages each.
 */
const MOST_PAGES = { page: 0.03, count: 2, preview: 0.1 }
const WHOLE = /^Seq Scan (tickets|messages|message_recipients|email_anchors|ticket_labels)$/

/** Fails when a page reads much, or a count or a preview reads rows where an index has all of it. */
export async function checkMailPlansOf(tickets: number) {
  useSecrets('a secret key that only tests use')
  const database = await createDatabase()
  const explaining = await openExplaining(database.url)
  try {
    const desk = await fillDesk(explaining.sql, tickets)
    await explaining.settle()
    await explaining.start()
    const found = []
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await explaining.sql`select set_config('plan_cache_mode', ${mode}, false)`
      for (const [name, read] of Object.entries(readsOf(desk))) found.push(await measure(explaining, name, mode, read))
    }
    const wrong = found.filter(({ name, pages, whole }) => {
      const [kind] = name.split(' ') as [keyof typeof MOST_PAGES]
      // A subject has no index: all of them are looked at. What is due may be most of the tickets.
      const may_read_all = name.includes('subject') || kind === 'preview'
      return (!may_read_all && whole.length > 0) || pages > (name.includes('subject') ? 5 : MOST_PAGES[kind]) * tickets
    })
    expect(wrong).toEqual([])
    return found.map(({ whole: _, ...others }) => others)
  } finally {
    await explaining.close()
    await database.drop()
  }
}

async function measure({ plansOf }: Explaining, name: string, mode: string, read: () => Promise<unknown>) {
  const began_ms = performance.now()
  const plans = await plansOf(async () => void (await read()))
  const ms = Math.round(performance.now() - began_ms)
  const pages = plans.reduce((sum, plan) => sum + pagesOf(plan), 0)
  const scans = [...new Set(plans.flatMap(scansOf))]
  const rows = plans.flatMap(nodesOf).reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0)
  return { name, mode, pages, rows, ms, whole: scans.filter((scan) => WHOLE.test(scan)) }
}

function readsOf({ scope, mailboxes, labels, company_id }: Desk): Record<string, () => Promise<unknown>> {
  const filters: Record<string, Parameters<typeof listOutboundMessages>[1]> = {
    all: {},
    sent: { status: 'sent' },
    failed: { status: 'failed' },
    queued: { status: 'queued' },
    'a mailbox': { mailbox_id: mailboxes[0]! },
    'a mailbox, failed': { mailbox_id: mailboxes[0]!, status: 'failed' },
    'a common domain': { to: '@common.example' },
    'a rare domain': { to: '@d7.example' },
    'an address': { to: 'a77@d7.example' },
    'a subject of few': { subject: 'Number 77' },
    'a subject of all': { subject: 'Number' },
    'a Message-ID': { email_message_id: '77@x.example' },
    'a month': { created_after: START, created_before: START + 30 * 86_400_000 },
  }
  const cursor = (filter: Record<string, unknown>) =>
    cursorOf({ organization_id: scope.organization_id, name: 'outbound-messages', filter }, [LAST_ID])
  const pages = Object.entries(filters).map(
    ([name, filter]) =>
      [`page of ${name}`, () => listOutboundMessages(scope, { ...filter, cursor: cursor(filter) })] as const,
  )
  const counts = Object.entries(filters).map(
    ([name, filter]) => [`count of ${name}`, () => listOutboundMessages(scope, { ...filter, per_page: 1 })] as const,
  )
  const rule = { status: 'closed', days: 30, action: 'erase' } as const
  const [common, rare, hold] = labels as [string, string, string]
  const previews = {
    'one rule': { rules: [rule], hold_label_ids: [hold] },
    'rules with labels and companies': {
      rules: [
        { ...rule, label_ids: [rare], days: 3650 },
        { ...rule, label_ids: [common] },
        { ...rule, company_ids: [company_id] },
        { ...rule, status: 'resolved', action: 'delete' },
      ],
      hold_label_ids: [hold, common],
    },
  } as const
  const looks = Object.entries(previews).map(
    ([name, body]) => [`preview of ${name}`, () => previewRetention(scope, structuredClone(body) as never)] as const,
  )
  return Object.fromEntries([...pages, ...counts, ...looks])
}

const START = Date.parse('2024-01-01T00:00:00Z')
const DAYS = 1000
/** Behind all others. */
const LAST_ID = 'ffffffff-ffff-7fff-bfff-ffffffffffff'

/** Tickets with one email each. Triggers and foreign keys would take most of the time, and change no plan. */
async function fillDesk(sql: Sql, tickets: number): Promise<Desk> {
  const organization_id = newId()
  const [mailboxes, labels, companies] = [2, 3, 20].map((count) => Array.from({ length: count }, newId))
  await sql`set session_replication_role = replica`
  await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  await sql`
    insert into companies (organization_id, id, name)
    select ${organization_id}, id, 'Company' from unnest(${companies!}::uuid[]) as id`
  await sql`
    insert into labels (organization_id, id, name, color)
    select ${organization_id}, id, id::text, '#000000' from unnest(${labels!}::uuid[]) as id`
  const idOf =
    sql.unsafe(`(lpad(to_hex(${START} + n * (${DAYS} * 86400000::bigint / ${tickets})), 12, '0') || '70008000'
    || lpad(to_hex(n), 12, '0'))::uuid`)
  const all = sql`generate_series(1::bigint, ${tickets}::bigint) as n`
  await sql`
    insert into tickets (organization_id, id, number, code, subject, status, company_id, updated_at, deleted_at,
      merged_into_id, erased_at)
    select ${organization_id}, ${idOf}, n, 'TKT-' || n, 'Number ' || n || ' about printers',
      (array['open', 'pending', 'resolved', 'closed', 'closed', 'closed'])[1 + n % 6], (${companies!}::uuid[])[1 + n % 20],
      now() - make_interval(hours => (n * 7919 % 20000)::int), case when n % 50 = 0 then now() end,
      case when n % 101 = 0 then (lpad(to_hex(${START}::bigint), 12, '0') || '70008000000000000001')::uuid end,
      case when n % 9 = 0 then now() end
    from ${all}`
  await sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name, email_status, mailbox_id)
    select ${organization_id}, ${idOf}, ${idOf}, repeat('A text of an answer. ', 20), '<p>Answer</p>', 'outbound', 'Ann',
      case n % 100 when 7 then 'failed' when 8 then 'queued' when 9 then 'bounced' else 'sent' end,
      (${mailboxes!}::uuid[])[1 + n % 2]
    from ${all}`
  await sql`
    insert into message_recipients (organization_id, message_id, position, kind, email, email_key, status)
    select ${organization_id}, ${idOf}, 0, 'to', address, address, 'sent' from ${all},
      lateral (select 'a' || n || case when n % 2 = 0 then '@common.example' else '@d' || n % 1000 || '.example' end as address) x`
  await sql`
    insert into email_anchors (organization_id, email_message_id, ticket_id, message_id)
    select ${organization_id}, n || '@x.example', ${idOf}, ${idOf} from ${all}`
  // The first label is on half of the tickets, the second on few, the third holds one of a hundred.
  await sql`
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select ${organization_id}, ${idOf}, l.label_id from ${all}
    join unnest(${labels!}::uuid[]) with ordinality as l (label_id, place)
      on n % (array[2, 1000, 100])[place] = 0`
  const scope: Scope = { sql, db: undefined as never, organization_id, actor: SYSTEM }
  return { scope, tickets, mailboxes: mailboxes!, labels: labels!, company_id: companies![7]! }
}
