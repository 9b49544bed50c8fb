/** Tools of programs: made from the document, shown by what their caller may do, and called as requests of the API. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { DAILY_TOOLS } from '../../src/http/mcp/daily-tools'
import { GRANTS } from '../../src/http/request/permissions'
import { api, type Client, createOrganization, type Organization, startApi, stopApi, stranger } from '../support/api'
import { createProgram } from '../support/api-keys'
import { createCustomer } from '../support/customers'
import { createContact, createLabel, createTicket } from '../support/factories'
import { ask, credentialOf, type ListedTool, listTools, postMcp, useTool } from '../support/mcp'
import { sampled } from '../support/sampled'
import { createWorld, type World } from '../support/world'

type Operation = {
  operationId: string
  requestBody?: { content: object }
  responses: Record<string, { content?: object }>
}

const NOBODY = '018f0000-0000-7000-8000-000000000000'

/** Operations that are no tools: about credentials, or of customers and mail servers. */
const NONE = /^\/api\/v1\/(auth|api-keys|my|inbound)(\/|$)/
const OTHER_FORMS = [
  ...['streamEvents', 'fileInboundMessage', 'downloadInboundMessage', 'uploadAttachment', 'downloadAttachment'],
  ...['exportTimeEntries', 'getTranscript'],
]

let organization: Organization
let world: World
let operations: { method: string; path: string; operation: Operation }[]
let tools: ListedTool[]

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
  world = await createWorld(organization)
  const answer = await api().handle(new Request('http://localhost/swagger/json'))
  const { paths } = (await answer.json()) as { paths: Record<string, Record<string, Operation>> }
  operations = Object.entries(paths).flatMap(([path, all]) =>
    Object.entries(all).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  tools = await listTools(organization.admin)
})
afterAll(stopApi)

const namesOf = (list: { name: string }[]) => list.map(({ name }) => name).sort()
const toolOf = (list: ListedTool[], name: string) => list.find((tool) => tool.name === name)!

describe('the list', () => {
  test('has every operation with JSON in and out, and nothing about credentials', () => {
    const others = operations.filter(
      ({ path, operation }) => !NONE.test(path) && !OTHER_FORMS.includes(operation.operationId),
    )
    expect(namesOf(tools)).toEqual(others.map(({ operation }) => operation.operationId).sort())
    expect(tools.length).toBeGreaterThan(100)
    // Each of the exceptions is an operation, and has another form.
    for (const name of OTHER_FORMS) {
      const { operation } = operations.find((one) => one.operation.operationId === name)!
      const { requestBody, responses } = operation
      const contents = [requestBody?.content ?? {}, responses[200]?.content ?? {}, responses[201]?.content ?? {}]
      expect([name, contents.flatMap(Object.keys).some((type) => type !== 'application/json')]).toEqual([name, true])
    }
  })

  test('has about 25 for daily work without a wish for all', async () => {
    const daily = await listTools(organization.admin, 'daily')
    expect(daily.length).toBeWithin(20, 31)
    expect(namesOf(daily)).toEqual([...DAILY_TOOLS].sort())
    expect(namesOf(tools)).toEqual(expect.arrayContaining(namesOf(daily)))
  })

  test('has schemas that stand by themselves, of JSON Schema 2020-12', () => {
    const ajv = addFormats(new Ajv({ strict: false }))
    for (const { name, inputSchema } of tools) {
      expect(name).toMatch(/^[a-z][A-Za-z]{1,63}$/)
      expect(JSON.stringify(inputSchema)).not.toMatch(/"\$ref"|x-needs/)
      expect([name, inputSchema.type]).toEqual([name, 'object'])
      expect(() => ajv.compile(inputSchema)).not.toThrow()
      for (const needed of inputSchema.required) expect(Object.keys(inputSchema.properties)).toContain(needed)
    }
    const { properties, required } = toolOf(tools, 'createDraft').inputSchema
    expect(Object.keys(properties)).toEqual(
      expect.arrayContaining(['ticket_id', 'body', 'is_internal', 'cc', 'based_on', 'idempotency_key']),
    )
    expect(required).toEqual(['ticket_id', 'body'])
    expect(Object.keys(toolOf(tools, 'updateDraft').inputSchema.properties)).toContain('if_match')
  })

  test('marks what reads and what deletes', () => {
    const marked = (mark: string) => namesOf(tools.filter(({ annotations }) => annotations[mark] === true))
    const reads = operations.filter(({ method }) => method === 'GET').map(({ operation }) => operation.operationId)
    const names = namesOf(tools)
    const others = ['previewMacro', 'previewRetention']
    expect(marked('readOnlyHint')).toEqual([...reads.filter((name) => names.includes(name)), ...others].sort())
    const deletes = operations.filter(({ method }) => method === 'DELETE').map(({ operation }) => operation.operationId)
    expect(marked('destructiveHint')).toEqual(deletes.filter((name) => names.includes(name)).sort())
  })
})

