/** One row of everything in an organization, and a good request for every endpoint. */
import { generateKeyPairSync } from 'node:crypto'
import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import { encrypt } from '../../src/base/secrets'
import type { ResourceId } from '../../src/http/request/resources'
import { type Answer, type Client, clientWithKey, type Organization, PASSWORD } from './api'
import { nodeUrls } from './cluster'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  formOf,
  logTime,
  uploadFile,
} from './factories'
import { until } from './service'
import { TENANT_TABLES } from './tenant-tables'
import { createWebhook } from './webhooks'

/**
 * Ids by the name of the path parameter; `upload_id` is a file that no message uses yet, `source_id` a second ticket,
 * `split_message_id` a second message, `contact_token` a token, `other_contact_id` a second contact.
 */
export type World = Record<WorldId, string>
export type WorldId = ResourceId | 'upload_id' | 'source_id' | 'split_message_id' | 'contact_token' | 'other_contact_id'

/** Nothing listens there: what the service tries to reach is refused at once. */
const NOBODY_URL = 'https://127.0.0.1:1/hook'

/** @param mark stands in every text, so that it can be looked for in answers to others */
export async function createWorld({ admin, agent, addMember, id }: Organization, mark = 'Mark'): Promise<World> {
  const company = await createCompany(agent, { name: mark, notes: mark, custom: { mark }, hourly_rate: 60 })
  const webhook = await createWebhook(admin, { url: `${NOBODY_URL}?${mark}`, secret: mark })
  const contact = await createContact(agent, { name: mark, company_id: company.id, notes: mark, custom: { mark } })
  const other_contact = await createContact(agent, { name: mark, external_id: `${mark} 2`, phone: null, notes: mark })
  const label = await createLabel(agent, { name: mark, description: mark })
  const ticket = await createTicket(agent, {
    subject: mark,
    description: mark,
    contact_id: contact.id,
    label_ids: [label.id],
    custom: { mark },
  })
  const source = await createTicket(agent, { subject: mark, contact_id: contact.id })
  const used = await uploadFile(agent, mark, `${mark}.txt`)
  const message = await createMessage(agent, ticket.id, { body: mark, attachment_ids: [used.id], send_email: false })
  const split = await createMessage(agent, ticket.id, { body: mark, is_internal: true })
  const upload = await uploadFile(agent, mark, `${mark}.txt`)
  const entry = await logTime(admin, ticket.id, { description: mark })
  const drafting = await created(admin.post('/api-keys', { name: mark, permissions: ['drafts:write'] }))
  const draft = await created(
    clientWithKey(drafting.key).post(`/tickets/${ticket.id}/drafts`, { body: mark, is_internal: true }),
  )
  const team = await created(admin.post('/teams', { name: mark, member_ids: [admin.user_id] }))
  const schedule = await created(admin.post('/schedules', { name: mark, hours: { mon: [['08:00', '12:00']] } }))
  const policy = await created(
    admin.post('/sla-policies', {
      ...{ name: mark, schedule_id: schedule.id, filter: { label_ids: [label.id] } },
      targets: [{ priority: 'urgent', first_reply_minutes: 60 }],
    }),
  )
  const macro = await created(agent.post('/macros', { name: mark, body: mark }))
  const ruled = await created(agent.post('/macros', { name: `${mark} of a rule`, body: mark }))
  const event_rule = await created(
    admin.post('/rules', { name: mark, on: 'ticket.created', macro_id: ruled.id, active: false }),
  )
  const participant = await created(
    agent.post(`/tickets/${ticket.id}/participants`, { email: 'p@customer.example', name: mark }),
  )
  const mailbox = await created(
    admin.post('/mailboxes', { address: `${crypto.randomUUID()}@desk.example`, name: mark, smtp: smtp() }),
  )
  await created(admin.post(`/mailboxes/${mailbox.id}/inlet`, { provider: 'raw', signing_key: `${mark}:${mark}` }))
  const view = await created(
    agent.post('/views', { name: mark, filter: { search: mark, 'custom.mark': mark }, shared: true }),
  )
  const domain = await created(admin.post('/domains', { domain: `${crypto.randomUUID()}.example` }))
  const rule = await created(admin.post('/sender-rules', { sender: `${mark}.example`, action: 'allow' }))
  const inbound = await created(importEmail(admin, mailbox.id, mark))
  const api_key = await created(admin.post('/api-keys', { name: mark, permissions: ['tickets:read'] }))
  const member = await addMember('agent', mark)
  const contact_token = await created(admin.post(`/contacts/${contact.id}/tokens`))
  await insertProvider(id, member.user_id, mark)
  const [delivery] = (await admin.get(`/webhooks/${webhook.id}/deliveries`)).body.data
  return {
    ticket_id: ticket.id,
    source_id: source.id,
    split_message_id: split.id,
    message_id: message.id,
    draft_id: draft.id,
    macro_id: macro.id,
    rule_id: event_rule.id,
    team_id: team.id,
    schedule_id: schedule.id,
    sla_policy_id: policy.id,
    participant_id: participant.id,
    attachment_id: used.id,
    upload_id: upload.id,
    other_contact_id: other_contact.id,
    contact_id: contact.id,
    company_id: company.id,
    label_id: label.id,
    time_entry_id: entry.id,
    webhook_id: webhook.id,
    delivery_id: delivery.id,
    user_id: member.user_id,
    mailbox_id: mailbox.id,
    domain_id: domain.id,
    inbound_message_id: inbound.id,
    sender_rule_id: rule.id,
    api_key_id: api_key.id,
    contact_token_id: contact_token.id,
    contact_token: contact_token.token,
    view_id: view.id,
  }
}

