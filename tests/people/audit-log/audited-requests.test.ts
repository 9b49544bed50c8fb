/** Every request that only admins may make, and what it leaves in the audit log. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Permission, rolesThatMay } from '../../../src/http/request/permissions'
import { api, type Client, createOrganization, type Organization, PASSWORD, startApi, stopApi } from '../../support/api'
import { type Endpoint, pathWith, readEndpoints } from '../../support/endpoints'
import { operatorServer } from '../../support/letters'
import { enableSecondFactor } from '../../support/second-factor'
import type { ChangedSettings } from '../../support/settings'
import { createWorld, goodBody, goodRaw, type World } from '../../support/world'

/** In the order in which they are made; null: it changes nothing that the log lists. */
const ACTIONS: Record<string, string | null> = {
  'POST /rules': 'rule.created',
  'PATCH /rules/{rule_id}': 'rule.updated',
  'DELETE /rules/{rule_id}': 'rule.deleted',
  'PATCH /sla-policies/{sla_policy_id}': 'sla_policy.updated',
  'DELETE /sla-policies/{sla_policy_id}': 'sla_policy.deleted',
  'POST /schedules': 'schedule.created',
  'PATCH /schedules/{schedule_id}': 'schedule.updated',
  'DELETE /schedules/{schedule_id}': 'schedule.deleted',
  'POST /teams': 'team.created',
  'PATCH /teams/{team_id}': 'team.updated',
  'DELETE /teams/{team_id}': 'team.deleted',
  'PATCH /organization': 'organization.updated',
  'POST /users': 'user.created',
  'PATCH /users/{user_id}': 'user.updated',
  'POST /users/{user_id}/invite': 'invitation.resent',
  'DELETE /users/{user_id}/identity': 'user.identity_unlinked',
  'DELETE /identity-provider': 'identity_provider.deleted',
  'DELETE /users/{user_id}/second-factor': 'auth.second_factor_reset',
  'DELETE /users/{user_id}': 'user.removed',
  'POST /mailboxes': 'mailbox.created',
  'PATCH /mailboxes/{mailbox_id}': 'mailbox.updated',
  'POST /mailboxes/{mailbox_id}/test': null,
  'POST /mailboxes/{mailbox_id}/inlet': 'mailbox.updated',
  'DELETE /mailboxes/{mailbox_id}/inlet': 'mailbox.updated',
  'POST /sender-rules': 'sender_rule.created',
  'DELETE /sender-rules/{sender_rule_id}': 'sender_rule.deleted',
  'POST /inbound-messages': 'inbound_message.imported',
  'GET /inbound-messages/{inbound_message_id}/raw': 'inbound_message.raw_read',
  'DELETE /mailboxes/{mailbox_id}': 'mailbox.deleted',
  'POST /webhooks': 'webhook.created',
  'PATCH /webhooks/{webhook_id}': 'webhook.updated',
  'POST /webhooks/{webhook_id}/test': null,
  'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry': null,
  'POST /webhooks/{webhook_id}/replay': 'webhook.replayed',
  'DELETE /webhooks/{webhook_id}': 'webhook.deleted',
  'POST /api-keys': 'api_key.created',
  'PATCH /api-keys/{api_key_id}': 'api_key.updated',
  'DELETE /api-keys/{api_key_id}': 'api_key.revoked',
  'POST /domains': 'domain.created',
  'PATCH /retention': 'retention.updated',
  'POST /retention/preview': null,
  'DELETE /domains/{domain_id}': 'domain.deleted',
  'GET /time-entries/export': 'time_entries.exported',
  'DELETE /contacts/{contact_id}/tokens/{contact_token_id}': 'contact_token.revoked',
  'POST /contacts/{contact_id}/tokens': 'contact_token.created',
  'DELETE /contacts/{contact_id}/tokens': 'contact_token.revoked',
  'GET /contacts/{contact_id}/export': 'contact.exported',
  'POST /contacts/{contact_id}/erase': 'contact.erased',
}
/** Reads that are listed. */
const LISTED_READS = [
  'GET /inbound-messages/{inbound_message_id}/raw',
  'GET /time-entries/export',
  'GET /contacts/{contact_id}/export',
]

