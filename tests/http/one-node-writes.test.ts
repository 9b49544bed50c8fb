/**
 * Goes through all routes that write. On a cluster (CITUS_URL) a statement that needs more than one node fails. A route
 * is called with a good request of `goodBody`, or with the one of `PREPARED`, and around it with unknown ids, single
 * fields, keys and conditions. A route that has no good request fails here.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { addressKey } from '../../src/base/address/email'
import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import { EVENTS } from '../../src/base/db/schema'
import { hashToken, newSecretToken } from '../../src/http/admission/tokens'
import {
  type Answer,
  type Client,
  createOrganization,
  type Organization,
  PASSWORD,
  signIn,
  startApi,
  stopApi,
  stranger,
} from '../support/api'
import { createProgram, type Program } from '../support/api-keys'
import { nodeUrls } from '../support/cluster'
import { createCustomer, isForCustomers, manyCustomers } from '../support/customers'
import type { TestDatabase } from '../support/database'
import { startDns, type TestDns } from '../support/dns'
import { type Endpoint, pathWith, readEndpoints } from '../support/endpoints'
import { createMessage, createTicket } from '../support/factories'
import { addressOf, type StubProvider, startStubProvider, trustLoopbackProviders } from '../support/identity-provider'
import { openInlet } from '../support/inlets'
import { refuseSeveralNodes } from '../support/one-node'
import { challengeOf, codeOf, enableSecondFactor } from '../support/second-factor'
import { type ChangedSettings, withSettings } from '../support/settings'
import { createWorld, goodBody, goodRaw, importEmail, type World } from '../support/world'

/** The server tries a plan for all values at the sixth execution. Citus knows no other plan for most statements. */
const ROUNDS = nodeUrls() ? 7 : 1
const NOBODY = '018f0000-0000-7000-8000-000000000000'

let database: TestDatabase
let dns: TestDns
let settings: ChangedSettings
let provider: StubProvider
let provider_settings: ChangedSettings
let writes: Endpoint[]

beforeAll(async () => {
  ;[database, dns] = await Promise.all([startApi(), startDns()])
  settings = withSettings({
    EMAIL_INLINE_WAIT_MS: 1,
    SYSTEM_SMTP_URL: 'smtp://127.0.0.1:1',
    SYSTEM_MAIL_FROM: { name: 'Desk', address: 'desk@operator.example' },
    DNS_SERVERS: [dns.address],
  })
  provider = await startStubProvider()
  provider_settings = await trustLoopbackProviders()
  writes = (await readEndpoints()).filter(({ method }) => method !== 'GET')
})
afterAll(async () => {
  provider_settings.restore()
  settings.restore()
  provider[Symbol.dispose]()
  dns[Symbol.dispose]()
  await stopApi()
})

test('each write is answered by one node', async () => {
  await refuseSeveralNodes(database)
  for (let round = 0; round < ROUNDS; round++) {
    expect(await tryWrites(await createPlace())).toEqual([])
  }
}, 600_000)

/** An organization with one row of everything, and a program that may do what its admin may. */
type Place = Organization & { world: World; program: Program; customers: Client }

async function createPlace(): Promise<Place> {
  const organization = await createOrganization()
  const world = await createWorld(organization)
  await organization.admin.patch(`/webhooks/${world.webhook_id}`, { events: EVENTS })
  return {
    ...organization,
    world,
    program: await createProgram(organization.admin, ['*:write']),
    customers: await manyCustomers(organization, world.company_id, 10),
  }
}

/**
 * Sends a good request to each route, and others like it. Deletions are last: what belongs to something is deleted
 * before it, because its path is longer or stands further down in the document.
 * @returns what was answered wrongly
 */
async function tryWrites(place: Place): Promise<string[]> {
  const wrong: string[] = []
  const last = writes.filter(isLast).reverse()
  last.sort((one, other) => depthOf(other) - depthOf(one))
  for (const endpoint of [...writes.filter((one) => !isLast(one)), ...last]) {
    const judge = (what: string, { status, text }: Answer, most: number) => {
      if (status >= most) wrong.push(`${endpoint.name} ${what}: ${status} ${text.slice(0, 200)}`)
    }
    for (const [what, request] of Object.entries(variantsOf(endpoint, place))) {
      judge(what, await send(endpoint, request, place.world), 500)
    }
    const prepared = await PREPARED[endpoint.name]?.(place, endpoint)
    const client = isForCustomers(endpoint) ? place.customers : place.admin
    const good = { client, headers: { 'if-match': '*' }, ...prepared }
    judge('as is good', await send(endpoint, good, place.world), 300)
    for (const [what, request] of Object.entries(keyedOf(endpoint, place))) {
      judge(what, await send(endpoint, request, place.world), 500)
    }
  }
  return wrong
}

