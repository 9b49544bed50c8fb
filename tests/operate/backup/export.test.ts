/** The export of one organization: complete, in the shapes of the API, and without secrets or others' data. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { connection } from '../../../src/base/db/pool'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { runCli } from '../../support/backups'
import { createContact } from '../../support/factories'
import { createWorld, type World } from '../../support/world'

let base: string
let folder: string
let desk: Organization
let world: World
let ended: Awaited<ReturnType<typeof runCli>>
let settings: Record<string, string>

beforeAll(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'export-'))
  fs.chmodSync(base, 0o711)
  const { url } = await startApi()
  desk = await createOrganization('Acme')
  world = await createWorld(desk, 'Mine')
  await createWorld(await createOrganization('Umbrella'), 'Theirs')
  // More than a page.
  for (let n = 0; n < 101; n++) await createContact(desk.admin, { name: `Contact ${n}` })
  folder = path.join(base, 'acme')
  const DATA_DIR = process.env.DATA_DIR!
  settings = { DATABASE_URL: url, SECRET_KEY: 'a secret key that only tests use', DATA_DIR }
  ended = await runCli(['export', folder, '--organization', desk.id], settings)
})

afterAll(async () => {
  await stopApi()
  fs.rmSync(base, { recursive: true, force: true })
})

const asToNobody = (ticket: object) => ({ ...ticket, draft_count: null, unread: null, read_to: null })

test('each kind has the rows of the API, in its shape', async () => {
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const lists: Record<string, string> = {
    users: '/users',
    api_keys: '/api-keys',
    mailboxes: '/mailboxes',
    domains: '/domains',
    companies: '/companies',
    labels: '/labels',
    tickets: '/tickets',
    time_entries: '/time-entries',
    webhooks: '/webhooks',
    inbound_messages: '/inbound-messages',
  }
  for (const [kind, list] of Object.entries(lists)) {
    const { body } = await desk.admin.get(`${list}?per_page=100`)
    // The marks of those who read are not exported: a ticket is shown there as to nobody.
    const rows = kind === 'tickets' ? body.data.map(asToNobody) : body.data
    expect([kind, rowsOf(kind)]).toEqual([kind, rows])
  }
  expect(rowsOf('contacts').length).toBe((await desk.admin.get('/contacts')).body.meta.total)
  expect(new Set(rowsOf('contacts').map(({ id }) => id)).size).toBe(rowsOf('contacts').length)
  const { data } = (await desk.admin.get(`/tickets/${world.ticket_id}/messages`)).body
  const messages = rowsOf('messages').filter(({ ticket_id }) => ticket_id === world.ticket_id)
  expect(messages.map(({ ticket_id, ...message }) => withoutUrls(message))).toEqual(data.map(withoutUrls))
})

test('files are there by the names that rows give', async () => {
  const attachments = rowsOf('attachments')
  expect(attachments.map(({ id }) => id).sort()).toEqual([world.attachment_id, world.upload_id].sort())
  for (const { url } of attachments) expect(fs.readFileSync(path.join(folder, url), 'utf8')).toBe('Mine')
  const [message] = rowsOf('messages').filter(({ attachments }) => attachments.length > 0)
  expect(message.attachments[0].url).toBe(`files/attachments/${world.attachment_id}`)
  const originals = fs.readdirSync(path.join(folder, 'files/inbound'))
  expect(originals).toEqual(rowsOf('inbound_messages').map(({ id }) => `${id}.eml`))
})

test('nothing of others and no secret is in it, and only its owner may read it', async () => {
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file))
  const text = files
    .filter((file) => fs.statSync(file).isFile())
    .map((file) => fs.readFileSync(file, 'utf8'))
    .join('\n')
  expect(text).not.toContain('Theirs')
  const { sql } = connection()
  const secrets = await sql<{ secret: string }[]>`
    select password_hash as secret from users union all select encode(key_hash, 'hex') from api_keys
    union all select secret from webhooks union all select smtp_password from mailboxes where smtp_password is not null
    union all select encode(token_hash, 'hex') from refresh_tokens union all select secret from second_factors`
  expect(secrets.length).toBeGreaterThan(5)
  for (const { secret } of secrets) expect(text).not.toContain(secret)
  expect(text).not.toContain('token_hash')
  expect([folder, ...files].filter((file) => fs.statSync(file).mode & 0o077)).toEqual([])
})

test('it is noted in the audit log, and refused for no organization', async () => {
  const { body } = await desk.admin.get('/audit-log?action=operator.export')
  expect(body.data).toMatchObject([{ actor: { type: 'operator' }, resource: { type: 'organization', id: desk.id } }])
  const nowhere = path.join(base, 'nowhere')
  const unknown = ['export', nowhere, '--organization', world.ticket_id]
  expect(await runCli(unknown, settings)).toMatchObject({
    code: 1,
    stderr: 'deskwire: there is no such organization\n',
  })
  expect(fs.existsSync(nowhere) ? fs.readdirSync(nowhere) : []).toEqual([])
})

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
function rowsOf(kind: string): any[] {
  const lines = fs.readFileSync(path.join(folder, `${kind}.jsonl`), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

// biome-ignore lint/suspicious/noExplicitAny: a message as the API answers it
function withoutUrls(message: any) {
  return { ...message, attachments: message.attachments.map(({ url, ...attachment }: { url: string }) => attachment) }
}
