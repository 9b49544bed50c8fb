/** Quotations of an export: where they are imported, an erasure finds whose words and files they are. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { type Client, createOrganization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket, formOf, uploadFile } from '../../support/factories'
import {
  commandSettings,
  importHere,
  move,
  newFolder,
  readRows,
  readWithoutIds,
  writeRows,
} from '../../support/imports'
import { readTicket } from '../../support/mail'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const KINDS = ['companies', 'contacts', 'labels', 'tickets', 'participants', 'messages']

let desk: StartedDesk
let env: Record<string, string>
const folder = newFolder()

beforeAll(async () => {
  desk = await startDesk()
  env = commandSettings(desk.database.url)
})

afterAll(async () => {
  await desk.stop()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** A customer's ticket with a picture and a file, and what was forwarded of it as text, as HTML, and once more. */
async function forward(client: Client, words: string) {
  const contact = await createContact(client)
  const ticket = await createTicket(client, { contact_id: contact.id, description: `${words} <&> burns` })
  const picture = (await client.post('/attachments', formOf(new Uint8Array(PNG), 'fire.png', 'image/png'))).body.data
  const file = await uploadFile(client, `bytes of ${words}`, 'manual.txt')
  const shown = await createMessage(client, ticket.id, {
    body: `<p>${words} <b>again</b> <img src="cid:${picture.id}"></p>`,
    attachment_ids: [file.id],
    send_email: false,
  })
  const [description] = (await readTicket(client, ticket.id)).messages
  const begin = async (body: string, quote_message_ids: string[]) => {
    const supplier = { email: `supplier.${words}@supplier.example` }
    const message = { body, quote_message_ids, send_email: false }
    const { data } = (await client.post('/tickets', { subject: 'To the supplier', contact: supplier, message })).body
    return (await readTicket(client, data.id)).messages[0].id as string
  }
  const ids = [description.id as string, shown.id as string]
  const text = await begin('Own & words', ids)
  await begin('<p>Own <i>words</i>', ids)
  await begin('Further', [text])
  return contact
}

const quoting = (folder: string) => readRows(folder, 'messages').filter(({ quotes }) => quotes)

test('what is quoted is erased with its person where an export is imported, and comes whole until then', async () => {
  const source = await desk.createDesk()
  const person = await forward(source.agent, 'Zebra')
  await forward(source.agent, 'Harmless')
  const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')]
  await source.scope.sql`update tickets set mailbox_id = null where organization_id = ${source.id}`
  expect((await move(['export', '--organization', source.id, first], env)).code).toBe(0)
  expect(quoting(first)).toHaveLength(6)

  const target = await createOrganization()
  const brought = await importHere(first, target.id, env)
  expect([brought.code, brought.numbers.messages]).toMatchObject([0, { failed: 0 }])
  expect((await move(['export', '--organization', target.id, second], env)).code).toBe(0)
  const quotesOf = (folder: string) =>
    readWithoutIds(folder, KINDS).messages!.map(({ body, quotes }) => ({ body, quotes }))
  expect(quotesOf(second)).toEqual(quotesOf(first))

  // Changed lines keep what they quote.
  const rows = readRows(first, 'messages').map((row) => (row.quotes ? { ...row, cc: ['kim@customer.example'] } : row))
  writeRows(first, { messages: rows })
  expect((await importHere(first, target.id, env)).numbers.messages).toMatchObject({ updated: 6, conflicts: 0 })

  const { data } = (await target.admin.get(`/contacts?search=${person.email}`)).body
  expect((await target.admin.post(`/contacts/${data[0].id}/erase`)).status).toBe(200)
  const third = path.join(folder, 'third')
  expect((await move(['export', '--organization', target.id, third], env)).code).toBe(0)
  const left = readRows(third, 'messages').map(({ body, body_html }) => ({ body, body_html }))
  expect(JSON.stringify(left)).not.toContain('Zebra')
  expect(left.filter(({ body }) => body.startsWith('Own & words')).map(({ body }) => body)).toEqual([
    'Own & words\n\n[erased]\n\n[erased]',
    expect.stringContaining('Harmless'),
  ])
  const [html, other] = left.filter(({ body }) => body.startsWith('<p>Own'))
  expect(html!.body_html).toContain(
    '<p>Own <i>words</i></p><br><blockquote>[erased]</blockquote><br><blockquote>[erased]</blockquote>',
  )
  expect(other!.body_html).toContain('<b>again</b> <img src="files/attachments/')
  const files = fs.readdirSync(path.join(third, 'files', 'attachments'))
  expect(files).toHaveLength(fs.readdirSync(path.join(second, 'files', 'attachments')).length / 2)
})

test.each([
  ['longer than the body', [{ piece: 1, message_id: 'm:0', ticket_id: 't', length: 100 }]],
  ['without the first', [{ piece: 2, message_id: 'm:0', ticket_id: 't', length: 1 }]],
  ['twice in one place', [1, 1].map((piece) => ({ piece, message_id: 'm:0', ticket_id: 't', length: 1 }))],
  ['of no characters', [{ piece: 1, message_id: 'm:0', ticket_id: 't', length: 0 }]],
])('quotations %s are refused', async (_, quotes) => {
  const { id } = await createOrganization()
  const into = newFolder()
  const message = { external_id: 'm:1', ticket_id: 't', direction: 'outbound', body: 'Own words', quotes }
  writeRows(into, { tickets: [{ external_id: 't', subject: 'Fire', contact_id: null }], messages: [message] })
  expect((await importHere(into, id, env)).numbers.messages).toMatchObject({ created: 0, failed: 1 })
  fs.rmSync(into, { recursive: true })
})
