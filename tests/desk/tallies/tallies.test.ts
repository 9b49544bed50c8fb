import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { addressKey } from '../../../src/base/address/email'
import { newId } from '../../../src/base/db/columns'
import { TICKET_STATUSES } from '../../../src/base/db/schema'
import { transact } from '../../../src/base/db/transact'
import type { Scope } from '../../../src/base/scope'
import { deleteCompany } from '../../../src/desk/companies/commands'
import { deleteContact, updateContact } from '../../../src/desk/contacts/commands'
import { deleteLabel } from '../../../src/desk/labels/commands'
import { erasePerson } from '../../../src/desk/privacy/erase-person'
import { foldTallies } from '../../../src/desk/tallies/tallies'
import { deleteTicket, updateTicket } from '../../../src/desk/tickets/commands'
import { createTicket } from '../../../src/desk/tickets/create-ticket'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { createOrganization, startApi, stopApi } from '../../support/api'

beforeAll(() => startApi(10))
afterAll(stopApi)

const ids = (rows: Iterable<{ id: string }>) => [...rows].map(({ id }) => id)

/** An organization with companies, contacts and labels, and the rows that are left of them. */
async function createDesk() {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const companies = ids(
    await sql<{ id: string }[]>`
    insert into companies (organization_id, id, name)
    select ${organization_id}, id, 'Company' from unnest(${[newId(), newId(), newId()]}::uuid[]) id returning id`,
  )
  const labels = ids(
    await sql<{ id: string }[]>`
    insert into labels (organization_id, id, name, color)
    select ${organization_id}, id, id::text, '#000000' from unnest(${Array.from({ length: 4 }, newId)}::uuid[]) id returning id`,
  )
  const contacts: string[] = []
  for (let n = 0; n < 8; n++) contacts.push(await insertContact(scope, anyOf([null, ...companies])))
  return { agent, scope, companies, labels, contacts }
}