function isLast({ method, name }: Endpoint): boolean {
  return method === 'DELETE' || name.endsWith('/erase')
}

function depthOf({ path }: Endpoint): number {
  return path.split('/').length
}

/** Requests with an id that names nothing, with a condition that is not met, and with one field. */
function variantsOf({ name, method, ids, path, body }: Endpoint, place: Place): Record<string, Prepared> {
  const { world } = place
  const admin = isForCustomers({ path }) ? place.customers : place.admin
  const good = method === 'PATCH' && body ? goodBody(name, world) : {}
  const bodies = Object.entries(good).flatMap(([field, value]) => [{ [field]: value }, { [field]: null }])
  return {
    ...(ids.length > 0 && {
      'with unknown ids': { client: admin, ids: Object.fromEntries(ids.map((id) => [id, NOBODY])) },
    }),
    ...(method !== 'POST' && { 'as it was not': { client: admin, headers: { 'if-match': '"other"' } } }),
    ...Object.fromEntries(bodies.map((body) => [`with ${JSON.stringify(body).slice(0, 40)}`, { client: admin, body }])),
  }
}

/** The same request twice, by a program. */
function keyedOf({ name, method, path, body }: Endpoint, place: Place): Record<string, Prepared> {
  const { world } = place
  const program = isForCustomers({ path }) ? place.customers : place.program
  if (method !== 'POST' || path.startsWith('/auth/')) return {}
  const request = { client: program, body: body && goodBody(name, world), headers: { 'idempotency-key': name } }
  return { 'with a key': request, 'with the same key': request }
}

/** A request to a route: what is left out is as in all good requests. */
type Prepared = { client: Client; ids?: Record<string, string>; body?: unknown; headers?: Record<string, string> }

function send(
  { name, method, path, body }: Endpoint,
  { client, ids, body: given, headers }: Prepared,
  world: World,
): Promise<Answer> {
  const raw = goodRaw(name)
  const query = name === 'POST /inbound-messages' ? `?mailbox_id=${world.mailbox_id}` : ''
  const content = given ?? raw?.body ?? (body && goodBody(name, world))
  const type: Record<string, string> = raw?.type ? { 'content-type': raw.type } : {}
  return client.send(method, pathWith(path, { ...world, ...ids }) + query, content, { ...type, ...headers })
}

