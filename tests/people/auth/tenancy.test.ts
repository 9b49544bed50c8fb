import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Answer,
  api,
  type Client,
  createOrganization,
  type Organization,
  startApi,
  stopApi,
} from '../../support/api'
import { isForCustomers } from '../../support/customers'
import { type Endpoint, pathWith, readEndpoints, STREAM, withParameters } from '../../support/endpoints'
import { createTicket } from '../../support/factories'
import { createWorld, fingerprint, goodBody, goodRaw, type World, type WorldId } from '../../support/world'

/** A mark in every text of the other organization. */
const MARK = 'Unmistakable'
const NOBODY = '01890000-0000-7000-8000-000000000000'

/**
 * Requests that an agent may not make: write webhooks, mailboxes, domains, members, teams, schedules, policies, rules
 * and settings, test and retry, see raw mail, API keys, the identity provider, rules of retention, the audit log or
 * timers of others, export or erase a person, make tokens of customers.
 */
function isAdminOnly({ method, path }: Endpoint): boolean {
  if (/^\/(inbound-messages|sender-rules|audit-log|api-keys|timers|stats|identity-provider|retention)/.test(path))
    return true
  if (/^\/contacts\/.*\/(export|erase|tokens)(\/|$)/.test(path)) return true
  return (
    method !== 'GET' &&
    /^\/(webhooks|mailboxes|domains|users|teams|schedules|sla-policies|rules|organization)(\/|$)/.test(path)
  )
}

/** A time entry of an admin: an agent may read it and do no more. */
const OWN_ONLY = ['PATCH /time-entries/{time_entry_id}', 'DELETE /time-entries/{time_entry_id}']

/** Fields of bodies and queries that name something, and what they name. */
const REFERENCES: Record<string, WorldId> = {
  contact_id: 'contact_id',
  hold_label_ids: 'label_id',
  company_id: 'company_id',
  assignee_id: 'user_id',
  user_id: 'user_id',
  author_id: 'user_id',
  actor_id: 'user_id',
  resource_id: 'webhook_id',
  resource_ids: 'ticket_id',
  ticket_id: 'ticket_id',
  parent_id: 'ticket_id',
  message_id: 'message_id',
  mailbox_id: 'mailbox_id',
  team_id: 'team_id',
  schedule_id: 'schedule_id',
  macro_id: 'macro_id',
  member_ids: 'user_id',
  view_id: 'view_id',
  label_ids: 'label_id',
  attachment_ids: 'upload_id',
  mention_user_ids: 'user_id',
  message_ids: 'message_id',
  'POST /tickets/{ticket_id}/merge source_ids': 'source_id',
  'POST /contacts/{contact_id}/merge source_ids': 'other_contact_id',
}

/** Ids that programs, mail servers and identity providers have given. */
const GIVEN_BY_OTHERS = ['external_id', 'email_message_id', 'client_id']

/** The fields of bodies or queries that name something of ours. */
function referencesOf({ name }: Endpoint, fields: object): { field: string; id: string }[] {
  const found = Object.keys(fields).filter((field) => /_ids?$/.test(field) && !GIVEN_BY_OTHERS.includes(field))
  return found.map((field) => {
    const id = theirs[(REFERENCES[field] ?? REFERENCES[`${name} ${field}`])!]
    expect([name, field, id]).toEqual([name, field, expect.any(String)])
    return { field, id }
  })
}

/** All but those of customers (`tests/desk/portal`), and of browsers on the way to a provider. */
let endpoints: Endpoint[]
let of_customers: Endpoint[]
let on_the_way: Endpoint[]
let own: Organization
let other: Organization
let mine: World
let theirs: World

beforeAll(async () => {
  await startApi()
  const all = await readEndpoints()
  endpoints = all.filter((endpoint) => !isForCustomers(endpoint) && !isOnTheWay(endpoint))
  of_customers = all.filter(isForCustomers)
  on_the_way = all.filter(isOnTheWay)
  own = await createOrganization('Own')
  other = await createOrganization(MARK)
  mine = await createWorld(own)
  theirs = await createWorld(other, MARK)
})
afterAll(stopApi)

