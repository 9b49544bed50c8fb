/** Drafts: what they hold, who may have and change them, and what they go with. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { removeUnusedUploads } from '../../../src/desk/attachments/commands'
import { removeMembership } from '../../../src/people/users/memberships'
import { type Client, createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { activityOf, createMessage, hearEvents, insertTicket, uploadFile, writtenEvents } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const post = (client: Client, ticket: { id: string }, fields: Record<string, unknown> = {}) =>
  client.post(`/tickets/${ticket.id}/drafts`, { body: 'Have you tried water?', ...fields })

async function createDraft(client: Client, ticket: { id: string }, fields: Record<string, unknown> = {}) {
  const answer = await post(client, ticket, fields)
  if (answer.status !== 201) throw new Error(`creating a draft answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

async function idsOf(client: Client, query = ''): Promise<string[]> {
  return (await client.get(`/drafts${query}`)).body.data.map(({ id }: { id: string }) => id)
}

const ageUploads = ({ scope: { sql, organization_id } }: Organization) => sql`
  update attachments set id = overlay(id::text placing '00' from 1 for 2)::uuid
  where organization_id = ${organization_id}`

test('a draft shows its ticket, author, text, files and what it is based on, and tells nobody', async () => {
  const { agent, admin, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const seen = await createMessage(agent, ticket.id, { send_email: false })
  await createMessage(agent, ticket.id, { is_internal: true })
  await hearEvents(scope)
  const before = await agent.get(`/tickets/${ticket.id}`)
  const activity = await activityOf(scope, ticket.id)
  const file = await uploadFile(agent)
  const fields = { body: '<b>Hi</b><script>x</script>', cc: ['cc@customer.example'], attachment_ids: [file.id] }
  const draft = await createDraft(agent, ticket, fields)
  expect(draft).toEqual({
    id: expect.any(String),
    ticket: { id: ticket.id, code: ticket.code, subject: ticket.subject },
    author: { type: 'user', id: agent.user_id, name: 'Alan Agent' },
    body: fields.body,
    format: 'html',
    body_html: '<b>Hi</b>',
    is_internal: false,
    mentions: [],
    cc: fields.cc,
    quote: null,
    attachments: [{ ...file, url: expect.any(String) }],
    based_on: seen.id,
    stale: false,
    written_by: null,
    send_at: null,
    unless_answered: true,
    send_error: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect((await admin.get(`/drafts/${draft.id}`)).body.data).toEqual(draft)
  const changed = await agent.patch(`/drafts/${draft.id}`, { body: 'Hello', cc: null, attachment_ids: [] })
  expect(changed.body.data).toMatchObject({ body: 'Hello', body_html: 'Hello', cc: null, attachments: [] })
  expect((await agent.delete(`/drafts/${draft.id}`)).status).toBe(204)
  expectError(await agent.get(`/drafts/${draft.id}`), 404, 'DRAFT_NOT_FOUND')
  expect(await writtenEvents(scope)).toEqual([])
  expect(await activityOf(scope, ticket.id)).toEqual(activity)
  expect((await agent.get(`/tickets/${ticket.id}`)).headers.get('etag')).toBe(before.headers.get('etag'))
})

test('drafts are listed newest first, by ticket, author and stale, with cursors', async () => {
  const { agent, admin, scope } = await createOrganization()
  const [ticket, other] = [await insertTicket(scope), await insertTicket(scope)]
  const first = await createDraft(agent, ticket)
  const second = await createDraft(agent, other)
  const third = await createDraft(admin, ticket)
  await createMessage(agent, other.id, { send_email: false })
  expect(await idsOf(agent)).toEqual([third.id, second.id, first.id])
  expect(await idsOf(agent, `?ticket_id=${ticket.id}`)).toEqual([third.id, first.id])
  expect(await idsOf(agent, `?author_id=${agent.user_id}`)).toEqual([second.id, first.id])
  expect(await idsOf(agent, '?stale=true')).toEqual([second.id])
  expect(await idsOf(agent, '?stale=false')).toEqual([third.id, first.id])
  const { meta } = (await agent.get('/drafts?per_page=2')).body
  expect([meta.total, await idsOf(agent, `?per_page=2&cursor=${meta.next_cursor}`)]).toEqual([3, [first.id]])
})

test('a page of large drafts comes in steps, in order', async () => {
  const { agent, scope } = await createOrganization()
  const made: string[] = []
  for (let n = 0; n < 4; n++) {
    made.unshift((await createDraft(agent, await insertTicket(scope), { body: 'x'.repeat(400_000) })).id)
  }
  expect(await idsOf(agent)).toEqual(made)
})

describe('stale:', () => {
  test('a reply is, once a public message came that it is not based on; based_on clears it', async () => {
    const { agent, admin, scope } = await createOrganization()
    const ticket = await insertTicket(scope)
    const draft = await createDraft(agent, ticket)
    const note = await createDraft(agent, ticket, { is_internal: true })
    const stale = async (id: string) => (await agent.get(`/drafts/${id}`)).body.data.stale
    expect(draft.based_on).toBeNull()
    await createMessage(admin, ticket.id, { is_internal: true })
    expect(await stale(draft.id)).toBe(false)
    const message = await createMessage(admin, ticket.id, { send_email: false })
    expect([await stale(draft.id), await stale(note.id)]).toEqual([true, false])
    const cleared = await agent.patch(`/drafts/${draft.id}`, { based_on: message.id.toUpperCase() })
    expect(cleared.body.data).toMatchObject({ based_on: message.id, stale: false })
  })

  test('based_on is a public message of the ticket, else MESSAGE_NOT_FOUND', async () => {
    const { agent, id, scope } = await createOrganization()
    const [ticket, other] = [await insertTicket(scope), await insertTicket(scope)]
    const old = await createMessage(agent, ticket.id, { send_email: false })
    const note = await createMessage(agent, ticket.id, { is_internal: true })
    await createMessage(agent, ticket.id, { send_email: false })
    const elsewhere = await createMessage(agent, other.id, { send_email: false })
    const draft = await createDraft(agent, ticket, { based_on: old.id })
    expect(draft).toMatchObject({ based_on: old.id, stale: true })
    const before = await fingerprint(id)
    for (const based_on of [note.id, elsewhere.id, newId(), 'none']) {
      const answers = [
        await post(agent, ticket, { based_on, is_internal: true }),
        await agent.patch(`/drafts/${draft.id}`, { based_on }),
      ]
      for (const answer of answers) expectError(answer, 422, 'MESSAGE_NOT_FOUND')
    }
    expectError(await agent.patch(`/drafts/${draft.id}`, { based_on: null }), 422, 'VALIDATION_ERROR')
    expect(await fingerprint(id)).toEqual(before)
  })
})

describe('how many:', () => {
  test('a person has one reply and one note in a ticket, also of two at once', async () => {
    const { agent, admin, scope } = await createOrganization()
    const ticket = await insertTicket(scope)
    const answers = await Promise.all([post(agent, ticket), post(agent, ticket), post(agent, ticket)])
    const [made, ...refused] = answers.toSorted((a, b) => a.status - b.status)
    expect(made!.status).toBe(201)
    for (const answer of refused) {
      expectError(answer, 422, 'DRAFT_EXISTS')
      expect(answer.body.error.details.draft).toEqual(made!.body.data)
    }
    const note = await createDraft(agent, ticket, { is_internal: true })
    expectError(await agent.patch(`/drafts/${note.id}`, { is_internal: false }), 422, 'DRAFT_EXISTS')
    await createDraft(admin, ticket)
    await createDraft(agent, await insertTicket(scope))
    expect((await agent.delete(`/drafts/${made!.body.data.id}`)).status).toBe(204)
    expect((await agent.patch(`/drafts/${note.id}`, { is_internal: false })).body.data.is_internal).toBe(false)
  })

  test('an API key has 20 in a ticket, replies and notes', async () => {
    const { admin, scope } = await createOrganization()
    const ticket = await insertTicket(scope)
    const key = await createProgram(admin, ['drafts:write'])
    const answers = await Promise.all(
      Array.from({ length: 22 }, (_, n) => post(key, ticket, { is_internal: n % 2 === 0 })),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 201), 422, 422])
    expectError(await post(key, ticket), 422, 'VALIDATION_ERROR')
    const { id } = (await admin.get('/drafts?per_page=1')).body.data[0]
    expect((await admin.patch(`/drafts/${id}`, { is_internal: true })).status).toBe(200)
    await createDraft(key, await insertTicket(scope))
  })
})

describe('rights:', () => {
  test("a person's draft is read by all, changed by its author alone, and removed by admins too", async () => {
    const { admin, agent, addMember, id, scope } = await createOrganization()
    const colleague = await addMember('agent', 'Zoe Agent')
    const key = await createProgram(admin, ['*:write'])
    const draft = await createDraft(agent, await insertTicket(scope))
    const path = `/drafts/${draft.id}`
    const before = await fingerprint(id)
    for (const client of [admin, colleague]) {
      expect((await client.get(path)).status).toBe(200)
      expectError(await client.patch(path, { body: 'Mine' }), 403, 'FORBIDDEN')
      expectError(await client.post(`${path}/send`), 403, 'FORBIDDEN')
    }
    expectError(await colleague.delete(path), 403, 'FORBIDDEN')
    expect(await fingerprint(id)).toEqual(before)
    expect((await key.get(path)).status).toBe(200)
    expectError(await key.patch(path, { body: 'Mine' }), 403, 'FORBIDDEN')
    expectError(await key.post(`${path}/send`), 403, 'FORBIDDEN')
    expectError(await key.delete(path), 403, 'FORBIDDEN')
    expect((await agent.get(path)).body.data).toEqual(draft)
    expect((await admin.delete(path)).status).toBe(204)
  })

  test("a key's draft is changed by itself and every person, by no other key", async () => {
    const { admin, agent, scope } = await createOrganization()
    const [key, other] = [await createProgram(admin, ['drafts:write']), await createProgram(admin, ['*:write'])]
    const ticket = await insertTicket(scope)
    const [draft, second] = [await createDraft(key, ticket), await createDraft(key, ticket)]
    const path = `/drafts/${draft.id}`
    expect(draft.author).toEqual({ type: 'api_key', id: key.id, name: key.name })
    expect((await key.patch(path, { body: 'By the key' })).body.data.body).toBe('By the key')
    const edited = await agent.patch(path, { body: 'By Alan' })
    expect(edited.body.data).toMatchObject({ body: 'By Alan', author: draft.author })
    for (const answer of [
      await other.patch(path, { body: 'By another' }),
      await other.post(`${path}/send`),
      await other.delete(path),
    ]) {
      expectError(answer, 403, 'FORBIDDEN')
    }
    expect((await agent.get(path)).body.data.body).toBe('By Alan')
    expect((await agent.delete(path)).status).toBe(204)
    expect((await key.delete(`/drafts/${second.id}`)).status).toBe(204)
  })

  test('a key needs drafts:read or drafts:write; the latter uploads and never sends', async () => {
    const { admin, scope } = await createOrganization()
    const ticket = await insertTicket(scope)
    const writer = await createProgram(admin, ['drafts:write'])
    const reader = await createProgram(admin, ['drafts:read'])
    const sender = await createProgram(admin, ['messages:write', 'tickets:write'])
    const file = await uploadFile(writer)
    const draft = await createDraft(writer, ticket, { attachment_ids: [file.id] })
    const required = async (
      answer: Promise<{ status: number; body: { error: { details: { required: string } } } }>,
    ) => {
      const { status, body } = await answer
      return [status, body.error.details.required]
    }
    expect(await required(writer.post(`/drafts/${draft.id}/send`))).toEqual([403, 'messages:write'])
    expect(await required(writer.post(`/tickets/${ticket.id}/messages`, { body: 'Hi' }))).toEqual([
      403,
      'messages:write',
    ])
    expect(await idsOf(reader)).toEqual([draft.id])
    expect(await required(reader.send('POST', '/attachments'))).toEqual([403, 'messages:write'])
    expectError(await sender.post(`/drafts/${draft.id}/send`), 403, 'FORBIDDEN')
    expect((await admin.get(`/tickets/${ticket.id}/messages`)).body.data).toEqual([])
  })

  test('a bad request changes nothing', async () => {
    const { agent, id, scope } = await createOrganization()
    const ticket = await insertTicket(scope)
    const draft = await createDraft(agent, ticket)
    const before = await fingerprint(id)
    const path = `/drafts/${draft.id}`
    for (const [fields, code] of [
      [{ body: ' ' }, 'EMPTY_BODY'],
      [{ body: `<p>${' '.repeat(11_000)}</p>` }, 'EMPTY_BODY'],
      [{ cc: ['nobody'] }, 'INVALID_EMAIL'],
    ] as const) {
      expectError(await agent.patch(path, fields), 422, code)
      expectError(await post(agent, ticket, { is_internal: true, ...fields }), 422, code)
    }
    const headers = { 'if-match': '"stale"' }
    expectError(await agent.patch(path, { body: 'Late' }, headers), 412, 'PRECONDITION_FAILED')
    expectError(await agent.delete(path, undefined, headers), 412, 'PRECONDITION_FAILED')
    expectError(await agent.post(`${path}/send`, undefined, headers), 412, 'PRECONDITION_FAILED')
    expect(await fingerprint(id)).toEqual(before)
    const tag = (await agent.get(path)).headers.get('etag')!
    expect((await agent.patch(path, { body: 'In time' }, { 'if-match': tag })).status).toBe(200)
  })
})

test('its files are used: by nothing else, and not removed after a day; what it gives up is unused again', async () => {
  const organization = await createOrganization()
  const { agent, admin, scope } = organization
  const ticket = await insertTicket(scope)
  const [file, other] = [await uploadFile(agent), await uploadFile(agent)]
  const draft = await createDraft(agent, ticket, { attachment_ids: [file.id, other.id] })
  expectError(await post(admin, ticket, { attachment_ids: [file.id] }), 422, 'ATTACHMENT_NOT_FOUND')
  const message = { body: 'Mine', attachment_ids: [file.id], is_internal: true }
  expectError(await admin.post(`/tickets/${ticket.id}/messages`, message), 422, 'ATTACHMENT_NOT_FOUND')
  const kept = await agent.patch(`/drafts/${draft.id}`, { attachment_ids: [file.id] })
  expect(kept.body.data.attachments.map(({ id }: { id: string }) => id)).toEqual([file.id])
  await ageUploads(organization)
  await removeUnusedUploads(connection())
  const { sql, organization_id } = scope
  const left = await sql<{ draft_id: string }[]>`
    select draft_id from attachments where organization_id = ${organization_id}`
  expect([...left]).toEqual([{ draft_id: draft.id }])
  expect((await agent.delete(`/drafts/${draft.id}`)).status).toBe(204)
  expect((await sql`select 1 from attachments where organization_id = ${organization_id}`).length).toBe(0)
})

test('drafts go with their ticket and with the membership of their author', async () => {
  const { admin, addMember, scope } = await createOrganization()
  const [ticket, gone] = [await insertTicket(scope), await insertTicket(scope)]
  const zoe = await addMember('agent', 'Zoe Agent')
  const file = await uploadFile(zoe)
  const hidden = await createDraft(admin, gone)
  await createDraft(zoe, ticket, { attachment_ids: [file.id] })
  const kept = await createDraft(admin, ticket)
  await admin.delete(`/tickets/${gone.id}`)
  for (const answer of [
    await admin.get(`/drafts/${hidden.id}`),
    await admin.patch(`/drafts/${hidden.id}`, { body: 'Late' }),
    await admin.post(`/drafts/${hidden.id}/send`),
    await admin.delete(`/drafts/${hidden.id}`),
  ]) {
    expectError(answer, 404, 'DRAFT_NOT_FOUND')
  }
  expect((await admin.patch(`/users/${zoe.user_id}`, { active: false })).status).toBe(200)
  expect((await idsOf(admin)).length).toBe(2)
  expect((await admin.delete(`/users/${zoe.user_id}`)).status).toBe(204)
  expect(await idsOf(admin)).toEqual([kept.id])
  expectError(await admin.get(`/attachments/${file.id}`), 404, 'ATTACHMENT_NOT_FOUND')
})

test('who is removed meanwhile leaves no draft', async () => {
  const { admin, addMember, scope } = await createOrganization()
  const ticket = await insertTicket(scope)
  const zoe = await addMember('agent', 'Zoe Agent')
  const { making } = await inTransaction(scope, async (inner) => {
    await removeMembership(inner, zoe.user_id)
    const making = post(zoe, ticket)
    await Promise.race([making, someoneWaits()])
    return { making }
  })
  expectError(await making, 403, 'FORBIDDEN')
  expect(await idsOf(admin)).toEqual([])
})