/** The parts that a good request needs beyond a row of everything. */
const PREPARED: Record<string, (place: Place, endpoint: Endpoint) => Promise<Partial<Prepared>>> = {
  'POST /auth/login': async ({ admin }) => ({ client: stranger(), body: { email: admin.email, password: PASSWORD } }),
  'POST /auth/refresh': async ({ admin }) => ({ client: stranger(), body: await refreshTokenOf(admin) }),
  'POST /auth/logout': async ({ admin }) => ({ body: await refreshTokenOf(admin) }),
  'POST /auth/password/forgot': async ({ agent }) => ({ client: stranger(), body: { email: agent.email } }),
  'POST /auth/password/reset': async ({ addMember }) => {
    const { user_id } = await addMember('agent')
    const token = newSecretToken()
    await connection().sql`
      insert into password_resets (id, user_id, token_hash, expires_at)
      values (${newId()}, ${user_id}, ${hashToken(token)}, now() + interval '1 hour')`
    return { client: stranger(), body: { token, new_password: PASSWORD } }
  },
  'POST /auth/login/second-factor': async (place) => {
    const { member, secret } = await memberWithFactor(place)
    return { client: stranger(), body: { challenge: await challengeOf(member), code: codeOf(secret) } }
  },
  'POST /auth/second-factor/confirm': async ({ addMember }) => {
    const client = await addMember('agent')
    const { secret } = (await client.post('/auth/second-factor', { current_password: PASSWORD })).body
    return { client, body: { code: codeOf(secret) } }
  },
  'POST /auth/second-factor/recovery-codes': proved,
  'DELETE /auth/second-factor': proved,
  'DELETE /users/{user_id}/second-factor': async (place) => {
    return { ids: { user_id: (await memberWithFactor(place)).member.user_id } }
  },
  'PUT /identity-provider': async () => ({ body: ownProvider() }),
  // It heeds no condition: the request before has removed it.
  'DELETE /identity-provider': async ({ admin }) => {
    await admin.put('/identity-provider', ownProvider())
    return {}
  },
  'POST /auth/oidc/token': async (place) => ({ client: stranger(), body: await codeOfProvider(place, newId()) }),
  'POST /auth/oidc/{organization_id}/logout': async (place) => {
    const sub = newId()
    await stranger().post('/auth/oidc/token', await codeOfProvider(place, sub))
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout_token = await provider.sign({ sub, nonce: undefined, jti: newId(), events })
    const body = new URLSearchParams({ logout_token }).toString()
    return { client: stranger(), ids: { organization_id: place.id }, body }
  },
  'POST /inbound-messages/{inbound_message_id}/release': async ({ admin }) => {
    await admin.post('/sender-rules', { sender: 'customer.example', action: 'block' })
    const { data } = (await admin.get('/mailboxes')).body
    const held = await importEmail(admin, data[0].id, 'Held')
    return { ids: { inbound_message_id: held.body.data.id } }
  },
  'POST /inbound/{token}': async ({ admin }) => {
    const { data } = (await admin.get('/mailboxes')).body
    const token = (await openInlet(admin, data[0].id, { provider: 'raw' })).split('/').at(-1)!
    return { client: stranger(), ids: { token } }
  },
  'DELETE /auth/sessions/{session_id}': async ({ admin }) => {
    await signIn(admin.email)
    const { data } = (await admin.get('/auth/sessions')).body
    return { ids: { session_id: data.find((session: { current: boolean }) => !session.current).id } }
  },
  'DELETE /auth/me/organizations/{organization_id}': async ({ id, addMember }) => {
    return { client: await addMember('agent'), ids: { organization_id: id } }
  },
  'POST /auth/invitations/{token}/accept': async ({ admin }) => {
    const { token } = await invite(admin)
    return { client: stranger(), ids: { token }, body: { password: PASSWORD, name: 'Ivy' } }
  },
  'POST /auth/invitations/{token}/decline': async ({ admin }) => {
    const { token } = await invite(admin)
    return { client: stranger(), ids: { token } }
  },
  'POST /users/{user_id}/invite': async ({ admin }) => ({ ids: { user_id: (await invite(admin)).id } }),
  // That of the world has been erased.
  'DELETE /contacts/{contact_id}': async ({ admin }) => {
    const { contact } = await createTicket(admin)
    return { ids: { contact_id: contact.id } }
  },
  'PUT /contacts/by-external-id/{external_id}': created,
  'PUT /companies/by-external-id/{external_id}': created,
  'POST /drafts/{draft_id}/send': draft,
  'DELETE /drafts/{draft_id}': draft,
  // That of the world is in another ticket since the split.
  'DELETE /tickets/{ticket_id}/messages/{message_id}': async ({ admin }) => {
    const ticket = await createTicket(admin)
    const message = await createMessage(admin, ticket.id, { send_email: false })
    return { ids: { ticket_id: ticket.id, message_id: message.id } }
  },
  'POST /tickets/{ticket_id}/messages/{message_id}/resend': async ({ id: organization_id, admin }) => {
    const ticket = await createTicket(admin)
    const { id } = (await admin.post(`/tickets/${ticket.id}/messages`, { body: 'Hello' })).body.data
    const { sql } = connection()
    await sql`delete from outbox where organization_id = ${organization_id} and id = ${id}`
    await sql`
      update message_recipients set status = 'failed'
      where organization_id = ${organization_id} and message_id = ${id}`
    return { ids: { ticket_id: ticket.id, message_id: id } }
  },
  'POST /tickets/{ticket_id}/unmerge': async ({ admin }) => {
    const [target, source] = [await createTicket(admin), await createTicket(admin)]
    await admin.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })
    return { ids: { ticket_id: source.id } }
  },
  'POST /tickets/{ticket_id}/rating-request': async ({ admin }) => ({ ids: { ticket_id: await closedTicket(admin) } }),
  'PUT /my/tickets/{ticket_id}/rating': async ({ admin }) => {
    const customer = await createCustomer(admin)
    return { client: customer, ids: { ticket_id: await closedTicket(admin, customer.contact.id) } }
  },
  'POST /tickets/{ticket_id}/split': async ({ admin }) => {
    const ticket = await createTicket(admin)
    const { data } = (await admin.post(`/tickets/${ticket.id}/messages`, { body: 'Hello', is_internal: true })).body
    return { ids: { ticket_id: ticket.id }, body: { message_ids: [data.id] } }
  },
  'POST /tickets/{ticket_id}/timer/start': async ({ admin }) => {
    await admin.delete('/timer/active')
    return {}
  },
  'POST /tickets/{ticket_id}/timer/stop': startTimer,
  'DELETE /timer/active': startTimer,
  // The service remembers for a while what it found at the domain of the world.
  'POST /domains/{domain_id}/verify': async ({ admin }) => {
    const { data } = (await admin.post('/domains', { domain: `${newId()}.example` })).body
    dns.add({ [data.dns_record.name]: { TXT: [data.dns_record.value] } })
    return { ids: { domain_id: data.id } }
  },
}

