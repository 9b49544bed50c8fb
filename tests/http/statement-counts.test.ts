/**
 * The number of statements that each route sends, BEGIN and COMMIT included, and how often it waits for the database.
 * Other statements may be sent while it waits for one. A route that grows fails here. One that shrinks gets its new
 * numbers.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { EVENTS } from '../../src/base/db/schema'
import { type Client, createOrganization, type Organization, stopApi } from '../support/api'
import { isForCustomers, manyCustomers } from '../support/customers'
import { type Endpoint, pathWith, readEndpoints } from '../support/endpoints'
import { type StatementCounter, startCountedApi, type Traffic } from '../support/statement-counter'
import { createWorld, goodBody, goodRaw, type World } from '../support/world'

/**
 * Statements and waits of requests in an organization with one row of everything, and one webhook that wants every
 * event.
 */
const MOST: Record<string, [statements: number, waits: number]> = {
  'POST /auth/password/forgot': [1, 1],
  'GET /auth/second-factor': [1, 1],
  'POST /auth/second-factor': [9, 9],
  'GET /auth/me': [1, 1],
  'PATCH /auth/me': [23, 22],
  'POST /auth/logout': [3, 3],
  'GET /auth/sessions': [1, 1],
  'GET /tickets': [1, 1],
  'POST /tickets': [21, 7],
  'GET /tickets/{ticket_id}': [2, 2],
  'PATCH /tickets/{ticket_id}': [8, 4],
  'POST /tickets/{ticket_id}/labels': [6, 4],
  'POST /tickets/{ticket_id}/assign': [6, 4],
  'POST /tickets/{ticket_id}/unassign': [5, 3],
  'GET /tickets/{ticket_id}/activity': [3, 1],
  'GET /tickets/{ticket_id}/transcript': [3, 2],
  'POST /tickets/bulk': [12, 9],
  'POST /tickets/{ticket_id}/merge': [8, 5],
  'PUT /tickets/{ticket_id}/viewing': [10, 7],
  'PUT /tickets/{ticket_id}/read': [7, 5],
  'GET /messages': [3, 2],
  'GET /events': [9, 6],
  'GET /tickets/{ticket_id}/messages': [2, 1],
  'POST /tickets/{ticket_id}/messages': [19, 7],
  'GET /tickets/{ticket_id}/messages/{message_id}': [2, 1],
  'GET /drafts': [3, 2],
  'GET /drafts/{draft_id}': [1, 1],
  'PATCH /drafts/{draft_id}': [12, 8],
  'GET /teams': [2, 1],
  'POST /teams': [9, 9],
  'GET /teams/{team_id}': [1, 1],
  'PATCH /teams/{team_id}': [11, 11],
  'GET /schedules': [2, 1],
  'POST /schedules': [5, 5],
  'GET /schedules/{schedule_id}': [1, 1],
  'PATCH /schedules/{schedule_id}': [30, 30],
  // With the review of all open tickets, which goes on beside the next request.
  'GET /sla-policies': [2, 1],
  'POST /sla-policies': [45, 45],
  'GET /sla-policies/{sla_policy_id}': [1, 1],
  'PATCH /sla-policies/{sla_policy_id}': [45, 45],
  'GET /rules': [2, 1],
  'POST /rules': [12, 12],
  'GET /rules/{rule_id}': [1, 1],
  'PATCH /rules/{rule_id}': [10, 10],
  'GET /macros': [3, 2],
  'POST /macros': [3, 3],
  'GET /macros/{macro_id}': [1, 1],
  'PATCH /macros/{macro_id}': [8, 8],
  'POST /macros/{macro_id}/preview': [2, 2],
  'POST /macros/{macro_id}/apply': [26, 12],
  'POST /attachments': [7, 6],
  'GET /attachments/{attachment_id}': [1, 1],
  'GET /attachments/{attachment_id}/content': [1, 1],
  'GET /tickets/{ticket_id}/participants': [3, 1],
  'GET /tickets/{ticket_id}/recipients': [4, 4],
  'POST /tickets/{ticket_id}/participants': [11, 7],
  'GET /contacts': [2, 1],
  'POST /contacts': [13, 11],
  'GET /contacts/{contact_id}': [1, 1],
  'PUT /contacts/by-external-id/{external_id}': [23, 14],
  'PATCH /contacts/{contact_id}': [15, 12],
  'GET /contacts/{contact_id}/export': [20, 20],
  'POST /contacts/{contact_id}/tokens': [5, 5],
  'GET /my/tickets': [2, 1],
  'POST /my/tickets': [23, 9],
  'GET /my/tickets/{ticket_id}': [1, 1],
  'GET /my/tickets/{ticket_id}/messages': [8, 5],
  'POST /my/tickets/{ticket_id}/messages': [27, 13],
  'POST /my/attachments': [12, 11],
  'GET /companies': [2, 1],
  'POST /companies': [9, 6],
  'GET /companies/{company_id}': [1, 1],
  'PUT /companies/by-external-id/{external_id}': [14, 11],
  'PATCH /companies/{company_id}': [5, 4],
  'POST /companies/{company_id}/link-contacts': [6, 6],
  'GET /views': [2, 1],
  'POST /views': [8, 8],
  'GET /views/{view_id}': [1, 1],
  'PATCH /views/{view_id}': [5, 5],
  'GET /labels': [1, 1],
  'POST /labels': [8, 6],
  'GET /labels/{label_id}': [1, 1],
  'PATCH /labels/{label_id}': [9, 7],
  'GET /time-entries': [2, 1],
  'POST /tickets/{ticket_id}/time-entries': [12, 10],
  'GET /time-entries/{time_entry_id}': [1, 1],
  'PATCH /time-entries/{time_entry_id}': [5, 5],
  'GET /time-entries/summary': [1, 1],
  'GET /time-entries/export': [7, 7],
  'GET /timer/active': [1, 1],
  'GET /timers': [2, 1],
  'GET /webhooks': [2, 1],
  'POST /webhooks': [5, 5],
  'GET /webhooks/{webhook_id}': [1, 1],
  'PATCH /webhooks/{webhook_id}': [7, 7],
  'POST /webhooks/{webhook_id}/test': [15, 12],
  'POST /webhooks/{webhook_id}/replay': [9, 9],
  'GET /webhooks/{webhook_id}/deliveries': [3, 1],
  'GET /webhooks/{webhook_id}/deliveries/{delivery_id}': [3, 1],
  'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry': [17, 15],
  'GET /organization': [1, 1],
  'PATCH /organization': [5, 5],
  'GET /users': [2, 1],
  'POST /users': [11, 11],
  'GET /users/{user_id}': [1, 1],
  'PATCH /users/{user_id}': [18, 17],
  'GET /mailboxes': [2, 1],
  'POST /mailboxes': [20, 20],
  'GET /mailboxes/{mailbox_id}': [1, 1],
  'PATCH /mailboxes/{mailbox_id}': [26, 26],
  'POST /mailboxes/{mailbox_id}/test': [1, 1],
  'GET /sender-rules': [2, 1],
  'POST /sender-rules': [8, 8],
  'POST /mailboxes/{mailbox_id}/inlet': [11, 11],
  'GET /domains': [2, 1],
  'POST /domains': [5, 5],
  'GET /domains/{domain_id}/records': [2, 2],
  'GET /outbound-messages': [2, 1],
  'GET /inbound-messages': [2, 1],
  'POST /inbound-messages': [40, 20],
  'GET /inbound-messages/{inbound_message_id}': [1, 1],
  'GET /inbound-messages/{inbound_message_id}/raw': [2, 2],
  'GET /audit-log': [2, 1],
  'GET /retention': [1, 1],
  'PATCH /retention': [7, 7],
  'POST /retention/preview': [2, 2],
  'GET /reports/tickets': [7, 6],
  'GET /stats': [3, 2],
  'GET /api-keys': [2, 1],
  'GET /api-keys/{api_key_id}': [1, 1],
  'PATCH /api-keys/{api_key_id}': [5, 5],
  'POST /api-keys': [5, 5],
}