/** An identity provider that nobody asks, and what it calls a member, straight into the database. */
async function insertProvider(organization_id: string, user_id: string, mark: string): Promise<void> {
  const { sql } = connection()
  const id = newId()
  const secret = encrypt(mark, { column: 'identity_providers.client_secret', organization_id, id })
  await sql`
    insert into identity_providers
      (organization_id, id, issuer, client_id, client_secret, role_claim, role_values, session_seconds)
    values (${organization_id}, ${id}, ${NOBODY_URL}, ${mark}, ${secret}, ${mark}, '{"admin": [], "agent": []}', 300)`
  await sql`
    insert into identities (organization_id, user_id, issuer, subject)
    values (${organization_id}, ${user_id}, ${NOBODY_URL}, ${mark})`
}

/** A good body for every endpoint that has one, with every field; names are new each time. */
export function goodBody(endpoint: string, world: World): Record<string, unknown> {
  const bodies: Record<string, Record<string, unknown>> = {
    'POST /auth/login': { email: 'nobody@deskwire.example', password: PASSWORD },
    'POST /auth/login/second-factor': { challenge: 'x'.repeat(43), code: '123456' },
    'POST /auth/second-factor': { current_password: PASSWORD },
    'POST /auth/second-factor/confirm': { code: '123456' },
    'POST /auth/second-factor/recovery-codes': { current_password: PASSWORD, code: '123456' },
    'DELETE /auth/second-factor': { current_password: PASSWORD, code: '123456' },
    'POST /auth/oidc/token': { code: 'x'.repeat(43), code_verifier: 'v'.repeat(50) },
    'PUT /identity-provider': {
      issuer: 'https://127.0.0.1:1',
      client_id: 'desk',
      client_secret: 'secret',
      redirect_uris: ['https://app.example/'],
      trust_email: false,
      provision: 'claim',
      domains: ['acme.example'],
      role_claim: 'groups',
      role_values: { admin: ['admins'], agent: ['agents'] },
      session_seconds: 3600,
      required: false,
    },
    'POST /auth/refresh': { refresh_token: 'x'.repeat(43) },
    'POST /auth/password/forgot': { email: 'nobody@deskwire.example' },
    'POST /auth/password/reset': { token: 'x'.repeat(43), new_password: PASSWORD },
    'PATCH /auth/me': {
      ...{ name: 'Ada', current_password: PASSWORD, new_password: PASSWORD },
      ...{ available: true, notify: { assigned: 'mail' } },
    },
    'POST /auth/logout': { refresh_token: 'x'.repeat(43) },
    'POST /auth/invitations/{token}/accept': {
      password: PASSWORD,
      name: 'Ivy',
      current_password: PASSWORD,
      code: '123456',
    },
    'POST /tickets': {
      subject: 'Printer on fire',
      description: 'It burns',
      contact_id: world.contact_id,
      priority: 'high',
      assignee_id: world.user_id,
      team_id: world.team_id,
      label_ids: [world.label_id],
      external_id: crypto.randomUUID(),
      custom: { tier: 'gold' },
    },
    'PATCH /tickets/{ticket_id}': {
      subject: 'Printer put out',
      status: 'open',
      priority: 'low',
      assignee_id: world.user_id,
      team_id: world.team_id,
      label_ids: [world.label_id],
      external_id: crypto.randomUUID(),
      custom: { tier: 'silver', seats: 3 },
    },
    'POST /tickets/bulk': {
      ids: [world.ticket_id],
      changes: { priority: 'low', add_label_ids: [world.label_id], remove_label_ids: [] },
      dry_run: false,
    },
    'POST /tickets/{ticket_id}/merge': { source_ids: [world.source_id] },
    'POST /tickets/{ticket_id}/split': { message_ids: [world.split_message_id], subject: 'Another fire' },
    'PUT /tickets/{ticket_id}/viewing': { writing: true, read_to: world.message_id },
    'PUT /tickets/{ticket_id}/read': { message_id: world.message_id },
    'POST /tickets/{ticket_id}/labels': { label_ids: [world.label_id] },
    'DELETE /tickets/{ticket_id}/labels': { label_ids: [world.label_id] },
    'POST /tickets/{ticket_id}/assign': { assignee_id: world.user_id },
    'POST /tickets/{ticket_id}/messages': {
      body: 'Have you tried water?',
      is_internal: false,
      send_email: false,
      attachment_ids: [],
      cc: ['cc@customer.example'],
    },
    'POST /tickets/{ticket_id}/drafts': draft(),
    'PATCH /drafts/{draft_id}': draft(),
    'POST /drafts/{draft_id}/send': { send_email: false },
    'POST /macros': macro(world),
    'PATCH /macros/{macro_id}': macro(world),
    'POST /macros/{macro_id}/preview': { ticket_id: world.ticket_id },
    'POST /macros/{macro_id}/apply': { ticket_id: world.ticket_id },
    'PUT /my/tickets/{ticket_id}/rating': { score: 'good', comment: 'Fast' },
    'POST /tickets/{ticket_id}/participants': { email: `${crypto.randomUUID()}@customer.example`, name: 'Paula' },
    'POST /contacts': contact(world.company_id),
    'PATCH /contacts/{contact_id}': contact(world.company_id),
    // The path has no id of the world.
    'PUT /contacts/by-external-id/{external_id}': { ...contact(world.company_id), external_id: '{external_id}' },
    'POST /contacts/{contact_id}/merge': { source_ids: [world.other_contact_id] },
    'POST /companies': company(),
    'PATCH /companies/{company_id}': company(),
    'PUT /companies/by-external-id/{external_id}': { ...company(), external_id: '{external_id}' },
    'POST /views': view(),
    'PATCH /views/{view_id}': view(),
    'POST /rules': eventRule(world),
    'PATCH /rules/{rule_id}': eventRule(world),
    'POST /teams': team(world),
    'PATCH /teams/{team_id}': team(world),
    'POST /schedules': schedule(),
    'PATCH /schedules/{schedule_id}': schedule(),
    'POST /sla-policies': policy(world),
    'PATCH /sla-policies/{sla_policy_id}': policy(world),
    'POST /labels': label(),
    'PATCH /labels/{label_id}': label(),
    'POST /tickets/{ticket_id}/time-entries': { ...time(), user_id: world.user_id },
    'PATCH /time-entries/{time_entry_id}': time(),
    'POST /tickets/{ticket_id}/timer/start': { description: 'A call', billable: true, rate: 80.5 },
    'POST /tickets/{ticket_id}/timer/stop': { description: 'A call', billable: true, date: '2026-01-31', rate: 80.5 },
    'POST /webhooks': webhook(),
    'PATCH /webhooks/{webhook_id}': webhook(),
    'POST /webhooks/{webhook_id}/replay': { since: new Date(Date.now() - 60_000).toISOString() },
    'PATCH /retention': retentionRules(),
    'POST /retention/preview': retentionRules(),
    'PATCH /organization': {
      name: 'Acme',
      ticket_prefix: 'ACME',
      hourly_rate: 50,
      currency: 'EUR',
      time_zone: 'Europe/Berlin',
      ask_rating_after_minutes: 60,
      reopen_on_reply: true,
      require_second_factor: false,
    },
    'POST /users': member(),
    'PATCH /users/{user_id}': member(),
    'POST /mailboxes': mailbox(),
    'PATCH /mailboxes/{mailbox_id}': mailbox(),
    'POST /mailboxes/{mailbox_id}/inlet': { provider: 'raw', signing_key: 'desk:secret' },
    'POST /api-keys': apiKey(),
    'PATCH /api-keys/{api_key_id}': apiKey(),
    'POST /contacts/{contact_id}/tokens': { ttl_seconds: 60, scope: 'own' },
    'POST /my/tickets': { subject: 'Printer on fire', body: 'It burns', attachment_ids: [] },
    'POST /my/tickets/{ticket_id}/messages': { body: 'Still burning', attachment_ids: [] },
    'POST /sender-rules': { sender: `${crypto.randomUUID()}.example`, action: 'block' },
    'POST /domains': { domain: `${crypto.randomUUID()}.example` },
  }
  const body = bodies[endpoint]
  if (!body) throw new Error(`${endpoint} has no good body here: add one`)
  return body
}