/**
 * Need a DNS server, a provider or held mail, or leave what is switched off by the others: `mail/domains`,
 * `people/identity`, `mail/spam` and `desk/sla-policies` have their entries.
 */
const ELSEWHERE = [
  'POST /sla-policies',
  'POST /inbound-messages/{inbound_message_id}/release',
  'POST /domains/{domain_id}/verify',
  'PUT /identity-provider',
]

let settings: ChangedSettings
let organization: Organization
/** The id that takes the place of the member of the world in a path. */
const users: Record<string, string> = {}
let world: World
let endpoints: Endpoint[]

beforeAll(async () => {
  await startApi()
  endpoints = await readEndpoints()
  organization = await createOrganization()
  world = await createWorld(organization)
  settings = operatorServer()
  const invited = await organization.admin.post('/users', { email: 'carol@b.example', name: 'Carol' })
  users['POST /users/{user_id}/invite'] = invited.body.data.id
  const member = await organization.addMember('agent')
  await enableSecondFactor(member)
  users['DELETE /users/{user_id}/second-factor'] = member.user_id
})
afterAll(async () => {
  settings.restore()
  await stopApi()
})

type Route = { method: string; path: string; hooks: { detail?: { permission?: string } } }

/** Writes in an organization that agents may not make. */
function adminWrites(): string[] {
  const { routes } = api() as unknown as { routes: Route[] }
  const found = routes.filter(({ method, hooks }) => {
    const permission = hooks.detail?.permission ?? ''
    const may = permission.includes(':') ? rolesThatMay(permission as Permission) : []
    return method !== 'GET' && (permission === 'admin' || may.join() === 'admin')
  })
  return found.map(({ method, path }) => `${method} ${path.replace('/api/v1', '').replace(/:(\w+)/g, '{$1}')}`)
}

async function newest(admin: Client): Promise<Record<string, unknown>> {
  const { data, meta } = (await admin.get('/audit-log?per_page=1')).body
  return { ...data[0], total: meta.total }
}

test('every request that only admins may make is in the table', () => {
  const writes = Object.keys(ACTIONS).filter((name) => !LISTED_READS.includes(name))
  expect([...writes, ...ELSEWHERE].sort()).toEqual(adminWrites().sort())
  expect(writes.length).toBeGreaterThan(12)
})

test.each(Object.entries(ACTIONS))('%s writes %p', async (name, action) => {
  const { admin } = organization
  const endpoint = endpoints.find((endpoint) => endpoint.name === name)!
  const raw = goodRaw(name)
  const query = name === 'POST /inbound-messages' ? `?mailbox_id=${world.mailbox_id}` : ''
  const ids = { ...world, user_id: users[name] ?? world.user_id }
  const before = await newest(admin)
  const answer = await admin.send(
    endpoint.method,
    pathWith(endpoint.path, ids) + query,
    raw?.body ?? (endpoint.body && goodBody(name, world)),
    raw?.type ? { 'content-type': raw.type } : {},
  )
  expect(answer.status < 300 || answer.text).toBe(true)
  const after = await newest(admin)
  if (!action) return expect(after).toEqual(before)
  expect(after).toMatchObject({
    total: Number(before.total) + 1,
    action,
    actor: { type: 'user', id: admin.user_id, name: 'Ada Admin' },
    ip: '127.0.0.1',
    request_id: answer.headers.get('x-request-id'),
  })
})

test('no entry holds a secret', async () => {
  const { text } = await organization.admin.get('/audit-log?per_page=100')
  expect(text).toContain('mailbox.updated')
  const secrets = [PASSWORD, ':"secret"', 'a secret', 'PRIVATE KEY', 'password_hash']
  for (const secret of secrets) expect(text).not.toContain(secret)
})