/** The same where no webhook is switched on. */
const MOST_WITHOUT_WEBHOOK: typeof MOST = {
  'POST /tickets': [16, 6],
  'PATCH /tickets/{ticket_id}': [9, 5],
  'POST /tickets/{ticket_id}/messages': [17, 5],
}

/** Requests that cannot be made twice, or need what this world does not have. */
const NOT_COUNTED = [
  'POST /contacts/{contact_id}/merge',
  'POST /auth/login',
  'POST /auth/login/second-factor',
  'GET /auth/oidc/{organization_id}/start',
  'GET /auth/oidc/callback',
  'POST /auth/oidc/token',
  'POST /auth/oidc/{organization_id}/logout',
  'POST /inbound/{token}',
  'POST /inbound-messages/{inbound_message_id}/release',
  'GET /identity-provider',
  'PUT /identity-provider',
  'POST /auth/second-factor/confirm',
  'POST /auth/second-factor/recovery-codes',
  'POST /auth/refresh',
  'POST /auth/password/reset',
  'POST /contacts/{contact_id}/erase',
  'POST /tickets/{ticket_id}/messages/{message_id}/resend',
  'POST /tickets/{ticket_id}/drafts',
  'POST /drafts/{draft_id}/send',
  'POST /tickets/{ticket_id}/timer/start',
  'POST /tickets/{ticket_id}/timer/stop',
  'POST /tickets/{ticket_id}/split',
  'POST /tickets/{ticket_id}/unmerge',
  'POST /tickets/{ticket_id}/rating-request',
  'PUT /my/tickets/{ticket_id}/rating',
  'POST /users/{user_id}/invite',
  'GET /auth/invitations/{token}',
  'POST /auth/invitations/{token}/accept',
  'POST /auth/invitations/{token}/decline',
  'POST /domains/{domain_id}/verify',
]