describe('every route', () => {
  test('is documented, and so is tried here', () => {
    const { routes } = api() as unknown as { routes: { method: string; path: string }[] }
    const names = routes
      .filter(({ path }) => path.startsWith('/api/v1/') && path !== STREAM)
      .map(({ method, path }) => `${method} ${path.slice('/api/v1'.length).replace(/:(\w+)/g, '{$1}')}`)
    expect(names.sort()).toEqual([...endpoints, ...of_customers, ...on_the_way].map(({ name }) => name).sort())
    expect(names.length).toBeGreaterThan(70)
  })

  test('without a token is 401, but to sign in and to refresh', async () => {
    const open = ['POST /auth/login', 'POST /auth/refresh', 'POST /auth/password/forgot', 'POST /inbound/{token}']
    await changesNothing(async () => {
      for (const endpoint of [...endpoints, ...of_customers].filter(({ name }) => !open.includes(name))) {
        const answer = await call({ ...own.admin, send: strangerSend }, endpoint, mine)
        expectError(endpoint, answer, 401, /^INVALID_TOKEN$/)
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      }
    })
  })

  test('in an organization that the caller is no member of is 403', async () => {
    await changesNothing(async () => {
      for (const endpoint of inOrganizations()) {
        const answer = await call(own.admin, endpoint, theirs, { 'x-organization-id': other.id })
        expectError(endpoint, answer, 403, /^FORBIDDEN$/)
      }
    })
  })

  test('that only admins may call is 403 for an agent, and no other is', async () => {
    const refused: string[] = []
    for (const endpoint of inOrganizations()) {
      const reads = endpoint.method === 'GET'
      // Writes get ids that nothing has: the role is judged before them, and one endpoint takes nothing from the next.
      const answer = await call(own.agent, endpoint, reads ? mine : {})
      if (answer.status !== 403) continue
      expectError(endpoint, answer, 403, /^FORBIDDEN$/)
      refused.push(endpoint.name)
    }
    const admin_only = inOrganizations().filter(isAdminOnly)
    expect(refused.sort()).toEqual(admin_only.map(({ name }) => name).sort())
    expect(refused.length).toBeGreaterThanOrEqual(16)
  })

  test('that only admins may call does nothing for an agent', async () => {
    await changesNothing(async () => {
      for (const endpoint of endpoints.filter(isAdminOnly)) {
        expectError(endpoint, await call(own.agent, endpoint, mine), 403, /^FORBIDDEN$/)
      }
      for (const endpoint of endpoints.filter(({ name }) => OWN_ONLY.includes(name))) {
        expectError(endpoint, await call(own.agent, endpoint, mine), 403, /^UNAUTHORIZED$/)
      }
    })
  })

  test('with an id in the path that is of another organization, unknown or no id is 404, and nothing is changed or told', async () => {
    let tried = 0
    await changesNothing(async () => {
      for (const endpoint of endpoints.filter(({ ids }) => ids.length > 0)) {
        // Each id alone under own ones, then all of them.
        const wrong = endpoint.ids.flatMap((name) =>
          [theirs[name as WorldId], NOBODY, 'nonsense'].map((id) => ({ name, ids: { ...mine, [name]: id } })),
        )
        for (const { name, ids } of [...wrong, { name: endpoint.ids[0]!, ids: theirs }]) {
          const answer = await call(own.admin, endpoint, ids)
          expectError(endpoint, answer, 404, new RegExp(`^${name.slice(0, -'_id'.length).toUpperCase()}_NOT_FOUND$`))
          expect(answer.body.error.details).toEqual({})
          tried++
        }
      }
    })
    expect(tried).toBeGreaterThan(240)
  })

  test('about a ticket that is deleted is 404, and nothing is changed', async () => {
    const { id } = await createTicket(own.agent)
    await own.agent.delete(`/tickets/${id}`)
    const about = endpoints.filter(({ path }) => path.startsWith('/tickets/{ticket_id}'))
    expect(about.length).toBeGreaterThan(20)
    await changesNothing(async () => {
      for (const endpoint of about) {
        expectError(endpoint, await call(own.admin, endpoint, { ...mine, ticket_id: id }), 404, /^TICKET_NOT_FOUND$/)
      }
    })
  })

  test('looks up the ids of the path before it judges the body', async () => {
    for (const endpoint of endpoints.filter(({ ids, body }) => ids.length > 0 && body)) {
      const wrong = Object.fromEntries(Object.keys(endpoint.body!.properties ?? {}).map((name) => [name, { wrong: 7 }]))
      const answer = await own.admin.send(endpoint.method, pathWith(endpoint.path, {}), wrong)
      expectError(endpoint, answer, 404, /_NOT_FOUND$/)
    }
  })

  test("with another organization's ids in the body is 422, and nothing is changed or told", async () => {
    const tried: string[] = []
    await changesNothing(async () => {
      for (const endpoint of endpoints) {
        for (const { field, id } of referencesOf(endpoint, endpoint.body?.properties ?? {})) {
          const given = { [field]: field.endsWith('s') ? [id] : id }
          // Only notes name members.
          const note = field === 'mention_user_ids' && { is_internal: true }
          const body = { ...goodBody(endpoint.name, mine), ...note, ...given }
          const answer = await own.admin.send(endpoint.method, pathWith(endpoint.path, mine), body)
          // Taking away a label that is not there is no fault, but this one is unknown.
          expectError(endpoint, answer, 422, /_NOT_FOUND$/, [id])
          expect(answer.body.error.details.ids).toEqual([id])
          expect(answer.body.error.details.errors).toEqual([{ path: `/${field}`, message: expect.any(String) }])
          tried.push(`${endpoint.name} ${field}`)
        }
      }
    })
    expect(tried.length).toBeGreaterThanOrEqual(11)
  })

  test("with another organization's ids in the query finds nothing", async () => {
    const tried: string[] = []
    await changesNothing(async () => {
      for (const endpoint of endpoints) {
        for (const { field, id } of referencesOf(endpoint, endpoint.query)) {
          const raw = goodRaw(endpoint.name)
          const answer = await own.admin.send(
            endpoint.method,
            withParameters(pathWith(endpoint.path, mine), `${field}=${id}`),
            raw?.body,
            raw?.type ? { 'content-type': raw.type } : {},
          )
          // An id that is to be used, and is no filter, must be there.
          if (raw || field === 'view_id') expectError(endpoint, answer, 422, /_NOT_FOUND$/, [id])
          else expect([endpoint.name, field, answer.status, answer.body?.data]).toEqual([endpoint.name, field, 200, []])
          tried.push(`${endpoint.name} ${field}`)
        }
      }
    })
    expect(tried.length).toBeGreaterThanOrEqual(10)
  })

  test('that reads tells nothing of another organization', async () => {
    for (const endpoint of inOrganizations().filter(({ method }) => method === 'GET')) {
      const answer = await call(own.admin, endpoint, mine)
      expect([endpoint.name, answer.status]).toEqual([endpoint.name, 200])
      expectNothingTold(endpoint, answer)
    }
    // The mark would be found: it is what the others read themselves.
    const listed = await call(other.admin, endpoints.find(({ name }) => name === 'GET /tickets')!, theirs)
    expect(listed.text).toContain(MARK)
  })
})