/** Tells if the API lets a caller through to an operation: 403 comes before a path that names nothing. */
async function mayCall(client: Client, { method, path, operation }: (typeof operations)[number]): Promise<boolean> {
  const place = path.replace('/api/v1', '').replace(/{\w+}/g, NOBODY)
  const { status, body } = await client.send(method, place, operation.requestBody && {})
  return status !== 401 && !(status === 403 && body.error.code === 'FORBIDDEN')
}

test('callers see exactly the tools that they may call', async () => {
  const { admin, agent } = organization
  const asked = operations.filter(({ operation }) => namesOf(tools).includes(operation.operationId))
  const revoked = await createProgram(admin, ['*:write'])
  await admin.delete(`/api-keys/${revoked.id}`)
  const elsewhere = await createProgram(admin, ['*:write'], { allowed_networks: ['203.0.113.0/24'] })
  const callers: [name: string, client: Client][] = [
    ['admin', admin],
    ['agent', agent],
  ]
  for (const grant of sampled(GRANTS, 5)) callers.push([grant, await createProgram(admin, [grant])])
  const closed = [revoked, elsewhere, stranger(), await createCustomer(admin)]
  for (const [name, client] of callers) {
    const may: string[] = []
    for (const one of asked) if (await mayCall(client, one)) may.push(one.operation.operationId)
    expect([name, namesOf(await listTools(client))]).toEqual([name, may.sort()])
  }
  for (const client of closed) {
    // That no route lets them in is proven by the tests of keys, customers and strangers.
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect([401, 403]).toContain((await postMcp(message, { authorization: credentialOf(client) })).status)
  }
}, 300_000)

describe('a program that drafts', () => {
  const SENDING = /^(create|send)Message|^sendDraft$|^applyMacro$|^sendMessageAgain$/

  test('sees no tool that sends or schedules, and no argument that does', async () => {
    const drafting = ['tickets:read', 'messages:read', 'contacts:read', 'companies:read', 'labels:read', 'macros:read']
    const program = await createProgram(organization.admin, [...drafting, 'drafts:write'])
    const seen = await listTools(program)
    expect(
      seen
        .filter(({ annotations }) => !annotations.readOnlyHint)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['createDraft', 'deleteDraft', 'updateDraft'])
    expect(JSON.stringify(seen)).not.toMatch(/"(send_at|unless_answered|send_email)":/)
    expect(JSON.stringify(await listTools(organization.agent))).toMatch(/"send_at":/)
    const send_at = new Date(Date.now() + 3_600_000).toISOString()
    const later = await useTool(program, 'createDraft', { ticket_id: world.ticket_id, body: 'x', send_at })
    expect([later.isError, later.structuredContent.error.details.errors[0].path]).toEqual([true, '/send_at'])
    for (const name of ['createMessage', 'sendDraft', 'applyMacro', 'sendMessageAgain']) {
      const given = { ticket_id: world.ticket_id, draft_id: world.draft_id, macro_id: world.macro_id, body: 'x' }
      const result = await useTool(program, name, { ...given, message_id: world.message_id })
      expect([name, result.isError, result.structuredContent.error.code]).toEqual([name, true, 'FORBIDDEN'])
    }
  })

  test('has no way to send by the tools for tickets', async () => {
    const program = await createProgram(organization.admin, ['tickets:write', 'drafts:write', 'contacts:read'])
    const seen = await listTools(program)
    expect(seen.filter(({ name }) => SENDING.test(name))).toEqual([])
    const { properties } = toolOf(seen, 'createTicket').inputSchema
    expect(Object.keys(properties)).toContain('contact_id')
    expect(Object.keys(properties)).not.toContain('message')
    expect(Object.keys(properties)).not.toContain('contact')
    const before = (await organization.admin.get('/tickets?per_page=1')).body.meta.total
    const { id } = await createContact(organization.agent)
    const message = { body: 'Buy now' }
    const result = await useTool(program, 'createTicket', { subject: 'Offer', contact_id: id, message })
    expect([result.isError, result.structuredContent.error.code]).toEqual([true, 'FORBIDDEN'])
    expect((await organization.admin.get('/tickets?per_page=1')).body.meta.total).toBe(before)
    const all = await listTools(await createProgram(organization.admin, ['*:write']))
    expect(Object.keys(toolOf(all, 'createTicket').inputSchema.properties)).toEqual(
      expect.arrayContaining(['message', 'contact']),
    )
  })
})