let counter: StatementCounter
let endpoints: Endpoint[]

beforeAll(async () => {
  counter = await startCountedApi(1, true)
  endpoints = (await readEndpoints()).filter(({ method, name }) => method !== 'DELETE' && !NOT_COUNTED.includes(name))
})
afterAll(async () => {
  await stopApi()
  counter.stop()
})

test('every route that is no DELETE has its number of statements here', () => {
  expect(Object.keys(MOST).toSorted()).toEqual(endpoints.map(({ name }) => name).toSorted())
})

test('no route sends more statements, or waits more often, than it did', async () => {
  const organization = await createOrganization()
  const world = await createWorld(organization)
  await organization.admin.patch(`/webhooks/${world.webhook_id}`, { events: EVENTS })
  expect(await grown(MOST, organization, world)).toEqual([])
})

test('where nobody listens no route sends more statements, or waits more often, than it did', async () => {
  const organization = await createOrganization()
  const world = await createWorld(organization)
  await organization.admin.patch(`/webhooks/${world.webhook_id}`, { active: false })
  expect(await grown(MOST_WITHOUT_WEBHOOK, organization, world)).toEqual([])
})

test('a new key costs two statements before the transaction of a change, and one in it', async () => {
  const organization = await createOrganization()
  const world = await createWorld(organization)
  const endpoint = endpoints.find(({ name }) => name === 'POST /labels')!
  const isWithin = ({ statements, waits }: Traffic) => statements.length <= 9 && waits <= 9
  const work = () => request(organization.admin, world, endpoint, { 'idempotency-key': crypto.randomUUID() })
  const traffic = await trafficOf(work, isWithin)
  expect(isWithin(traffic) ? [] : traffic).toEqual([])
})

/**
 * The routes of a table that exceed it, with all that they send. Reads come first: writes that repeat leave more to
 * read.
 */
async function grown(most: typeof MOST, organization: Organization, world: World) {
  const found: unknown[] = []
  const customers = await manyCustomers(organization, world.company_id, 4)
  const [reads, writes] = [true, false].map((is_read) =>
    endpoints.filter(({ method }) => (method === 'GET') === is_read),
  )
  for (const endpoint of [...reads!, ...writes!]) {
    const [statements, waits] = most[endpoint.name] ?? []
    if (statements === undefined || waits === undefined) continue
    const isWithin = (traffic: Traffic) => traffic.statements.length <= statements && traffic.waits <= waits
    const client = isForCustomers(endpoint) ? customers : organization.admin
    const traffic = await trafficOf(() => request(client, world, endpoint), isWithin)
    if (!isWithin(traffic)) found.push({ [endpoint.name]: traffic })
  }
  return found
}

/**
 * The traffic of a request, of the first one of ten that is within its numbers: what is remembered between requests
 * ends now and then, and a busy machine may answer the one of two statements before the other is sent.
 */
async function trafficOf(work: () => Promise<void>, isWithin: (traffic: Traffic) => boolean): Promise<Traffic> {
  // Statements are prepared when they are sent for the first time.
  await work()
  let traffic = await counter.during(work)
  for (let n = 1; n < 10 && !isWithin(traffic); n++) traffic = await counter.during(work)
  return traffic
}

/** Tickets and companies have no external id here, as most: one that is given is looked up behind a lock. */
function bodyOf(name: string, world: World): Record<string, unknown> {
  const body = goodBody(name, world)
  return /^(POST|PATCH) .(tickets|companies)/.test(name) ? { ...body, external_id: undefined } : body
}

async function request(
  client: Client,
  world: World,
  { name, method, path, body }: Endpoint,
  headers: Record<string, string> = {},
): Promise<void> {
  const raw = goodRaw(name)
  const query = name === 'POST /inbound-messages' ? `?mailbox_id=${world.mailbox_id}` : ''
  const answer = await client.send(method, pathWith(path, world) + query, raw?.body ?? (body && bodyOf(name, world)), {
    ...(raw?.type && { 'content-type': raw.type }),
    ...headers,
  })
  if (answer.status >= 300) throw new Error(`${name} answered ${answer.status} ${answer.text}`)
}
