/** Contacts, companies and organizations beside each other: generated changes, and what each token shows after them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import { type Customer, tokenOf } from '../../support/customers'
import { createCompany, createContact } from '../../support/factories'
import { tries } from '../../support/sampled'

const RUNS = tries(12)

beforeAll(() => startApi())
afterAll(stopApi)

type Change =
  | { do: 'open' | 'note' | 'answer' | 'delete'; contact: number; ticket: number }
  | { do: 'write'; contact: number; ticket: number; company: boolean }
  | { do: 'move'; contact: number; to: number | null }

const [contact, ticket] = [fc.nat({ max: 3 }), fc.nat({ max: 5 })]
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('open' as const), contact, ticket }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), contact, ticket, company: fc.boolean() }) },
  fc.record({ do: fc.constantFrom('note' as const, 'answer' as const, 'delete' as const), contact, ticket }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), contact, to: fc.option(fc.nat({ max: 1 })) }) },
)

/** The test's own record of a ticket. */
type Known = { id: string; owner: number; company: number | null; texts: Set<string>; is_deleted: boolean }

test('whatever is written and moved, a customer sees exactly its own, and of them exactly what may be shown', async () => {
  const other = await createOrganization()
  const outsider = await tokenOf(other.admin, await createContact(other.admin))
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 6, maxLength: 14 }), async (changes) => {
      const { admin } = await createOrganization()
      const world = await createWorldOf(admin)
      for (const [n, one] of changes.entries()) await apply(world, one, `words ${n}`)
      await judge(world, outsider)
    }),
    { numRuns: RUNS },
  )
}, 300_000)

type World = {
  admin: Client
  companies: string[]
  contacts: { contact: Customer['contact']; company: number | null; own: Customer }[]
  tickets: Known[]
}

/** Two companies with two contacts each. */
async function createWorldOf(admin: Client): Promise<World> {
  const companies = [(await createCompany(admin)).id, (await createCompany(admin)).id]
  const contacts: World['contacts'] = []
  for (const company of [0, 0, 1, 1]) {
    const contact = await createContact(admin, { company_id: companies[company] })
    contacts.push({ contact, company, own: await tokenOf(admin, contact) })
  }
  return { admin, companies, contacts, tickets: [] }
}

async function apply(world: World, change: Change, words: string): Promise<void> {
  const { admin, companies, contacts, tickets } = world
  const who = contacts[change.contact]!
  if (change.do === 'move') {
    const company_id = change.to === null ? null : companies[change.to]!
    await admin.patch(`/contacts/${who.contact.id}`, { company_id })
    // A company that a contact gets goes to those of its tickets that have none.
    if (change.to !== null) for (const one of tickets) if (one.owner === change.contact) one.company ??= change.to
    who.company = change.to
    return
  }
  if (change.do === 'open') {
    const answer = await who.own.post('/my/tickets', { subject: words, body: words })
    expect(answer.status).toBe(201)
    const { company } = who
    tickets.push({
      id: answer.body.data.id,
      owner: change.contact,
      company,
      texts: new Set([words]),
      is_deleted: false,
    })
    return
  }
  const ticket = tickets[change.ticket % Math.max(tickets.length, 1)]
  if (!ticket) return
  if (change.do === 'delete') {
    await admin.delete(`/tickets/${ticket.id}`)
    ticket.is_deleted = true
  } else if (change.do === 'write') {
    const may_see = change.company && who.company !== null
    const client = may_see ? await tokenOf(admin, who.contact, 'company') : who.own
    const answer = await client.post(`/my/tickets/${ticket.id}/messages`, { body: words })
    const is_shown = isShown(world, change.contact, ticket, may_see)
    expect([words, answer.status]).toEqual([words, is_shown ? 201 : 404])
    if (is_shown) ticket.texts.add(words)
  } else if (!ticket.is_deleted) {
    const is_internal = change.do === 'note'
    await admin.post(`/tickets/${ticket.id}/messages`, { body: words, is_internal, send_email: false })
    if (!is_internal) ticket.texts.add(words)
  }
}

function isShown(
  { contacts }: World,
  who: number,
  { owner, company, is_deleted }: Known,
  by_company: boolean,
): boolean {
  const of_company = by_company && company !== null && company === contacts[who]!.company
  return !is_deleted && (owner === who || of_company)
}

/** Compares what each token shows with what the test knows. */
async function judge(world: World, outsider: Customer): Promise<void> {
  for (const [who, { contact, company, own }] of world.contacts.entries()) {
    const tokens = [{ client: own, by_company: false }]
    if (company !== null) tokens.push({ client: await tokenOf(world.admin, contact, 'company'), by_company: true })
    for (const { client, by_company } of tokens) {
      const shown = world.tickets.filter((ticket) => isShown(world, who, ticket, by_company))
      const listed = (await client.get('/my/tickets?per_page=100')).body
      expect(listed.data.map(({ id }: { id: string }) => id)).toEqual(shown.map(({ id }) => id).toReversed())
      expect(listed.meta.total).toBe(shown.length)
      for (const ticket of world.tickets) {
        const answer = await client.get(`/my/tickets/${ticket.id}/messages?per_page=100`)
        if (!shown.includes(ticket)) {
          expect(answer.status).toBe(404)
          continue
        }
        const texts = answer.body.data.map(({ body_html }: { body_html: string }) => body_html)
        expect(texts.sort()).toEqual([...ticket.texts].sort())
      }
    }
  }
  const [first] = world.tickets
  if (first) expect((await outsider.get(`/my/tickets/${first.id}`)).status).toBeOneOf([404, 429])
}
