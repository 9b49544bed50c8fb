/** Deletions of what thousands of tickets name: short transactions, and an end whatever happens. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { STEP } from '../../../src/desk/deeds/deeds'
import { finishDeeds } from '../../../src/operate/start/deed-works'
import { type Answer, type Client, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createContact, createLabel, createTeam, createTicket } from '../../support/factories'
import { interrupted, MANY, manyTickets, mostAtOnce, ticketsOf } from '../../support/in-steps'
import { changeSchema } from '../../support/triggers'

beforeAll(() => startApi())
afterAll(stopApi)

/** Lets a statement fail that takes labels off more tickets than a step may. */
const FEW_LABELS = [
  `create or replace function few_labels() returns trigger language plpgsql as $$
    begin if (select count(*) from gone) > ${STEP} then raise 'too many at once'; end if; return null; end $$`,
  `create trigger few_labels after delete on ticket_labels referencing old table as gone
    for each statement execute function few_labels()`,
]

test.each(['team', 'mailbox', 'label'] as const)(
  'a %s of thousands of tickets goes in short transactions, beside changes of them',
  async (kind) => {
    const own = await createOrganization()
    const { admin, agent, scope } = own
    const { sql, organization_id } = scope
    const contact = await createContact(agent)
    const some: { id: string }[] = []
    for (let count = 0; count < 4; count++) some.push(await createTicket(agent, { contact_id: contact.id }))
    await manyTickets(own, contact.id)
    const { path, id } = await thingOf(admin, kind)
    await giveToAll(own, kind, id)
    await changeSchema(...FEW_LABELS)
    const given = kind === 'label' ? { label_ids: [id] } : { [`${kind}_id`]: id }
    const [deleted, ...changed] = await Promise.all([
      admin.delete(`${path}/${id}`),
      ...some.map((ticket) => agent.patch(`/tickets/${ticket.id}`, { subject: 'Another', ...given })),
    ])
    await changeSchema('drop trigger few_labels on ticket_labels')
    expect(deleted.status).toBe(204)
    for (const { status } of changed) expect([200, 422]).toContain(status)
    expect((await admin.get(`${path}/${id}`)).status).toBe(404)
    if (kind !== 'label') {
      expect(await mostAtOnce(own)).toBeLessThanOrEqual(STEP)
      expect(await ticketsOf(own, `${kind}_id`, id)).toBe(0)
    }
    expect(await sql`select from ticket_labels where organization_id = ${organization_id}`).toHaveLength(0)
  },
)

test.each(['team', 'mailbox', 'label'] as const)(
  'the deletion of a %s that died on the way ends by itself, and is told of once',
  async (kind) => {
    const own = await createOrganization()
    const { admin, agent, scope } = own
    const { sql, organization_id } = scope
    await manyTickets(own, (await createContact(agent)).id)
    const { path, id } = await thingOf(admin, kind)
    await giveToAll(own, kind, id)
    const gone = `delete on ${path.slice(1)}`
    const died = (await interrupted(gone, () => admin.delete(`${path}/${id}`))) as Answer
    expect(died.status).toBeGreaterThanOrEqual(500)

    // Another process has it.
    await sql`update deeds set run_at = now() + interval '1 hour' where organization_id = ${organization_id}`
    const again = await admin.delete(`${path}/${id}`)
    expect([again.status, again.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
    if (kind === 'label') {
      const held = await admin.patch('/retention', { hold_label_ids: [id] })
      expect([held.status, held.body.error.code]).toEqual([422, 'LABEL_NOT_FOUND'])
    }

    await sql`update deeds set run_at = now() - interval '1 second' where organization_id = ${organization_id}`
    await finishDeeds(connection())
    expect((await admin.get(`${path}/${id}`)).status).toBe(404)
    expect((await admin.delete(`${path}/${id}`)).status).toBe(404)
    expect(await sql`select from deeds where organization_id = ${organization_id}`).toHaveLength(0)
    expect(await sql`select from ticket_labels where organization_id = ${organization_id}`).toHaveLength(0)
    if (kind !== 'label') {
      expect(await ticketsOf(own, `${kind}_id`, id)).toBe(0)
      const entries = (await admin.get(`/audit-log?action=${kind}.deleted`)).body.data
      expect(entries).toEqual([expect.objectContaining({ resource: { type: kind, id }, ip: expect.any(String) })])
    }
  },
)

test('hidden tickets and the ledger leave a mailbox in short transactions', async () => {
  const own = await createOrganization()
  const { admin, agent, scope } = own
  const { sql, organization_id } = scope
  await manyTickets(own, (await createContact(agent)).id)
  const { id } = await thingOf(admin, 'mailbox')
  await giveToAll(own, 'mailbox', id)
  await sql`update tickets set deleted_at = now() where organization_id = ${organization_id}`
  await sql`
    insert into inbound_messages (organization_id, id, mailbox_id, mailbox_address, recipient, outcome, size)
    select ${organization_id}, gen_random_uuid(), ${id}, 'a@b.example', 'a@b.example', 'own', 1
    from generate_series(1, ${MANY}) n`
  expect((await admin.delete(`/mailboxes/${id}`)).status).toBe(204)
  expect(await mostAtOnce(own)).toBeLessThanOrEqual(STEP)
  expect(await mostAtOnce(own, 'inbound_messages')).toBeLessThanOrEqual(STEP)
})

/** Lets all tickets name a thing. */
async function giveToAll({ scope }: Organization, kind: 'team' | 'mailbox' | 'label', id: string) {
  const { sql, organization_id } = scope
  if (kind === 'label') {
    await sql`
      insert into ticket_labels (organization_id, ticket_id, label_id)
      select organization_id, id, ${id} from tickets where organization_id = ${organization_id}`
  } else await sql`update tickets set ${sql(`${kind}_id`)} = ${id} where organization_id = ${organization_id}`
}

/** Makes a thing that tickets may name. */
async function thingOf(admin: Client, kind: 'team' | 'mailbox' | 'label') {
  if (kind === 'team') return { path: '/teams', ...(await createTeam(admin)) }
  if (kind === 'label') return { path: '/labels', ...(await createLabel(admin)) }
  const { body } = await admin.post('/mailboxes', { address: `${newId()}@desk.example` })
  return { path: '/mailboxes', id: body.data.id as string }
}
