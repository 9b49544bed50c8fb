/** An answer that breaks its own model: whoever wrote the route must see which field it is. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import Elysia from 'elysia'
import { connection } from '../../src/base/db/pool'
import { log } from '../../src/base/log'
import { one, orNull, Uuid } from '../../src/base/shapes/answers'
import { pipeline } from '../../src/http/pipeline/pipeline'
import { type Declarations, readDeclarations } from '../../src/http/request/declarations'
import { handlersOf } from '../../src/http/rerun/route-handlers'
import { createOrganization, startApi, stopApi } from '../support/api'
import { createContact } from '../support/factories'
import { withSettings } from '../support/settings'

beforeAll(() => startApi())
afterAll(stopApi)

const Shown = one(
  Type.Object({
    name: Type.String(),
    company: orNull(Type.Object({ id: Uuid, contacts: Type.Array(Type.Object({ email: Type.String() })) })),
  }),
)
const WRONG = {
  data: { name: 'Kim', company: { id: 'x', contacts: [{ email: 'kim@customer.example' }, { email: null }] } },
}

async function answerWith(value: object) {
  const declarations: Declarations = new Map()
  const app = new Elysia()
    .use(pipeline(handlersOf(new Elysia()), declarations))
    .get('/shown', () => value as typeof Shown.static, {
      response: Shown,
      detail: { hide: true, permission: 'anyone' },
    })
  readDeclarations(app, declarations)
  const logged: Record<string, unknown>[] = []
  using _log = spyOn(log, 'error').mockImplementation((line: object) => void logged.push(line as (typeof logged)[0]))
  const response = await app.handle(new Request('http://localhost/shown', { headers: { 'x-request-id': 'a1' } }))
  return { status: response.status, body: await response.json(), line: logged[0], logged: JSON.stringify(logged) }
}

test('under test its 500 and the log name each field, its type and its value', async () => {
  const { status, body, line } = await answerWith(WRONG)
  const broken = [
    { path: '/data/company/id', type: 'string', message: expect.stringContaining('uuid'), value: 'x' },
    { path: '/data/company/contacts/1/email', type: 'null', message: 'Expected string', value: null },
  ]
  expect([status, body.error.code, body.error.details]).toEqual([500, 'INTERNAL_ERROR', { request_id: 'a1', broken }])
  expect(line).toMatchObject({ request_id: 'a1', broken })
})

test('elsewhere the log names the field and the type, and no value; the 500 tells nothing', async () => {
  using _settings = withSettings({ CHECK_RESPONSES: false })
  const { body, line, logged } = await answerWith({ data: { name: ['kim@customer.example'], company: null } })
  expect(body.error.details).toEqual({ request_id: 'a1' })
  expect(line!.broken).toEqual([{ path: '/data/name', type: 'array', message: 'Expected string' }])
  expect(logged).not.toContain('kim@')
})

test('of a list with the same fault in each row a few fields are named', async () => {
  const contacts = Array.from({ length: 1000 }, () => ({ email: 1 }))
  const company = { id: crypto.randomUUID(), contacts }
  const { line } = await answerWith({ data: { name: 'Kim', company } })
  expect(line!.broken).toHaveLength(5)
})

test('a test whose request is answered so fails with the field', async () => {
  const { agent } = await createOrganization()
  const contact = await createContact(agent)
  const { sql } = connection()
  await sql`update contacts set updated_at = '40000-01-01' where id = ${contact.id}`
  await expect(agent.get(`/contacts/${contact.id}`)).rejects.toThrow('/data/updated_at')
})