async function insertContact({ sql, organization_id }: Scope, company_id: string | null = null): Promise<string> {
  const id = newId()
  const email = `c.${id}@customer.example`
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, company_id, search)
    values (${organization_id}, ${id}, 'Carla', ${email}, ${addressKey(email)}, ${company_id}, ${email})`
  return id
}

type Desk = Awaited<ReturnType<typeof createDesk>>

/** One of the ways in which what is counted changes. */
async function changeSomething({ scope, companies, labels, contacts }: Desk, tickets: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const ticket_id = anyOf(tickets) ?? newId()
  const mine = sql`organization_id = ${organization_id} and id = ${ticket_id}`
  const ways: [weight: number, way: () => Promise<unknown>][] = [
    [
      60,
      async () =>
        tickets.push(
          (
            await createTicket(scope, {
              subject: 'x',
              contact_id: anyOf(contacts) ?? newId(),
              label_ids: someOf(labels),
            })
          ).id,
        ),
    ],
    [30, () => updateTicket(scope, ticket_id, { label_ids: someOf(labels), status: anyOf(TICKET_STATUSES) })],
    [20, () => sql`update tickets set status = ${anyOf(TICKET_STATUSES)!} where ${mine}`],
    // As the release before does it: labels and status in one statement.
    [
      20,
      () => sql`
        with removed as (
          delete from ticket_labels where organization_id = ${organization_id} and ticket_id = ${ticket_id}
            and label_id = any(${someOf(labels.slice(2))}::uuid[])
        ), added as (
          insert into ticket_labels (organization_id, ticket_id, label_id)
          select ${organization_id}, t.id, l.id from tickets t cross join unnest(${someOf(labels.slice(0, 2))}::uuid[]) l (id)
          where t.organization_id = ${organization_id} and t.id = ${ticket_id}
          on conflict do nothing
        )
        update tickets set status = ${anyOf(TICKET_STATUSES)!} where ${mine}`,
    ],
    [10, () => sql`update tickets set company_id = ${anyOf([null, ...companies])!} where ${mine}`],
    [
      10,
      () =>
        sql`update tickets set deleted_at = case when deleted_at is null then ${new Date().toISOString()}::timestamptz end where ${mine}`,
    ],
    [10, () => deleteTicket(scope, ticket_id)],
    [
      10,
      () =>
        sql`delete from tickets where ${mine} and not exists (
          select 1 from messages m where m.organization_id = ${organization_id} and m.ticket_id = tickets.id
        )`,
    ],
    [10, () => updateContact(scope, anyOf(contacts) ?? newId(), { company_id: anyOf([null, ...companies]) })],
    [10, async () => contacts.push(await insertContact(scope, anyOf([null, ...companies])!))],
    [2, () => deleteContact(scope, contacts.pop() ?? newId())],
    [2, () => erasePerson(scope, contacts.pop() ?? newId())],
    [1, () => deleteCompany(scope, companies.pop() ?? newId())],
    [1, () => deleteLabel(scope, labels.pop() ?? newId())],
    [2, () => purgeDeletedTickets(scope, 0)],
  ]
  const way = anyOf(ways.flatMap(([weight, way]) => Array.from({ length: weight }, () => way)))!
  // A thing that others have deleted meanwhile is refused; everything is compared all the same.
  await way().catch((error) => {
    if (!error.status && error.code !== '40P01' && error.code !== '23503') throw error
  })
}

/**
 * By one statement, which sees one moment: the tallies that are not what is there. Rows of what was deleted do not
 * count.
 */
async function differences({ sql, organization_id }: Scope) {
  const live = sql`from tickets t where t.organization_id = ${organization_id} and t.deleted_at is null`
  return sql`
    select * from (
      select kind, key, coalesce(status, '') as status, sum(n)::int as counted from (
        select kind, key, status, n from tallies where organization_id = ${organization_id}
        union all
        select kind, key, status, n from tally_changes where organization_id = ${organization_id}
      ) as both_tables group by 1, 2, 3
    ) as counted
    full join (
      select 'tickets' as kind, '00000000-0000-0000-0000-000000000000'::uuid as key, status, count(*)::int as there ${live}
        group by 3
      union all
      select 'tickets_of_contact', contact_id, status, count(*)::int ${live}
        and contact_id is not null group by 1, 2, 3
      union all
      select 'tickets_of_company', company_id, status, count(*)::int ${live} and company_id is not null group by 1, 2, 3
      union all
      select 'tickets_of_day', first_id_of_day(id), status, count(*)::int ${live} group by 1, 2, 3
      union all
      select 'tickets_of_label', label_id, status, count(*)::int
      from ticket_labels l join tickets t on t.organization_id = ${organization_id} and t.id = l.ticket_id
      where l.organization_id = ${organization_id} and t.organization_id = ${organization_id} and t.deleted_at is null group by 1, 2, 3
      union all
      select 'contacts_of_company', coalesce(company_id, '00000000-0000-0000-0000-000000000000'), '', count(*)::int
      from contacts where organization_id = ${organization_id} group by 1, 2
    ) as there using (kind, key, status)
    where coalesce(counted, 0) <> coalesce(there, 0) and (kind <> 'tickets_of_label' or key in (
      select id from labels where organization_id = ${organization_id}
    ))`
}

describe('tallies', () => {
  test('are exact at every moment, while many write in every way and several fold', async () => {
    const desk = await createDesk()
    let writing = true
    const write = async () => {
      const tickets: string[] = []
      for (let n = 0; n < 60; n++) await changeSomething(desk, tickets)
    }
    const fold = async () => {
      while (writing) await foldTallies(desk.scope)
    }
    const wrong: unknown[] = []
    let comparisons = 0
    const compare = async () => {
      do {
        wrong.push(...(await differences(desk.scope)))
        comparisons++
      } while (writing)
    }
    const others = Promise.all([fold(), fold(), compare()])
    await Promise.all([write(), write(), write(), write()]).finally(() => {
      writing = false
    })
    await others
    await foldTallies(desk.scope)
    expect([...wrong, ...(await differences(desk.scope))]).toEqual([])
    expect(comparisons).toBeGreaterThan(1)
    const [left] = await desk.scope.sql`
      select count(*) as n from tally_changes where organization_id = ${desk.scope.organization_id}`
    expect(left!.n).toBe(0)
  })

  test('of a set of tickets that one statement writes are few rows, and none of what is rolled back', async () => {
    const { scope, contacts } = await createDesk()
    const { sql, organization_id } = scope
    await foldTallies(scope)
    const insert = (inner: Pick<Scope, 'sql'>, from: number) => inner.sql`
      insert into tickets (organization_id, id, number, code, subject, contact_id)
      select ${organization_id}, ('019b0000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, n, 'TKT-' || n, 'x', ${contacts[0]!}
      from generate_series(${from}::int, ${from}::int + 99) n`
    await insert(scope, 1)
    const undone = transact(scope, async (inner) => {
      await insert(inner, 101)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    const changes =
      await sql`select kind, n from tally_changes where organization_id = ${organization_id} order by kind`
    expect([...changes]).toEqual([
      { kind: 'tickets', n: 100 },
      { kind: 'tickets_of_contact', n: 100 },
      { kind: 'tickets_of_day', n: 100 },
    ])
    expect([...(await differences(scope))]).toEqual([])
  })
})

function anyOf<T>(values: readonly T[]): T | undefined {
  return values[Math.floor(Math.random() * values.length)]
}

function someOf<T>(values: readonly T[]): T[] {
  return values.filter(() => Math.random() < 0.4)
}
