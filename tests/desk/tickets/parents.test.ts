/** Tickets that are parts of others. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { activityOf, createContact, createTicket, hearEvents, writtenEvents } from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'

const give = (client: Client, ticket: { id: string }, parent: { id: string } | null) =>
  client.patch(`/tickets/${ticket.id}`, { parent_id: parent?.id ?? null })
const read = async (client: Client, { id }: { id: string }) => (await client.get(`/tickets/${id}`)).body.data
const refOf = ({ id, code, subject }: { id: string; code: string; subject: string }) => ({ id, code, subject })

test('a parent is given by a create and a PATCH, shown everywhere, filtered by, and taken away', async () => {
  const { agent, scope } = await createOrganization()
  const [parent, other] = [await createTicket(agent, { subject: 'Whole' }), await createTicket(agent)]
  await hearEvents(scope)
  const child = await createTicket(agent, { parent_id: parent.id.toUpperCase() })
  expect(child.parent).toEqual(refOf(parent))
  expect((await read(agent, child)).parent).toEqual(refOf(parent))
  expect((await agent.get(`/tickets?parent_id=${parent.id}`)).body.data).toMatchObject([
    { id: child.id, parent: refOf(parent) },
  ])
  const moved = await give(agent, child, other)
  expect(moved.body.data.parent).toEqual(refOf(other))
  expect((await agent.get(`/tickets?parent_id=${parent.id}`)).body).toMatchObject({ data: [], meta: { total: 0 } })
  expect((await give(agent, child, null)).body.data.parent).toBeNull()
  const events = await writtenEvents(scope)
  expect(events.map(({ event }) => event)).toEqual([
    'contact.created',
    'ticket.created',
    'ticket.updated',
    'ticket.updated',
  ])
  expect(events[2]!.data.changes).toEqual({ parent: { from: refOf(parent), to: refOf(other) } })
  // The timeline has its code alone: what another ticket says may be erased.
  const told = (await activityOf(scope, child.id)).filter(({ type }) => type === 'changed')
  const codeOf = ({ id, code }: { id: string; code: string }) => ({ id, code })
  expect(told.map(({ data }) => data)).toEqual([
    { field: 'parent', from: codeOf(parent), to: codeOf(other) },
    { field: 'parent', from: codeOf(other), to: null },
  ])
})

test('a ticket is never below itself', async () => {
  const { agent } = await createOrganization()
  const [a, b, c] = [await createTicket(agent), await createTicket(agent), await createTicket(agent)]
  expect((await give(agent, b, a)).status).toBe(200)
  expect((await give(agent, c, b)).status).toBe(200)
  for (const [child, parent] of [
    [a, a],
    [a, b],
    [a, c],
  ] as const) {
    const refused = await give(agent, child, parent)
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors).toMatchObject([{ path: '/parent_id' }])
  }
  // By a merge, too: what is below the source is below the target.
  const d = await createTicket(agent)
  await agent.post(`/tickets/${d.id}/merge`, { source_ids: [b.id] })
  expect((await read(agent, c)).parent).toEqual(refOf(d))
  expectError(await give(agent, d, c), 422, 'VALIDATION_ERROR')
})

test('of two that would make a ring at once one is refused', async () => {
  const { agent } = await createOrganization()
  for (let round = 0; round < 5; round++) {
    const tickets = [await createTicket(agent), await createTicket(agent), await createTicket(agent)]
    const answers = await Promise.all(tickets.map((one, at) => give(agent, one, tickets[(at + 1) % 3]!)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 422])
  }
})

test('an unknown, deleted or foreign parent is refused, and nothing is changed', async () => {
  const [{ agent }, other] = [await createOrganization(), await createOrganization()]
  const [ticket, deleted] = [await createTicket(agent), await createTicket(agent)]
  const foreign = await createTicket(other.agent)
  await agent.delete(`/tickets/${deleted.id}`)
  const contact = await createContact(agent)
  for (const parent_id of [NOBODY, 'x', deleted.id, foreign.id]) {
    for (const answer of [
      await agent.patch(`/tickets/${ticket.id}`, { parent_id, priority: 'high' }),
      await agent.post('/tickets', { subject: 'Part', contact_id: contact.id, parent_id }),
    ]) {
      expectError(answer, 422, 'TICKET_NOT_FOUND')
      expect(answer.body.error.details).toMatchObject({ ids: [parent_id], errors: [{ path: '/parent_id' }] })
    }
  }
  expect(await read(agent, ticket)).toMatchObject({ parent: null, priority: 'normal' })
})

test('of a merged parent its target is shown, its own again after that is undone, and none once it is deleted', async () => {
  const { agent } = await createOrganization()
  const [parent, target] = [await createTicket(agent), await createTicket(agent)]
  const child = await createTicket(agent, { parent_id: parent.id })
  await agent.post(`/tickets/${target.id}/merge`, { source_ids: [parent.id] })
  expect((await read(agent, child)).parent).toEqual(refOf(target))
  expect((await agent.get(`/tickets?parent_id=${target.id}`)).body.meta.total).toBe(1)
  expect((await agent.get(`/tickets?parent_id=${parent.id}`)).body.meta.total).toBe(0)
  // Another change leaves the parent that was given.
  await agent.patch(`/tickets/${child.id}`, { priority: 'high' })
  await agent.post(`/tickets/${parent.id}/unmerge`, {})
  expect((await read(agent, child)).parent).toEqual(refOf(parent))
  await agent.delete(`/tickets/${parent.id}`)
  expect((await read(agent, child)).parent).toBeNull()
})

test('the erasure of a person takes the subject of a parent out of events of its parts', async () => {
  const { agent, admin, scope } = await createOrganization()
  await hearEvents(scope)
  const parent = await createTicket(agent, { subject: 'Secret illness' })
  const child = await createTicket(agent, { subject: 'Part', parent_id: parent.id })
  await agent.patch(`/tickets/${child.id}`, { priority: 'high' })
  expect((await admin.post(`/contacts/${parent.contact.id}/erase`, {})).status).toBe(200)
  expect((await read(agent, child)).parent).toMatchObject({
    id: parent.id,
    subject: expect.not.stringContaining('Secret'),
  })
  expect(JSON.stringify(await writtenEvents(scope))).not.toContain('Secret')
  expect(JSON.stringify(await activityOf(scope, child.id))).not.toContain('Secret')
})

/** Walks up. @returns the tickets above; a ring never ends */
async function above(client: Client, ticket: { id: string }): Promise<string[]> {
  const found: string[] = []
  for (let at = ticket; at; at = (await read(client, at)).parent) {
    if (found.length > 10) throw new Error('a ring')
    found.push(at.id)
  }
  return found.slice(1)
}