describe('a call', () => {
  test('answers the JSON of the API, as text and as an object', async () => {
    const { agent } = organization
    const label = await createLabel(agent)
    const expected = (await agent.get(`/labels/${label.id}`)).body
    const result = await useTool(agent, 'getLabel', { label_id: label.id })
    expect(result.structuredContent).toEqual(expected)
    expect(JSON.parse(result.content[0].text)).toEqual(expected)
    expect([result.content.length, result.isError]).toEqual([1, undefined])
    const gone = await useTool(agent, 'deleteLabel', { label_id: label.id })
    expect([gone.structuredContent, gone.isError]).toEqual([{}, undefined])
    expect((await agent.get(`/labels/${label.id}`)).status).toBe(404)
  })

  test('places arguments in path, query and body', async () => {
    const { agent } = organization
    const label = await createLabel(agent)
    const ticket = await createTicket(agent, { label_ids: [label.id], custom: { tier: 'gold' } })
    const found = async (given: object) =>
      (await useTool(agent, 'listTickets', given)).structuredContent.data?.map(({ id }: { id: string }) => id)
    expect(await found({ label_ids: [label.id], status: 'open', per_page: 5 })).toEqual([ticket.id])
    expect(await found({ 'custom.tier': 'gold', waiting: null })).toEqual([ticket.id])
    expect(await found({ label_ids: label.id, status: ['closed', 'resolved'] })).toEqual([])
    const shown = await useTool(agent, 'getTicket', { ticket_id: ticket.id, include: 'contact', junk: {} })
    expect(shown.structuredContent.included.contact.id).toBe(ticket.contact.id)
    await useTool(agent, 'updateTicket', { ticket_id: ticket.id, priority: 'urgent', junk: 1 })
    expect((await agent.get(`/tickets/${ticket.id}`)).body.data.priority).toBe('urgent')
    await useTool(agent, 'removeTicketLabels', { ticket_id: ticket.id, label_ids: [label.id] })
    expect((await agent.get(`/tickets/${ticket.id}`)).body.data.labels).toEqual([])
  })

  test('that is refused has the error of the API', async () => {
    const { agent } = organization
    const other = await createOrganization()
    const foreign = await createTicket(other.agent)
    const refused = async (name: string, given: object) => {
      const result = await useTool(agent, name, given)
      expect(result.isError).toBe(true)
      expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent)
      return result.structuredContent.error
    }
    expect((await refused('getTicket', { ticket_id: foreign.id })).code).toBe('TICKET_NOT_FOUND')
    expect((await refused('getTicket', {})).details.errors[0].path).toBe('/ticket_id')
    expect((await refused('getTicket', { ticket_id: {} })).code).toBe('VALIDATION_ERROR')
    expect((await refused('updateTicket', { ticket_id: world.ticket_id, priority: 3 })).code).toBe('INVALID_PRIORITY')
    expect((await refused('listTickets', { page: 'x' })).details.errors[0].path).toBe('/query/page')
    expect((await refused('createUser', { email: 'a@b.example', name: 'x' })).code).toBe('FORBIDDEN')
    expect((await refused('createDraft', { ticket_id: world.ticket_id, body: 'a\u0000' })).code).toBe(
      'VALIDATION_ERROR',
    )
    expect((await refused('createDraft', { ticket_id: world.ticket_id, body: '\ud800' })).code).toBe('VALIDATION_ERROR')
  })

  test('leads to no other path than its own', async () => {
    const { admin } = organization
    const tries = [
      '..',
      '.',
      '',
      '../labels',
      '%2e%2e',
      '..%2f..%2flabels',
      `${world.ticket_id}/messages`,
      'a?b=c',
      'a#b',
      '\\',
    ]
    for (const ticket_id of tries) {
      const { isError, structuredContent } = await useTool(admin, 'getTicket', { ticket_id })
      expect([ticket_id, isError, structuredContent.error.code]).toEqual([ticket_id, true, 'TICKET_NOT_FOUND'])
    }
    const deleted = await useTool(admin, 'deleteMessage', { ticket_id: world.ticket_id, message_id: '..' })
    expect(deleted.structuredContent.error.code).toBe('MESSAGE_NOT_FOUND')
    expect((await admin.get(`/tickets/${world.ticket_id}`)).status).toBe(200)
  })

  test('heeds keys of repeats and tags', async () => {
    const { agent } = organization
    const label = { name: 'Once', color: '#112233', idempotency_key: 'k1' }
    const first = await useTool(agent, 'createLabel', label)
    expect((await useTool(agent, 'createLabel', label)).structuredContent).toEqual(first.structuredContent)
    const label_id = first.structuredContent.data.id
    const { _meta } = await useTool(agent, 'getLabel', { label_id })
    const change = (given: object) => useTool(agent, 'updateLabel', { label_id, ...given })
    const other = await change({ name: 'Twice', if_match: '"x"' })
    expect(other.structuredContent.error.code).toBe('PRECONDITION_FAILED')
    expect((await change({ name: 'Twice', if_match: _meta.etag })).structuredContent.data.name).toBe('Twice')
    for (const bad of ['a\r\nx-organization-id: x', 'ä', '\u2028']) {
      const refused = await useTool(agent, 'createLabel', { ...label, idempotency_key: bad })
      expect(refused.structuredContent.error.details.errors[0].path).toBe('/headers/idempotency-key')
      expect((await change({ name: 'x', if_match: bad })).structuredContent.error.code).toBe('PRECONDITION_FAILED')
    }
  })

  test('of a key is in the audit log as the request that it was, and so is its refusal', async () => {
    const program = await createProgram(organization.admin, ['labels:write'])
    await listTools(program)
    await useTool(program, 'listLabels')
    const { structuredContent } = await useTool(program, 'createLabel', { name: 'Listed', color: '#112233' })
    await useTool(program, 'listTickets')
    await useTool(program, 'updateLabel', { label_id: structuredContent.data.id, name: 5 }, { 'user-agent': 'Robot/1' })
    const { data } = (await organization.admin.get(`/audit-log?actor_id=${program.id}`)).body
    type Entry = { changes: Record<string, { to: unknown }>; user_agent: string | null; ip: string }
    expect(
      data.reverse().map(({ changes }: Entry) => [changes.method!.to, changes.route!.to, changes.status!.to]),
    ).toEqual([
      ['POST', '/api/v1/labels', 201],
      ['GET', '/api/v1/tickets', 403],
      ['PATCH', '/api/v1/labels/:label_id', 422],
    ])
    expect([data[2].user_agent, data[2].ip]).toEqual(['Robot/1', '127.0.0.1'])
  })
})

