/** Notes name members of the organization. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createMessage, createTicket, hearEvents, writtenEvents } from '../../support/factories'
import { readTicket } from '../../support/mail'

let desk: Organization
let ticket_id: string
let ada: { id: string; name: string }
let alan: { id: string; name: string }

beforeAll(async () => {
  await startApi()
  desk = await createOrganization()
  ada = { id: desk.admin.user_id, name: 'Ada Admin' }
  alan = { id: desk.agent.user_id, name: 'Alan Agent' }
  ticket_id = (await createTicket(desk.admin)).id
})
afterAll(stopApi)

const note = (...ids: string[]) => ({ body: 'Look', is_internal: true, mention_user_ids: ids })

test('a note shows the members that it names, each once and by name, in lists and events too', async () => {
  await hearEvents(desk.scope)
  const message = await createMessage(desk.agent, ticket_id, note(alan.id, ada.id.toUpperCase(), ada.id))
  expect(message.mentions).toEqual([ada, alan])
  expect((await readTicket(desk.agent, ticket_id)).messages.at(-1).mentions).toEqual([ada, alan])
  expect((await writtenEvents(desk.scope)).at(-1)!.data.mentions).toEqual([ada, alan])
  expect((await createMessage(desk.agent, ticket_id)).mentions).toEqual([])
})

test('a draft names them too, until it is a reply, and its note keeps them', async () => {
  const { body } = await desk.agent.post(`/tickets/${ticket_id}/drafts`, note(ada.id))
  const path = `/drafts/${body.data.id}`
  expect(body.data.mentions).toEqual([ada])
  expect((await desk.agent.patch(path, { body: 'Changed' })).body.data.mentions).toEqual([ada])
  expect((await desk.agent.patch(path, { is_internal: false })).body.data.mentions).toEqual([])
  expectError(await desk.agent.patch(path, { mention_user_ids: [ada.id] }), 422, 'VALIDATION_ERROR')
  await desk.agent.patch(path, { is_internal: true, mention_user_ids: [alan.id] })
  const sent = await desk.agent.post(`${path}/send`)
  expect([sent.status, sent.body.data.mentions]).toEqual([201, [alan]])
})

test('a program names members; one who is removed stays in the note', async () => {
  const key = await createProgram(desk.admin, ['messages:write'])
  const member = await desk.addMember('agent', 'Mia')
  const message = await createMessage(key, ticket_id, note(member.user_id))
  await desk.admin.delete(`/users/${member.user_id}`)
  const shown = await desk.admin.get(`/tickets/${ticket_id}/messages`)
  const found = shown.body.data.find(({ id }: { id: string }) => id === message.id)
  expect(found.mentions).toEqual([{ id: member.user_id, name: 'Mia' }])
  expectError(await desk.admin.post(`/tickets/${ticket_id}/messages`, note(member.user_id)), 422, 'USER_NOT_FOUND')
})

test.each<[string, () => object, string]>([
  ['one of another organization', () => note(other.agent.user_id), 'USER_NOT_FOUND'],
  ['nobody', () => note(newId(), ada.id), 'USER_NOT_FOUND'],
  ['what is no id', () => note('x'), 'USER_NOT_FOUND'],
  ['somebody in a public message', () => ({ ...note(ada.id), is_internal: false }), 'VALIDATION_ERROR'],
  ['too many', () => note(...Array.from({ length: 21 }, () => newId())), 'VALIDATION_ERROR'],
])('a message that names %s is refused, and a draft', async (_, body, code) => {
  const before = (await readTicket(desk.admin, ticket_id)).messages.length
  for (const path of ['messages', 'drafts']) {
    const answer = await desk.admin.post(`/tickets/${ticket_id}/${path}`, body())
    expectError(answer, 422, code)
    expect(answer.body.error.details.errors[0].path).toBe('/mention_user_ids')
  }
  expect((await readTicket(desk.admin, ticket_id)).messages).toHaveLength(before)
})

let other: Organization
beforeAll(async () => {
  other = await createOrganization()
})

test('a first message that the team writes names nobody', async () => {
  const contact = { email: `kim.${newId()}@kunde.example` }
  const body = { subject: 'x', contact, message: { body: 'x', mention_user_ids: [ada.id] } }
  const { data } = (await desk.admin.post('/tickets', body)).body
  expect((await readTicket(desk.admin, data.id)).messages[0].mentions).toEqual([])
})