const merge = (client: Client, target: { id: string }, ...sources: { id: string }[]) =>
  client.post(`/tickets/${target.id}/merge`, { source_ids: sources.map(({ id }) => id) })

test('a merge into a ticket below the source makes no ring: it takes the place of the source', async () => {
  const { agent, scope } = await createOrganization()
  const [top, source, middle, target] = [
    await createTicket(agent, { subject: 'Top' }),
    await createTicket(agent),
    await createTicket(agent),
    await createTicket(agent),
  ]
  for (const [child, parent] of [
    [source, top],
    [middle, source],
    [target, middle],
  ] as const) {
    await give(agent, child, parent)
  }
  await hearEvents(scope)
  expect((await merge(agent, target, source)).body.data.parent).toEqual(refOf(top))
  expect(await above(agent, middle)).toEqual([target.id, top.id])
  expect(await above(agent, target)).toEqual([top.id])
  const told = (await writtenEvents(scope)).find(({ data }) => data.id === target.id && data.changes)
  expect(told!.data.changes).toEqual({ parent: { from: refOf(middle), to: refOf(top) } })
  const changed = (await activityOf(scope, target.id)).filter(({ type }) => type === 'changed')
  expect(changed.at(-1)!.data).toMatchObject({ field: 'parent', to: { id: top.id } })
  await agent.post(`/tickets/${source.id}/unmerge`, {})
  expect(await above(agent, middle)).toEqual([source.id, top.id])
  expect(await above(agent, target)).toEqual([top.id])
})

test('without anything above it is below nothing, also when several above it are merged into it', async () => {
  const { agent } = await createOrganization()
  const tickets: { id: string }[] = []
  for (let n = 0; n < 5; n++) {
    const parent = tickets.at(-1)
    tickets.push(await createTicket(agent, parent ? { parent_id: parent.id } : {}))
  }
  const [a, b, c, d, e] = tickets as [{ id: string }, { id: string }, { id: string }, { id: string }, { id: string }]
  expect((await merge(agent, e, a, c)).body.data.parent).toBeNull()
  expect(await above(agent, d)).toEqual([e.id])
  expect(await above(agent, b)).toEqual([e.id])
  // The parent itself is taken in: shown as none, and again when that is undone.
  const part = await createTicket(agent, { parent_id: b.id })
  expect((await merge(agent, part, b)).body.data.parent).toEqual(expect.objectContaining({ id: e.id }))
  const [whole, only] = [await createTicket(agent), await createTicket(agent)]
  await give(agent, only, whole)
  expect((await merge(agent, only, whole)).body.data.parent).toBeNull()
  await agent.post(`/tickets/${whole.id}/unmerge`, {})
  expect(await above(agent, only)).toEqual([whole.id])
})

test('undoing a merge makes no ring of what was put below the target meanwhile', async () => {
  const { agent } = await createOrganization()
  const [source, target, child, other] = [
    await createTicket(agent),
    await createTicket(agent),
    await createTicket(agent),
    await createTicket(agent),
  ]
  await give(agent, child, source)
  await give(agent, source, other)
  await merge(agent, target, source)
  expect((await give(agent, other, child)).status).toBe(200)
  expect(await above(agent, other)).toEqual([child.id, target.id])
  const undone = await agent.post(`/tickets/${source.id}/unmerge`, {})
  expect(undone.body.data.parent).toBeNull()
  expect(await above(agent, other)).toEqual([child.id, source.id])
})

test('of a merge and a parent that would make a ring at once, none is left', async () => {
  const { agent } = await createOrganization()
  for (let round = 0; round < 5; round++) {
    const [source, middle, target] = [await createTicket(agent), await createTicket(agent), await createTicket(agent)]
    await give(agent, target, middle)
    const answers = await Promise.all([give(agent, middle, source), merge(agent, target, source)])
    for (const { status } of answers) expect([200, 201, 422]).toContain(status)
    for (const one of [middle, target]) await above(agent, one)
  }
})
