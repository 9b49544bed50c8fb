/** The door for programs at `/mcp`: who may enter, and what is no message. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import path from 'node:path'
import { createApp } from '../../src/app'
import { config } from '../../src/base/config'
import { type Answer, api, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createProgram, type Program } from '../support/api-keys'
import { createCustomer } from '../support/customers'
import { ask, credentialOf, postMcp, useTool } from '../support/mcp'
import { withSettings } from '../support/settings'
import { readSources } from '../support/sources'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const PING = { jsonrpc: '2.0', method: 'ping' }

let organization: Organization
let program: Program

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
  program = await createProgram(organization.admin, ['tickets:write', 'labels:write'])
})
afterAll(stopApi)

function expectRefused({ status, body }: Answer, code: number, error: string) {
  expect([status, body.error.code]).toEqual([code, error])
}

function expectFault({ status, body }: Answer, code: number, expected_status = 400) {
  expect([status, body.jsonrpc, body.error.code, body.result]).toEqual([expected_status, '2.0', code, undefined])
}

describe('a program', () => {
  test('says who it is in the header alone, with a token or a key', async () => {
    for (const authorization of [
      ...[credentialOf(organization.agent), credentialOf(program), `bearer  ${program.token}`],
      `ApiKey ${program.token}`,
    ]) {
      expect((await postMcp(LIST, { authorization })).body.result.tools.length).toBeGreaterThan(5)
    }
    // The API itself takes a key by its own scheme only.
    const strange = await organization.agent.get('/labels', { authorization: credentialOf(program) })
    expectRefused(strange, 401, 'INVALID_TOKEN')
  })

  test('without a good credential is 401, also with one in the address', async () => {
    const customer = await createCustomer(organization.admin)
    const revoked = await createProgram(organization.admin, ['*:read'])
    await organization.admin.delete(`/api-keys/${revoked.id}`)
    const { token } = program
    const answers = [
      await postMcp(LIST),
      await postMcp(LIST, { authorization: 'Bearer garbage' }),
      await postMcp(LIST, { authorization: `Basic ${btoa(token)}` }),
      await postMcp(LIST, { authorization: credentialOf(customer) }),
      await postMcp(LIST, { authorization: credentialOf(revoked) }),
      await postMcp(LIST, { authorization: `Bearer ${token.slice(0, -1)}x` }),
      ...(await Promise.all(
        ['access_token', 'token', 'api_key', 'key', 'authorization'].map((name) =>
          postMcp(LIST, { path: `/mcp?${name}=${token}` }),
        ),
      )),
    ]
    for (const answer of answers) {
      expectRefused(answer, 401, 'INVALID_TOKEN')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    const elsewhere = await createProgram(organization.admin, ['*:read'], { allowed_networks: ['203.0.113.0/24'] })
    expectRefused(await postMcp(LIST, { authorization: credentialOf(elsewhere) }), 403, 'FORBIDDEN')
  })

  test('acts in the organization of the header, as at the API', async () => {
    const other = await createOrganization()
    for (const client of [organization.admin, program]) {
      const authorization = credentialOf(client)
      expectRefused(await postMcp(LIST, { authorization, 'x-organization-id': other.id }), 403, 'FORBIDDEN')
      expectRefused(await postMcp(LIST, { authorization, 'x-organization-id': 'x' }), 422, 'VALIDATION_ERROR')
    }
    const { sql } = other.scope
    await sql`
      insert into memberships (organization_id, user_id, role)
      values (${other.id}, ${organization.admin.user_id}, 'agent')`
    const header = { 'x-organization-id': other.id }
    const made = await useTool(organization.admin, 'createLabel', { name: 'There', color: '#112233' }, header)
    expect(made.isError).toBeUndefined()
    const namesOf = async (client: Organization['agent']) =>
      (await client.get('/labels')).body.data.map(({ name }: { name: string }) => name)
    expect([await namesOf(other.agent), await namesOf(organization.agent)]).toEqual([['There'], []])
  })

  test('of a page of another origin is 403, whatever the Host says', async () => {
    const own = new URL(config.BASE_URL).origin
    const authorization = credentialOf(program)
    expect((await postMcp(LIST, { authorization, origin: own })).status).toBe(200)
    const foreign = [
      'https://evil.example',
      'null',
      `${own}.evil.example`,
      own.replace('http', 'https'),
      'http://127.0.0.1',
    ]
    for (const origin of foreign) {
      const host = URL.canParse(origin) ? new URL(origin).host : 'evil.example'
      for (const who of [{ authorization }, {} as Record<string, string>]) {
        expectRefused(await postMcp(LIST, { ...who, origin, host }), 403, 'FORBIDDEN')
      }
      const get = new Request('http://localhost/mcp', { headers: { origin } })
      expect((await api().handle(get)).status).toBe(403)
    }
  })

  test('finds no session to look for or to end, and nothing with MCP=off', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await api().handle(new Request('http://localhost/mcp', { method }))
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
    const put = await api().handle(new Request('http://localhost/mcp', { method: 'PUT' }))
    expect(put.status).toBe(404)
    using _ = withSettings({ MCP: 'off' })
    const app = createApp(async () => true)
    for (const method of ['GET', 'POST', 'DELETE']) {
      const headers = { authorization: credentialOf(program), 'content-type': 'application/json', origin: 'null' }
      const request = new Request('http://localhost/mcp', { method, headers, ...(method === 'POST' && { body: '{}' }) })
      expect((await app.handle(request)).status).toBe(404)
    }
  })
})

describe('a message', () => {
  const send = (body: unknown, headers = {}) => postMcp(body, { authorization: credentialOf(program), ...headers })

  test('that cannot be read is an error of JSON-RPC', async () => {
    expectFault(await send('{'), -32700)
    expectFault(await send(''), -32700)
    expectFault(await send('"\xff'), -32700)
    expectFault(await send('['.repeat(200) + ']'.repeat(200)), -32600)
    expectFault(await send(JSON.stringify({ ...LIST, params: { a: Array(20_000).fill(0) } })), -32600)
    for (const body of [{}, [1], 1, null, 'x', { jsonrpc: '1.0', id: 1, method: 'ping' }]) {
      const { status, body: answer } = await send(JSON.stringify(body))
      expect([status, answer.error.code < 0]).toEqual([400, true])
    }
    expect((await send(LIST, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  test('of too many bytes is 413, with and without a length, and holds nothing afterwards', async () => {
    const text = JSON.stringify({ ...LIST, params: { pad: 'x'.repeat(8 * 1024 * 1024) } })
    expectRefused(await send(text), 413, 'PAYLOAD_TOO_LARGE')
    const chunks = () => new Response(text).body!
    const request = new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { authorization: credentialOf(program), 'content-type': 'application/json' },
      body: chunks(),
    })
    expect((await api().handle(request)).status).toBe(413)
    expect((await send(LIST)).status).toBe(200)
  })

  test('that names what there is not is an error of JSON-RPC', async () => {
    const unknown = await send({ ...LIST, method: 'tools/call', params: { name: 'dropTables', arguments: {} } })
    expect([unknown.status, unknown.body.error.code]).toEqual([200, -32602])
    for (const method of ['prompts/list', 'sampling/createMessage', 'toString', '__proto__']) {
      expect((await send({ ...LIST, method })).body.error.code).toBe(-32601)
    }
  })

  test('that asks for nothing is 202', async () => {
    expect((await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202)
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    expect((await send([cancelled])).status).toBe(202)
  })

  test.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
    'of the revision %s begins with what it agrees on',
    async (revision) => {
      const client = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
      const result = await ask(program, { method: 'initialize', params: client })
      expect(result).toMatchObject({ protocolVersion: revision, capabilities: { tools: {}, resources: {} } })
      expect(result.serverInfo.name).toBe('deskwire')
      expect((await send({ ...LIST, id: 2 }, { 'mcp-protocol-version': revision })).body.result.tools).not.toBeEmpty()
    },
  )
})

describe('a batch', () => {
  const send = (messages: object[], headers = {}) =>
    postMcp(messages, { authorization: credentialOf(program), ...headers })
  const many = (count: number) => Array.from({ length: count }, (_, id) => ({ ...PING, id }))

  test('has up to 20 messages, in the revisions that have batches', async () => {
    const { status, body } = await send(many(20))
    expect([status, body.map(({ id }: { id: number }) => id)]).toEqual([200, many(20).map(({ id }) => id)])
    expect((await send(many(2), { 'mcp-protocol-version': '2025-03-26' })).body).toHaveLength(2)
    expectFault(await send(many(21)), -32600)
    expectFault(await send([]), -32600)
    for (const revision of ['2025-06-18', '2025-11-25', '2026-07-28']) {
      expectFault(await send(many(2), { 'mcp-protocol-version': revision }), -32600)
    }
  })

  test('is answered although it cancels itself, or gives an id twice', async () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    expect((await send([{ ...LIST, id: 1 }, cancelled])).body.result.tools).not.toBeEmpty()
    expect((await send([LIST, LIST])).status).toBe(200)
  })
})

test('a service that no program asks does not load the SDK', () => {
  const files = [...readSources(path.join(import.meta.dir, '../../src'))]
  const naming = files.filter(([, { text }]) => text.includes("'@modelcontextprotocol/"))
  expect(naming.map(([file]) => file)).toEqual(['http/mcp/serve-messages'])
  expect(naming[0]![1].text).not.toMatch(/^import (?!type\b).*'@modelcontextprotocol/m)
})

describe('the limit', () => {
  test('counts each message once, whatever it does, and shows so', async () => {
    const one = await createProgram(organization.admin, ['labels:write'])
    const authorization = credentialOf(one)
    using _ = withSettings({ RATE_LIMIT_PER_MINUTE: 30 })
    const left = ({ headers }: Answer) => Number(headers.get('x-ratelimit-remaining'))
    const first = await postMcp(LIST, { authorization })
    expect([first.status, first.headers.get('x-ratelimit-limit')]).toEqual([200, '30'])
    const call = { ...LIST, method: 'tools/call', params: { name: 'listLabels', arguments: {} } }
    expect(left(first) - left(await postMcp(call, { authorization }))).toBe(1)
    const batch = await postMcp([call, { ...PING, id: 2 }, { ...LIST, id: 3 }], { authorization })
    expect([batch.status, left(first) - left(batch)]).toEqual([200, 4])
    const twenty = Array.from({ length: 20 }, (_, id) => ({ ...PING, id }))
    expect((await postMcp(twenty, { authorization })).status).toBe(200)
    const made = {
      ...LIST,
      method: 'tools/call',
      params: { name: 'createLabel', arguments: { name: 'X', color: '#111111' } },
    }
    const refused = await postMcp([made, ...twenty.slice(0, 15)], { authorization })
    expectRefused(refused, 429, 'RATE_LIMITED')
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)
    expect((await organization.agent.get('/labels')).body.data.map(({ name }: { name: string }) => name)).not.toContain(
      'X',
    )
    expectRefused(await postMcp(LIST, { authorization }), 429, 'RATE_LIMITED')
    expectRefused(await one.get('/labels'), 429, 'RATE_LIMITED')
  })
})