/** A request that changes what the same one creates here. */
async function created({ admin, world }: Place, { path, name }: Endpoint): Promise<Partial<Prepared>> {
  await admin.put(pathWith(path, world), goodBody(name, world))
  return {}
}

const ownProvider = () => ({ issuer: provider.issuer, client_id: 'desk', provision: 'domain', domains: ['b.example'] })

/** Signs somebody new in at the provider. @returns what the tokens are given for */
async function codeOfProvider({ admin, id }: Place, sub: string): Promise<{ code: string; code_verifier: string }> {
  await admin.put('/identity-provider', ownProvider())
  const code_verifier = 'v'.repeat(50)
  const code_challenge = new Bun.CryptoHasher('sha256').update(code_verifier).digest('base64url')
  const asked = new URLSearchParams({ code_challenge, redirect_uri: 'http://127.0.0.1:4000/back' })
  const start = await stranger().get(`/auth/oidc/${id}/start?${asked}`)
  const { searchParams } = addressOf(start)
  provider.nonce = searchParams.get('nonce')!
  provider.challenge = searchParams.get('code_challenge')!
  provider.claims = { sub, email: `${sub}@b.example`, email_verified: true, name: 'Ivy' }
  const back = new URLSearchParams({ state: searchParams.get('state')!, code: 'theirs' })
  const { headers } = await stranger().get(`/auth/oidc/callback?${back}`)
  return { code: new URL(headers.get('location')!).searchParams.get('code') ?? '', code_verifier }
}

/** @returns the id */
async function closedTicket(admin: Client, contact_id?: string): Promise<string> {
  const { id } = await createTicket(admin, { contact_id })
  await admin.patch(`/tickets/${id}`, { status: 'closed' })
  return id
}

async function draft({ admin }: Place): Promise<Partial<Prepared>> {
  const ticket = await createTicket(admin)
  const { id } = (await admin.post(`/tickets/${ticket.id}/drafts`, { body: 'Soon' })).body.data
  return { ids: { draft_id: id } }
}

async function memberWithFactor({ addMember }: Place): Promise<{ member: Client; secret: string }> {
  const member = await addMember('agent')
  return { member, secret: (await enableSecondFactor(member)).secret }
}

/** The request of somebody who proves to be the owner of the account. */
async function proved(place: Place): Promise<Partial<Prepared>> {
  const { member, secret } = await memberWithFactor(place)
  return { client: member, body: { current_password: PASSWORD, code: codeOf(secret) } }
}

async function startTimer({ admin, world }: Place): Promise<Partial<Prepared>> {
  await admin.post(`/tickets/${world.ticket_id}/timer/start`)
  return {}
}

async function refreshTokenOf({ email }: Client): Promise<{ refresh_token: string }> {
  const { refresh_token } = (await stranger().post('/auth/login', { email, password: PASSWORD })).body
  return { refresh_token }
}

/** Invites somebody, and puts a token in place of the one that only the letter has. */
async function invite(admin: Client): Promise<{ id: string; token: string }> {
  const email = `${newId()}@b.example`
  const { id } = (await admin.post('/users', { email, name: 'Ivy' })).body.data
  const token = newSecretToken()
  await connection().sql`
    update invitations set token_hash = ${hashToken(token)} where email_key = ${addressKey(email)} and id = ${id}`
  return { id, token }
}