function isOnTheWay({ path, method }: Endpoint): boolean {
  return path.startsWith('/auth/oidc/') && (method === 'GET' || path.endsWith('/logout'))
}

function inOrganizations(): Endpoint[] {
  return endpoints.filter(({ path }) => !/^\/(auth|inbound)\//.test(path))
}

/** A good request: with a body when the endpoint takes one. */
function call(client: Client, endpoint: Endpoint, ids: Partial<World>, headers: Record<string, string> = {}) {
  const raw = goodRaw(endpoint.name)
  const body = raw?.body ?? (endpoint.body && goodBody(endpoint.name, { ...mine }))
  const type: Record<string, string> = raw?.type ? { 'content-type': raw.type } : {}
  const query = endpoint.name === 'POST /inbound-messages' ? `?mailbox_id=${mine.mailbox_id}&dry_run=true` : ''
  const path = pathWith(endpoint.path, ids as Record<string, string>)
  return client.send(endpoint.method, `${path}${query}`, body, { ...type, ...headers })
}

/** As a client without a token sends. */
const strangerSend: Client['send'] = (method, path, body, headers) =>
  own.admin.send(method, path, body, { ...headers, authorization: '' })

async function changesNothing(work: () => Promise<void>): Promise<void> {
  const before = await fingerprint()
  await work()
  expect(await fingerprint()).toEqual(before)
}

/** @param sent ids that the request itself held, which the answer may name */
function expectError(endpoint: Endpoint, answer: Answer, status: number, code: RegExp, sent: string[] = []) {
  const error = { code: expect.stringMatching(code), message: expect.any(String), details: expect.any(Object) }
  expect([endpoint.name, answer.status, answer.body?.error]).toEqual([endpoint.name, status, error])
  expectNothingTold(endpoint, answer, sent)
}

function expectNothingTold(endpoint: Endpoint, { text }: Answer, sent: string[] = []) {
  const told = [MARK, other.id, ...Object.values(theirs)].filter((secret) => !sent.includes(secret))
  expect([endpoint.name, told.filter((secret) => text.includes(secret))]).toEqual([endpoint.name, []])
}
