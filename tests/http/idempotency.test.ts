import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import Elysia, { type AnyElysia, t } from 'elysia'
import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import { transact } from '../../src/base/db/transact'
import { inTransaction, type Scope } from '../../src/base/scope'
import { inOrganization } from '../../src/http/admission/authenticate'
import { pipeline } from '../../src/http/pipeline/pipeline'
import { type Declarations, readDeclarations } from '../../src/http/request/declarations'
import { removeIdempotencyKeys } from '../../src/http/rerun/idempotency-keys'
import { handlersOf } from '../../src/http/rerun/route-handlers'
import { api, type Client, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { isForCustomers } from '../support/customers'
import { pathWith, readEndpoints } from '../support/endpoints'
import { createContact, createMessage, createTicket, formOf, insertMailbox } from '../support/factories'
import { withSettings } from '../support/settings'
import { createWorld, fingerprint, goodBody, goodRaw } from '../support/world'

const LABEL = { name: 'VIP', color: '#112233' }

let organization: Organization
let admin: Client
let agent: Client

beforeAll(() => startApi())
afterAll(stopApi)
beforeEach(async () => {
  organization = await createOrganization()
  admin = organization.admin
  agent = organization.agent
})

const keyed = (key: string) => ({ 'idempotency-key': key })

async function count(table: string): Promise<number> {
  const { sql } = connection()
  const [row] = await sql<{ n: number }[]>`
    select count(*) as n from ${sql(table)} where organization_id = ${organization.id}`
  return row!.n
}

describe('a POST that is sent again with its key', () => {
  test('gets the first answer, byte for byte, and creates nothing', async () => {
    const first = await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    const second = await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
    for (const header of ['content-type', 'etag']) expect(second.headers.get(header)).toBe(first.headers.get(header))
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await count('companies')).toBe(1)
  })

  test('gets it although the object was changed meanwhile', async () => {
    const first = await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    await agent.patch(`/companies/${first.body.data.id}`, { name: 'Ajax' })
    expect((await agent.post('/companies', { name: 'Acme' }, keyed('one'))).text).toBe(first.text)
  })

  test('without a key creates twice', async () => {
    await agent.post('/companies', { name: 'Acme' })
    await agent.post('/companies', { name: 'Acme' })
    expect(await count('companies')).toBe(2)
  })

  test('with another body is refused, with a body that says the same it is not', async () => {
    await agent.post('/companies', { name: 'Acme', notes: 'x' }, keyed('one'))
    const other = await agent.post('/companies', { name: 'Acme', notes: 'y' }, keyed('one'))
    expect([other.status, other.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    const same = await agent.post('/companies', '{ "notes": "x", "name": "Acme" }', keyed('one'))
    expect(same.headers.get('idempotent-replayed')).toBe('true')
  })

  test('to another path, of another user, in another organization runs on its own', async () => {
    const elsewhere = await createOrganization()
    const { sql } = connection()
    await sql`insert into memberships (organization_id, user_id, role) values (${elsewhere.id}, ${agent.user_id}, 'agent')`
    await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    const answers = [
      await admin.post('/companies', { name: 'Acme' }, keyed('one')),
      await agent.post('/labels', LABEL, keyed('one')),
      await agent.post('/companies', { name: 'Acme' }, { ...keyed('one'), 'x-organization-id': elsewhere.id }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, null, null])
  })

  test('gets the answer of every POST that takes a key, and changes nothing', async () => {
    type Route = { path: string; hooks: { detail?: { idempotency?: string } } }
    const { routes } = api() as unknown as { routes: Route[] }
    const taking = routes.filter(({ hooks }) => !['never', undefined].includes(hooks.detail?.idempotency))
    const names = taking.map(({ path }) => `POST ${path.replace('/api/v1', '').replace(/:(\w+)/g, '{$1}')}`)
    const posts = (await readEndpoints()).filter((one) => !isForCustomers(one) && names.includes(one.name))
    // Once it is done, the 404 says so.
    const repeated = posts.filter(({ path }) => !path.endsWith('/erase'))
    using _ = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
    const world = await createWorld(organization)
    const refused: string[] = []
    for (const { name, path, body } of repeated) {
      const raw = goodRaw(name)
      const content = raw?.body ?? (body && goodBody(name, world))
      const query = name === 'POST /inbound-messages' ? `?mailbox_id=${world.mailbox_id}` : ''
      const headers: Record<string, string> = { ...keyed('one'), ...(raw?.type && { 'content-type': raw.type }) }
      const send = () => admin.post(pathWith(path, world) + query, content, headers)
      const first = await send()
      const between = await fingerprint(organization.id)
      const again = await send()
      expect([name, again.status, again.text]).toEqual([name, first.status, first.text])
      if (first.status >= 300) {
        refused.push(name)
        continue
      }
      const replayed = [name, again.headers.get('idempotent-replayed'), await fingerprint(organization.id)]
      expect(replayed).toEqual([name, 'true', between])
    }
    // Their sections make what these need.
    expect(refused).toEqual([
      'POST /tickets/{ticket_id}/messages/{message_id}/resend',
      'POST /tickets/{ticket_id}/unmerge',
      'POST /tickets/{ticket_id}/rating-request',
      'POST /users/{user_id}/invite',
      'POST /domains/{domain_id}/verify',
      'POST /inbound-messages/{inbound_message_id}/release',
    ])
  })

  test('many times at once runs once', async () => {
    const contact = await createContact(agent)
    const body = { subject: 'Printer', contact_id: contact.id }
    const answers = await Promise.all(Array.from({ length: 10 }, () => agent.post('/tickets', body, keyed('one'))))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(await count('tickets')).toBe(1)
  })

  test('runs again after a failure', async () => {
    await agent.post('/labels', LABEL)
    const refused = await agent.post('/labels', LABEL, keyed('one'))
    expect(refused.status).toBe(422)
    await organization.scope.sql`delete from labels where organization_id = ${organization.id}`
    const done = await agent.post('/labels', LABEL, keyed('one'))
    expect([done.status, done.headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  test('runs again after 24 hours, and what is older is removed', async () => {
    const { sql } = connection()
    const age = (interval: string) => sql`
      update idempotency_keys set created_at = now() - ${interval}::interval where organization_id = ${organization.id}`
    const first = await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    await age('23 hours 59 minutes')
    await removeIdempotencyKeys(connection())
    expect((await agent.post('/companies', { name: 'Acme' }, keyed('one'))).text).toBe(first.text)
    await age('24 hours')
    const later = await agent.post('/companies', { name: 'Ajax' }, keyed('one'))
    expect([later.status, later.headers.get('idempotent-replayed')]).toEqual([201, null])
    await age('24 hours')
    await removeIdempotencyKeys(connection())
    expect(await count('idempotency_keys')).toBe(0)
  })
})

describe('an upload that is sent again with its key', () => {
  const upload = (content: string, name = 'a.txt', type = 'text/plain') =>
    agent.post('/attachments', formOf(content, name, type), keyed('one'))

  test('gets the first answer when name, type and bytes are the same', async () => {
    const first = await upload('hello')
    const second = await upload('hello')
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await count('attachments')).toBe(1)
  })

  test('is refused when one of them differs', async () => {
    await upload('hello')
    const others = [await upload('hallo'), await upload('hello', 'b.txt'), await upload('hello', 'a.txt', 'text/html')]
    expect(others.map(({ body }) => body.error.code)).toEqual(others.map(() => 'IDEMPOTENCY_KEY_REUSED'))
  })
})

test('an email that is put in again with its key is compared by its bytes and its query', async () => {
  const mailbox = await insertMailbox(organization.scope)
  const email = (subject: string) =>
    `From: c@customer.example\r\nTo: ${mailbox.address}\r\nSubject: ${subject}\r\n\r\nHi`
  const send = (subject: string, query = '') =>
    admin.post(`/inbound-messages?mailbox_id=${mailbox.id}${query}`, email(subject), {
      ...keyed('one'),
      'content-type': 'message/rfc822',
    })
  const first = await send('One')
  const again = await send('One')
  expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect((await send('Two')).body.error.code).toBe('IDEMPOTENCY_KEY_REUSED')
  expect((await send('One', '&dry_run=true')).body.error.code).toBe('IDEMPOTENCY_KEY_REUSED')
  expect(await count('inbound_messages')).toBe(1)
})

describe('a key', () => {
  test.each([[''], ['x'.repeat(256)], ['ä'], ['a\tb']])('that is malformed is refused: %p', async (key) => {
    const answer = await agent.post('/companies', { name: 'Acme' }, keyed(key))
    expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
    expect(answer.body.error.details.errors[0].path).toBe('/headers/idempotency-key')
    expect(await count('companies')).toBe(0)
  })

  test('of 255 characters is taken', async () => {
    expect((await agent.post('/companies', { name: 'Acme' }, keyed('~'.repeat(255)))).status).toBe(201)
  })

  test('is judged after role and path and before the body', async () => {
    const bad = keyed('x'.repeat(256))
    expect((await agent.post('/webhooks', {}, bad)).status).toBe(403)
    expect((await agent.post(`/tickets/${newId()}/messages`, {}, bad)).status).toBe(404)
    expect((await agent.post('/companies', {}, bad)).body.error.details.errors[0].path).toBe('/headers/idempotency-key')
  })

  test('means nothing to other methods and to /auth', async () => {
    const bad = keyed('x'.repeat(256))
    expect((await agent.get('/companies', bad)).status).toBe(200)
    const { id } = (await agent.post('/companies', { name: 'Acme' })).body.data
    expect((await agent.patch(`/companies/${id}`, { name: 'Ajax' }, bad)).status).toBe(200)
    expect((await agent.post('/auth/login', {}, bad)).body.error.details.errors[0].path).not.toContain('idempotency')
  })
})

describe('a runner', () => {
  const state = (set: string) =>
    organization.scope.sql.unsafe(`update idempotency_keys set ${set} where organization_id = '${organization.id}'`)

  test('that died before its change is followed by the next request, whatever it says', async () => {
    await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    await state("status = null, answer = null, lease_until = now() - interval '1 second'")
    const next = await agent.post('/companies', { name: 'Ajax' }, keyed('one'))
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  test('that lives is waited for', async () => {
    await agent.post('/companies', { name: 'Acme' }, keyed('one'))
    await state("lease_until = now() + interval '1 minute'")
    let is_answered = false
    const waiting = agent.post('/companies', { name: 'Acme' }, keyed('one')).then((answer) => {
      is_answered = true
      return answer
    })
    // Another body needs no waiting, and a query more shows that the first one really waits.
    expect((await agent.post('/companies', { name: 'Ajax' }, keyed('one'))).status).toBe(422)
    expect(await count('companies')).toBe(1)
    expect(is_answered).toBe(false)
    await state('lease_until = null')
    expect((await waiting).headers.get('idempotent-replayed')).toBe('true')
  })

  test.each(['/tickets', '/tickets/:id/messages'])(
    'of POST %s that died after its change leaves the answer that it would have given',
    async (route) => {
      const { sql } = connection()
      const contact = await createContact(agent)
      const ticket = await createTicket(agent, { contact_id: contact.id })
      const body = { subject: 'New', contact_id: contact.id, body: 'Hello', is_internal: true }
      const send = () => agent.post(route.replace(':id', ticket.id), body, keyed(`crash ${organization.id}`))
      // The end of the run fails; the change and what its transaction keeps do not.
      await sql`
        alter table idempotency_keys add constraint refuse_end check (lease_until is not null) not valid`
      const first = await send()
      await sql`alter table idempotency_keys drop constraint refuse_end`
      expect(first.status).toBe(201)
      await state("lease_until = now() - interval '1 second'")
      const again = await send()
      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
    },
  )

  test('whose key was given to another changes nothing any more', async () => {
    const contact = await createContact(agent)
    await transact(connection(), async ({ sql }) => {
      await sql`set local citus.enable_unsafe_triggers = on`
      await sql`
        create function take_over() returns trigger language plpgsql as $$
        begin new.token = gen_random_uuid(); return new; end $$`
      await sql`create trigger take_over before insert on idempotency_keys for each row execute function take_over()`
    })
    const answer = await agent.post('/tickets', { subject: 'Late', contact_id: contact.id }, keyed('one'))
    await transact(connection(), async ({ sql }) => {
      await sql`set local citus.enable_unsafe_triggers = on`
      await sql`drop trigger take_over on idempotency_keys`
    })
    expect([answer.status, answer.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
    expect(await count('tickets')).toBe(0)
  })
})

describe('a command that must keep its answer in its one transaction', () => {
  const add = (scope: Scope, name: string) =>
    inTransaction(scope, async ({ sql, organization_id }) => {
      const id = newId()
      await sql`insert into companies (organization_id, id, name) values (${organization_id}, ${id}, ${name})`
      return { id }
    })

  test('runs once', async () => {
    const app = appWithCommand((scope) => add(scope, 'One'))
    const first = await postCommand(app)
    const again = await postCommand(app)
    expect([first.status, await again.text()]).toEqual([201, await first.text()])
    expect(await count('companies')).toBe(1)
  })

  test.each<[string, (scope: Scope) => Promise<{ id: string }>, number]>([
    ['makes two', async (scope) => (await add(scope, 'One')) && add(scope, 'Two'), 1],
    [
      'makes two and hides that the second fails',
      async (scope) => {
        const one = await add(scope, 'One')
        return add(scope, 'Two').catch(() => one)
      },
      1,
    ],
    ['makes none', async () => ({ id: newId() }), 0],
    ['answers with another object', async (scope) => (await add(scope, 'One')) && { id: newId() }, 1],
  ])('fails and keeps nothing when it %s', async (_, command, companies) => {
    const answer = await postCommand(appWithCommand(command))
    expect([answer.status, (await answer.json()).error.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect([await count('idempotency_keys'), await count('companies')]).toEqual([0, companies])
  })
})

/** An app with the one route `POST /commands`, which answers 201 with what `command` returns. */
function appWithCommand(command: (scope: Scope) => Promise<{ id: string }>): AnyElysia {
  const declarations: Declarations = new Map()
  const routes = new Elysia({ prefix: '/api/v1' })
    .use(inOrganization)
    .post('/commands', async ({ scope, status }) => status(201, { data: await command(scope) }), {
      response: { 201: t.Any() },
      detail: { summary: 'Command', permission: 'member', idempotency: 'by its command' },
    })
  const app = new Elysia().use(pipeline(handlersOf(routes), declarations)).use(routes)
  readDeclarations(app, declarations)
  return app
}

function postCommand(app: AnyElysia): Promise<Response> {
  const headers = { authorization: `Bearer ${agent.token}`, ...keyed('one') }
  return app.handle(new Request('http://localhost/api/v1/commands', { method: 'POST', headers }))
}

test('many waiters leave the pool to others', async () => {
  const ticket = await createTicket(agent, { contact_id: (await createContact(agent)).id })
  await createMessage(agent, ticket.id, { is_internal: true })
  await agent.post('/companies', { name: 'Acme' }, keyed('one'))
  const { sql } = organization.scope
  await sql`update idempotency_keys set lease_until = now() + interval '1 minute' where organization_id = ${organization.id}`
  const waiting = Array.from({ length: 20 }, () => agent.post('/companies', { name: 'Acme' }, keyed('one')))
  expect((await agent.get(`/tickets/${ticket.id}`)).status).toBe(200)
  await sql`update idempotency_keys set lease_until = null where organization_id = ${organization.id}`
  const answers = await Promise.all(waiting)
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
})
