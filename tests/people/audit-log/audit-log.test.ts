import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { removeOldAuditEntries } from '../../../src/base/audit/audit-retention'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { firstIdAt } from '../../../src/base/shapes/ids'
import { type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createMailbox } from '../../support/mail'
import { withSettings } from '../../support/settings'
import { createWebhook } from '../../support/webhooks'
import { importEmail } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

/** The entries that a query finds, newest first. */
async function logOf(admin: Client, filter = '') {
  const answer = await admin.get(`/audit-log?${filter}`)
  expect(answer.status).toBe(200)
  return answer.body.data
}

const rename = (admin: Client, name: string) => admin.patch('/organization', { name }, { 'user-agent': 'Curl/8' })

describe('an entry', () => {
  test('says who did what, what changed, and from where', async () => {
    const { admin, id } = await createOrganization('Before')
    const { headers } = await rename(admin, 'After')
    expect(await logOf(admin)).toEqual([
      {
        id: expect.any(String),
        actor: { type: 'user', id: admin.user_id, name: 'Ada Admin' },
        action: 'organization.updated',
        resource: { type: 'organization', id },
        changes: { name: { from: 'Before', to: 'After' } },
        ip: '127.0.0.1',
        user_agent: 'Curl/8',
        request_id: headers.get('x-request-id'),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    ])
  })

  test('is not written when nothing changes, or when the change is refused', async () => {
    const { admin } = await createOrganization('Same')
    expect((await rename(admin, 'Same')).status).toBe(200)
    expect((await rename(admin, '')).status).toBe(422)
    expect(await logOf(admin)).toEqual([])
  })

  test('tells that a secret was set, replaced or removed, and never which', async () => {
    const { admin } = await createOrganization()
    const webhook = await createWebhook(admin, { url: 'https://127.0.0.1:1/hook', secret: 'first-secret-1' })
    await admin.patch(`/webhooks/${webhook.id}`, { secret: 'second-secret-2' })
    await admin.patch(`/webhooks/${webhook.id}`, { secret: null })
    const entries = await logOf(admin)
    expect(JSON.stringify(entries)).not.toContain('-secret-')
    expect(entries.map(({ changes }: { changes: Record<string, unknown> }) => changes.secret)).toEqual([
      { from: '***', to: null },
      { from: '***', to: '***' },
      { from: null, to: '***' },
    ])
  })
})

describe('a mailbox', () => {
  const smtp = { host: '127.0.0.1', port: 1, security: 'none', username: 'desk' }

  test('is listed with its settings, and its password as ***', async () => {
    const settings = withSettings({ MAIL_ALLOWED_NETWORKS: [ipaddr.parseCIDR('127.0.0.0/8')] })
    const { admin } = await createOrganization()
    const mailbox = await createMailbox(admin, { smtp: { ...smtp, password: 'first-secret-1' } })
    await admin.patch(`/mailboxes/${mailbox.id}`, { smtp: { ...smtp, password: 'second-secret-2' } })
    await admin.patch(`/mailboxes/${mailbox.id}`, { smtp, name: 'Sales' })
    await admin.delete(`/mailboxes/${mailbox.id}`)
    settings.restore()
    const entries = await logOf(admin)
    expect(JSON.stringify(entries)).not.toContain('-secret-')
    const masked = { ...smtp, password: '***', auth: null }
    const [deleted, renamed, changed, created] = entries
    expect(created).toMatchObject({ action: 'mailbox.created', resource: { type: 'mailbox', id: mailbox.id } })
    expect(created.changes.smtp).toEqual({ from: null, to: masked })
    expect(changed.changes).toEqual({ smtp: { from: masked, to: masked } })
    expect(renamed.changes).toEqual({ name: { from: mailbox.name, to: 'Sales' } })
    expect(deleted.changes.address).toEqual({ from: mailbox.address, to: null })
  })

  test('has an entry for each import, and for each reading of an original', async () => {
    const { admin } = await createOrganization()
    const mailbox = await createMailbox(admin)
    const { body } = await importEmail(admin, mailbox.id, 'Hello')
    const raw = await admin.get(`/inbound-messages/${body.data.id}/raw`)
    expect(raw.status).toBe(200)
    const [read, imported, ...others] = await logOf(admin)
    const resource = { type: 'inbound_message', id: body.data.id }
    expect(read).toMatchObject({ action: 'inbound_message.raw_read', resource, changes: null })
    expect(imported).toMatchObject({ action: 'inbound_message.imported', resource })
    expect(others).toHaveLength(1)
  })
})

describe('the list', () => {
  test('is newest first, in pages, of the own organization', async () => {
    const [{ admin }, other] = [await createOrganization('Zero'), await createOrganization()]
    await rename(other.admin, 'Other')
    for (const name of ['One', 'Two', 'Three']) await rename(admin, name)
    const { body } = await admin.get('/audit-log?per_page=2')
    expect(body.meta).toMatchObject({ total: 3, page: 1, per_page: 2 })
    const names = (entries: { changes: { name: { to: string } } }[]) => entries.map(({ changes }) => changes.name.to)
    expect(names(body.data)).toEqual(['Three', 'Two'])
    expect(names(await logOf(admin, 'per_page=2&page=2'))).toEqual(['One'])
  })

  test('filters by actor, action, resource and time', async () => {
    const { admin, addMember, id } = await createOrganization()
    const second = await addMember('admin')
    await rename(admin, 'First')
    const webhook = await createWebhook(second, { url: 'https://127.0.0.1:1/hook' })
    const actions = async (filter: string) =>
      (await logOf(admin, filter)).map(({ action }: { action: string }) => action)
    expect(await actions(`actor_id=${second.user_id}`)).toEqual(['webhook.created'])
    expect(await actions('action=organization.updated')).toEqual(['organization.updated'])
    expect(await actions('action=operator.user_password')).toEqual([])
    expect(await actions('resource_type=webhook')).toEqual(['webhook.created'])
    expect(await actions(`resource_id=${webhook.id}`)).toEqual(['webhook.created'])
    expect(await actions(`resource_type=webhook&resource_id=${id}`)).toEqual([])
    expect(await actions('created_after=2026-01-01T00:00:00Z&created_before=2100-01-01T00:00:00Z')).toHaveLength(2)
    expect(await actions('created_before=2026-01-01T00:00:00Z')).toEqual([])
    expect(await actions('created_after=2100-01-01T00:00:00Z')).toEqual([])
    expectError(await admin.get('/audit-log?action=user.exploded'), 422, 'VALIDATION_ERROR')
  })
})

describe('the table', () => {
  test.each([
    ['update', "update audit_log set actor_name = 'Somebody else'"],
    ['delete', 'delete from audit_log'],
    ['truncate', 'truncate audit_log'],
  ])('refuses %s', async (_, statement) => {
    const { admin } = await createOrganization('Zero')
    await rename(admin, 'One')
    const refused = connection().sql.unsafe(statement)
    expect(refused.then(() => 'done')).rejects.toThrow('append-only')
    expect(await logOf(admin)).toHaveLength(1)
  })

  test('loses what is older than the retention, and nothing else', async () => {
    const { admin, id } = await createOrganization('Zero')
    await rename(admin, 'One')
    const young_ms = Date.now() - 364 * 86_400_000
    const { sql } = connection()
    for (const time_ms of [young_ms, young_ms - 2 * 86_400_000]) {
      await sql`
        insert into audit_log (organization_id, id, actor_type, action)
        values (${id}, ${firstIdAt(time_ms).slice(0, 14) + newId().slice(14)}, 'system', 'auth.login')`
    }
    await removeOldAuditEntries(connection(), 365)
    expect(await logOf(admin)).toHaveLength(2)
    const [old] = await logOf(admin, 'action=auth.login')
    expect(old.created_at).toBe(`${new Date(young_ms).toISOString().slice(0, 19)}Z`)
  })
})