/** The body of an endpoint that does not take JSON; undefined for the others. */
export function goodRaw(endpoint: string): { body: FormData | string; type?: string } | undefined {
  if (endpoint.endsWith('/attachments')) return { body: formOf('bytes', 'bytes.bin') }
  if (endpoint === 'POST /auth/oidc/{organization_id}/logout') {
    return { body: 'logout_token=x', type: 'application/x-www-form-urlencoded' }
  }
  if (/^POST \/inbound(-messages$|\/)/.test(endpoint)) return { body: email('Hello'), type: 'message/rfc822' }
  return undefined
}

/** An original, put through the pipeline of inbound mail. */
export function importEmail(client: Client, mailbox_id: string, subject: string): Promise<Answer> {
  const type = { 'content-type': 'message/rfc822' }
  return client.post(`/inbound-messages?mailbox_id=${mailbox_id}`, email(subject), type)
}

/**
 * Every table with its number of rows and what tells a changed row: differs whenever anything was written. On a cluster
 * these can be those of one organization: to count all asks each machine for each part of each table, which takes 50 ms
 * or more.
 */
export async function fingerprint(organization_id?: string): Promise<Record<string, string>> {
  const { sql } = connection()
  // A change of a policy begins a review, which ends by itself. The change has an entry in the audit log.
  await until('no review goes on', async () => {
    const own = organization_id ? sql`and organization_id = ${organization_id}` : sql``
    return (await sql`select from deeds where kind = 'review promises' ${own} limit 1`).length === 0
  })
  tables ??= (await sql<{ name: string }[]>`
    select relname as name from pg_class join pg_namespace n on n.oid = relnamespace
    where nspname = 'public' and relkind in ('r', 'p')`.then((rows) => rows.map(({ name }) => name))) as string[]
  const counts = tables.map((name) => {
    const column = nodeUrls() && organization_id && TENANT_TABLES.get(name)
    const rows = column ? `${name} where ${column} = '${organization_id}'` : name
    return `(select count(*) || ' rows ' || coalesce(sum(xmin::text::numeric), 0) from ${rows}) as ${name}`
  })
  const [row] = await sql.unsafe<Record<string, string>[]>(`select ${counts.join(', ')}`)
  return row!
}