describe('resources', () => {
  const read = (client: Client, uri: string) => ask(client, { method: 'resources/read', params: { uri } })

  test('are the pages of the guide, for every caller', async () => {
    const program = await createProgram(organization.admin, ['time_entries:read'])
    const { resources } = await ask(program, { method: 'resources/list' })
    expect(resources.map(({ uri }: { uri: string }) => uri)).toContain('guide://programs')
    for (const { uri } of resources) {
      const { contents } = await read(program, uri)
      expect(contents[0]).toMatchObject({ uri, mimeType: 'text/markdown' })
      expect(contents[0].text.length).toBeGreaterThan(1000)
    }
    for (const uri of ['guide://../README', 'guide://nonsense', 'guide://', 'file:///etc/passwd', 'ticket://..']) {
      const refused = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } }
      const { body } = await postMcp(refused, { authorization: credentialOf(program) })
      expect([uri, body.error.code]).toEqual([uri, -32602])
    }
  })

  test('have the conversation of a ticket without notes, for those who may read it', async () => {
    const program = await createProgram(organization.admin, ['tickets:read', 'messages:read'])
    const { resourceTemplates } = await ask(program, { method: 'resources/templates/list' })
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'ticket://{ticket_id}' }])
    const { contents } = await read(program, `ticket://${world.ticket_id}`)
    expect(contents[0].text).toBe((await program.get(`/tickets/${world.ticket_id}/transcript`)).text)
    expect(contents[0].text).not.toContain('internal note')
    const narrow = await createProgram(organization.admin, ['tickets:read'])
    expect(await ask(narrow, { method: 'resources/templates/list' })).toMatchObject({ resourceTemplates: [] })
    const message = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: `ticket://${world.ticket_id}` } }
    const refused = (await postMcp(message, { authorization: credentialOf(narrow) })).body.error
    expect(refused.data.error).toMatchObject({ code: 'FORBIDDEN', details: { required: 'messages:read' } })
    const other = await createOrganization()
    expect((await postMcp(message, { authorization: credentialOf(other.admin) })).body.error.code).toBe(-32602)
  })
})

test('the list of the guide links pages that are open to all', async () => {
  const get = (path: string) => api().handle(new Request(`http://localhost${path}`))
  const list = await get('/llms.txt')
  expect([list.status, list.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  const text = await list.text()
  const links = [...text.matchAll(/^- \[[^\]]+\]\((\S+)\)$/gm)].map(([, link]) => new URL(link!).pathname)
  expect(links).toContain('/guide/programs.md')
  expect(links.length).toBeGreaterThan(12)
  for (const link of links) {
    const page = await get(link)
    expect([link, page.status, page.headers.get('content-type')]).toEqual([link, 200, 'text/plain; charset=utf-8'])
  }
  for (const path of ['/guide/api', '/guide/../README.md', '/guide/..%2f..%2fREADME.md', '/guide/x.md', '/guide/.md']) {
    expect([path, (await get(path)).status]).toEqual([path, 404])
  }
})
