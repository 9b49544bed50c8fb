/** Deeds whose process dies at each of their statements: what was begun ends by itself, and nothing is half done. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { STEP } from '../../../src/desk/deeds/deeds'
import { finishDeeds } from '../../../src/operate/start/deed-works'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { changeSchema } from '../../support/triggers'

beforeAll(() => startApi())
afterAll(stopApi)

const MANY = STEP + 50

const TABLES = [
  ...['tickets', 'messages', 'participants', 'contacts', 'contact_addresses', 'email_anchors', 'outbox', 'events'],
  ...['activities', 'attachments', 'contact_tokens', 'inbound_messages', 'merged_contacts', 'drafts', 'deeds'],
  ...['message_recipients', 'ticket_search', 'retention_erasures', 'audit_log', 'deliveries'],
]

async function someData({ agent, scope }: Organization) {
  const [contact, other] = [
    await createContact(agent, { name: 'Zebra Person', email: `zebra.${newId()}@c.example` }),
    await createContact(agent),
  ]
  const { sql, organization_id } = scope
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id)
    select ${organization_id}, gen_random_uuid(), n, 'MANY-' || n, 'Zebra', ${contact.id}
    from generate_series(1000, ${1000 + MANY}) n`
  const ticket = await createTicket(agent, { contact_id: contact.id, subject: 'Zebra', description: 'Zebra words' })
  await createMessage(agent, ticket.id, { body: 'Zebra answer' })
  await agent.post(`/tickets/${ticket.id}/drafts`, { body: 'Zebra draft' })
  const elsewhere = await createTicket(agent, { contact_id: other.id })
  await agent.post(`/tickets/${elsewhere.id}/participants`, { email: contact.email, name: 'Zebra' })
  await createMessage(agent, elsewhere.id, { body: 'x', cc: [contact.email] })
  return { contact, other }
}

const DEEDS: Record<string, (own: Organization, contact: string, other: string) => Promise<{ status: number }>> = {
  merge: ({ agent }, contact, other) => agent.post(`/contacts/${other}/merge`, { source_ids: [contact] }),
  erase: ({ admin }, contact) => admin.post(`/contacts/${contact}/erase`),
  delete: ({ agent }, contact) => agent.delete(`/contacts/${contact}`),
}

/** Before the deed is noted, in its first step, and in later ones. */
const PLACES = [1, 3, 21, 260, 500]

test.each(Object.keys(DEEDS).flatMap((name) => PLACES.map((place) => [name, place] as const)))(
  '%s that dies at change %d',
  async (name, place) => {
    const own = await createOrganization()
    const { contact, other } = await someData(own)
    const before = await own.scope.sql<{ n: number }[]>`
      select count(*)::int as n from tickets where organization_id = ${own.id}`
    await changeSchema(
      'create sequence if not exists killing',
      `create or replace function kill_at() returns trigger language plpgsql as $$ begin
        if nextval('killing') = ${place} then raise 'killed'; end if;
        return coalesce(new, old); end $$`,
      "select setval('killing', 1, false)",
      ...TABLES.map(
        (one) =>
          `create trigger kill_at before insert or update or delete on ${one} for each row execute function kill_at()`,
      ),
    )
    const answer = await DEEDS[name]!(own, contact.id, other.id)
    await changeSchema(...TABLES.map((one) => `drop trigger kill_at on ${one}`))
    const { sql, organization_id } = own.scope
    const deeds = await sql`select from deeds where organization_id = ${organization_id}`
    if (deeds.length > 0) {
      await sql`update deeds set run_at = now() - interval '1 second' where organization_id = ${organization_id}`
      await finishDeeds(connection())
    } else if (answer.status >= 300) {
      const again = await DEEDS[name]!(own, contact.id, other.id)
      expect(again.status).toBeLessThan(300)
    }
    expect((await own.agent.get(`/contacts/${contact.id}`)).status).toBe(404)
    expect(await sql`select from deeds where organization_id = ${organization_id}`).toHaveLength(0)
    const count = async (where: string) =>
      (await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${where}`))[0]!.n
    expect(await count(`tickets where organization_id = '${organization_id}'`)).toBe(before[0]!.n)
    if (name === 'merge') {
      expect(await count(`tickets where contact_id = '${other.id}'`)).toBe(before[0]!.n)
    } else {
      expect(await count(`tickets where contact_id = '${contact.id}'`)).toBe(0)
    }
    if (name === 'erase') {
      const tables = await sql<{ name: string }[]>`
        select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id'
        where n.nspname = 'public' and c.relkind = 'r'`
      const left = []
      for (const table of tables) {
        const n = await count(
          `${table.name} x where organization_id = '${organization_id}' and x::text ilike '%zebra%'`,
        )
        if (n > 0) left.push([table.name, n])
      }
      expect(left).toEqual([])
    }
    const events = await sql<{ type: string }[]>`
      select type from events where organization_id = ${organization_id} and type in ('contact.updated', 'contact.deleted')
      order by id`
    expect(events.map(({ type }) => type)).toEqual(
      name === 'merge' ? ['contact.updated', 'contact.deleted'] : ['contact.deleted'],
    )
    const audited = await sql`
      select from audit_log where organization_id = ${organization_id} and action in ('contact.merged', 'contact.erased')`
    expect(audited).toHaveLength(name === 'delete' ? 0 : 1)
  },
)