let tables: string[] | undefined

function email(subject: string): string {
  return [
    'From: Carla <carla.writes@customer.example>',
    `Subject: ${subject}`,
    `Message-ID: <${crypto.randomUUID()}@customer.example>`,
    '',
    subject,
  ].join('\r\n')
}

async function created(answer: Promise<Answer>) {
  const { status, body, text } = await answer
  if (status !== 201) throw new Error(`a create answered ${status} ${text}`)
  return body.data
}

const smtp = () => ({ host: '127.0.0.1', port: 1, security: 'none', username: 'desk', password: 'secret' })

const contact = (company_id: string) => {
  const email = `${crypto.randomUUID()}@customer.example`
  const fields = {
    phone: '+1 555 0100',
    company_id,
    notes: 'Tall',
    external_id: crypto.randomUUID(),
    custom: { vip: true },
  }
  return { name: 'Carl', email, emails: [email, `2.${email}`], ...fields }
}

const company = () => ({
  name: 'Customer Ltd',
  domains: ['customer.test'],
  hourly_rate: 99.5,
  currency: 'EUR',
  ticket_prefix: 'CUST',
  notes: 'Pays late',
  external_id: crypto.randomUUID(),
  custom: { plan: 'basic', sites: ['Bonn'] },
})

const view = () => ({
  name: 'Mine',
  filter: { status: 'open', assignee_id: 'me', 'custom.tier': 'gold' },
  sort: '-priority',
  shared: true,
})

