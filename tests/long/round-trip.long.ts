/**
 * Moves an organization to another installation: what `cli export` writes, `cli import` brings into a service that was
 * just set up, whose own export is the same then.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { connection } from '../../src/base/db/pool'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { runCli } from '../support/backups'
import { createContact, createLabel, createMessage, createTicket, logTime, uploadFile } from '../support/factories'
import { commandSettings, importFolder, newFolder, readRows, readWithoutIds } from '../support/imports'
import { type Service, startService } from '../support/service'
import { createWorld } from '../support/world'

const KINDS = ['companies', 'contacts', 'labels', 'tickets', 'participants', 'messages', 'time_entries']

let service: Service
let from_env: Record<string, string>
let to_env: Record<string, string>
const folder = newFolder()

beforeAll(async () => {
  const { url } = await startApi()
  from_env = commandSettings(url)
  to_env = { DATA_DIR: path.join(folder, 'data') }
  service = await startService(to_env)
})

afterAll(async () => {
  await service.stop()
  await stopApi()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Tickets of all kinds, more than a page of the lists has. */
async function fill(organization: Organization): Promise<void> {
  const { admin, agent } = organization
  await createWorld(organization, 'Mine')
  const contacts = [await createContact(admin), await createContact(admin, { emails: ['second@customer.example'] })]
  const labels = [await createLabel(admin), await createLabel(admin)]
  const statuses = ['open', 'pending', 'resolved', 'closed']
  const tickets = []
  for (let n = 0; n < 130; n++) {
    const ticket = await createTicket(agent, {
      ...{ subject: `Number ${n} – „zwölf“ 🐎`, contact_id: contacts[n % 2]!.id, label_ids: [labels[n % 2]!.id] },
      ...{ priority: ['low', 'urgent'][n % 2], custom: { n, when: '2026-01-01' }, external_id: `mine:${n}` },
    })
    tickets.push(ticket)
    if (n % 4 > 0) await agent.patch(`/tickets/${ticket.id}`, { status: statuses[n % 4] })
    if (n % 10 > 0) continue
    const file = await uploadFile(agent, 'Mine', `ä ${n}.txt`)
    const body = `<p>Number <b>${n}</b></p><ul><li>&amp; &lt;x&gt;</li></ul>`
    await createMessage(agent, ticket.id, { body, attachment_ids: [file.id], send_email: false })
    await createMessage(agent, ticket.id, { body: 'A note', is_internal: true })
    await logTime(admin, ticket.id, { duration_minutes: n + 1, billable: n % 20 === 0 })
  }
  const [target, source] = tickets
  expect((await agent.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })).status).toBe(200)
  expect((await agent.delete(`/tickets/${tickets[2].id}`)).status).toBe(204)
}

test('an export that an empty service imports and exports again is the same', async () => {
  const organization = await createOrganization('From')
  await fill(organization)
  // Mailbox and policy are not there.
  await connection().sql`
    update tickets set mailbox_id = null, sla_policy_id = null, sla_metric = null, sla_due_at = null, sla_soon_at = null
    where organization_id = ${organization.id}`
  const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')]
  expect(await runCli(['export', first, '--organization', organization.id], from_env)).toMatchObject({ code: 0 })
  const to = (await service.call('GET', '/organization')).body.data.id
  const { code, stderr, numbers } = await importFolder(first, to, to_env)
  expect([code, stderr]).toEqual([0, ''])
  expect(await runCli(['export', second, '--organization', to], to_env)).toMatchObject({ code: 0 })

  const [before, after] = [readWithoutIds(first, KINDS), readWithoutIds(second, KINDS)]
  for (const kind of KINDS) {
    expect([kind, numbers[kind]?.created]).toEqual([kind, before[kind]!.length])
    expect([kind, after[kind]]).toEqual([kind, before[kind]!.map(withoutMerge)])
  }
  for (const row of readRows(second, 'messages')) {
    for (const { url } of row.attachments) expect(fs.readFileSync(path.join(second, url), 'utf8')).toBe('Mine')
  }
  const people = (folder: string) =>
    readRows(folder, 'users').map(({ email, name, role, hourly_rate, currency }) => {
      return { email, name, role, hourly_rate, currency }
    })
  expect(people(second)).toEqual(expect.arrayContaining(people(first)))
  expect((await service.call('GET', '/events')).body.data.map((one: { event: string }) => one.event)).toEqual([
    'organization.imported',
  ])

  // Once more, nothing is new.
  const again = await importFolder(first, to, to_env)
  expect([again.code, again.stderr]).toEqual([0, ''])
  for (const { created, updated } of Object.values(again.numbers)) expect([created, updated]).toEqual([0, 0])
}, 300_000)

/** A merge is not moved in: its ticket is a closed one. */
function withoutMerge(row: Record<string, unknown>): Record<string, unknown> {
  const { merged_into, original_ticket, original_ticket_id } = row
  return {
    ...row,
    ...(merged_into !== undefined && { merged_into: null }),
    ...(original_ticket !== undefined && { original_ticket: null }),
    ...(original_ticket_id !== undefined && { original_ticket_id: null }),
  }
}