const macro = (world: World) => ({
  name: crypto.randomUUID(),
  body: 'Dear {{contact.name}}',
  is_internal: true,
  changes: {
    priority: 'low',
    assignee_id: world.user_id,
    team_id: world.team_id,
    add_label_ids: [world.label_id],
    custom: { floor: 3 },
  },
})
const eventRule = (world: World) => ({
  name: crypto.randomUUID(),
  on: 'message.created',
  filter: { label_ids: [world.label_id], direction: 'inbound' },
  macro_id: world.macro_id,
  active: false,
})
const draft = () => ({
  body: 'Have you tried water?',
  is_internal: false,
  attachment_ids: [],
  cc: ['cc@customer.example'],
  send_at: null,
  unless_answered: false,
})
const team = (world: World) => ({
  name: crypto.randomUUID(),
  member_ids: [world.user_id],
  assign: 'round_robin',
  capacity: 5,
})
const schedule = () => ({
  name: crypto.randomUUID(),
  hours: { mon: [['08:00', '12:00']], sun: [['13:00', '24:00']] },
  holidays: ['2026-12-25'],
})
let positions = 1000
const policy = (world: World) => ({
  name: crypto.randomUUID(),
  position: positions++,
  filter: {
    priority: ['urgent'],
    company_ids: [world.company_id],
    label_ids: [world.label_id],
    team_ids: [world.team_id],
    mailbox_ids: [world.mailbox_id],
  },
  schedule_id: world.schedule_id,
  targets: [{ priority: 'urgent', first_reply_minutes: 60, next_reply_minutes: 120, resolve_minutes: null }],
  active: true,
})
const label = () => ({ name: crypto.randomUUID(), color: '#EF4444', description: 'Burning' })

const time = () => ({ duration_minutes: 30, description: 'Put out', billable: true, date: '2026-03-01', rate: 80 })

const webhook = () => ({ url: NOBODY_URL, events: ['ticket.created'], secret: 'a secret', active: true })

const member = () => ({
  email: `${crypto.randomUUID()}@deskwire.example`,
  name: 'Mia Member',
  password: PASSWORD,
  role: 'agent',
  hourly_rate: 70,
  currency: 'EUR',
  active: true,
})

const mailbox = () => ({
  address: `${crypto.randomUUID()}@desk.example`,
  name: 'Desk',
  active: true,
  is_default: false,
  plus_addressing: true,
  smtp: smtp(),
  dkim: { domain: 'desk.example', selector: 'desk', private_key },
  verp: true,
})

const apiKey = () => ({ name: 'Importer', permissions: ['tickets:write'], allowed_networks: ['127.0.0.0/8'] })

/** Short, because making a key takes long. */
const private_key = generateKeyPairSync('rsa', { modulusLength: 1024 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

/** A rule that no ticket is old enough for. */
function retentionRules(): Record<string, unknown> {
  const rule = { status: 'closed', label_ids: [], company_ids: [], days: 36_500, action: 'erase', active: true }
  return { rules: [rule], hold_label_ids: [] }
}
