/** Pictures of an export: those that a message shows of another one stay shown where it is imported. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { api, createOrganization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, createTicket, formOf } from '../../support/factories'
import { commandSettings, importHere, move, newFolder, readRows, writeRows } from '../../support/imports'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

let desk: StartedDesk
let env: Record<string, string>
const folder = path.join(newFolder(), 'export')

beforeAll(async () => {
  desk = await startDesk()
  env = commandSettings(desk.database.url)
})

afterAll(async () => {
  await desk.stop()
  fs.rmSync(path.dirname(folder), { recursive: true, force: true })
})

test('a picture of another message is a path in an export, and a reference again after an import', async () => {
  const { id } = await createTicket(desk.agent)
  const file = formOf(new Uint8Array(PNG), 'fire.png', 'image/png')
  const image = (await desk.agent.post('/attachments', file)).body.data
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  await createMessage(desk.agent, id, { body: `<p>a<img src="cid:${image.id}"></p>` })
  expect((await move(['export', '--organization', desk.id, folder], env)).code).toBe(0)
  const shown = readRows(folder, 'messages')[1]
  expect(shown.body_html).toContain(`src="files/attachments/${image.id}"`)
  expect(JSON.stringify(shown)).not.toContain('signature=')

  const target = await createOrganization()
  const first = await importHere(folder, target.id, env)
  expect(first.numbers.messages).toMatchObject({ created: 2, failed: 0 })
  const read = async () => {
    const [{ id }] = (await target.admin.get('/tickets')).body.data
    return (await target.admin.get(`/tickets/${id}/messages`)).body.data
  }
  const [brought, showing] = await read()
  expect(showing.body).toBe(`<p>a<img src="cid:${brought.attachments[0].id}"></p>`)
  expect(showing.attachments).toEqual([])
  const [, src = ''] = /<img src="([^"]*)"/.exec(showing.body_html) ?? []
  const answer = await api().handle(new Request(src.replaceAll('&amp;', '&')))
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(PNG)

  const rows = readRows(folder, 'messages')
  writeRows(folder, { messages: [rows[0], { ...rows[1], cc: ['kim@customer.example'] }] })
  const again = await importHere(folder, target.id, env)
  expect(again.numbers.messages).toMatchObject({ updated: 1, unchanged: 1, conflicts: 0, failed: 0 })
  const [, changed] = await read()
  expect([changed.body, changed.cc]).toEqual([showing.body, ['kim@customer.example']])
})

const HELD = `data:image/png;base64,${PNG.toString('base64')}`

test('pictures that a text holds itself become files of its message, once', async () => {
  const { admin, id } = await createOrganization()
  const into = newFolder()
  fs.writeFileSync(path.join(into, 'manual.txt'), 'manual')
  const image = `<img src="${HELD}">`
  const attachments = [{ url: 'manual.txt', filename: 'manual.txt' }]
  const said = { ticket_id: 't', created_at: '2020-02-03T04:05:06Z' }
  const team = { ...said, external_id: 'm:1', direction: 'outbound', body: `<p>a${image}${image}</p>`, attachments }
  const messages = [
    team,
    { ...said, external_id: 'm:2', direction: 'inbound', channel: 'email', body: 'b', body_html: `<p>b${image}</p>` },
    { ...said, external_id: 'm:3', direction: 'outbound', format: 'text', body: image },
  ]
  const tickets = [{ external_id: 't', subject: 'Fire', contact_id: null, description: `<p>It burns ${image}</p>` }]
  writeRows(into, { tickets, messages })
  const brought = await importHere(into, id, env)
  expect(brought.numbers).toMatchObject({ tickets: { created: 1, failed: 0 }, messages: { created: 3, failed: 0 } })
  const read = async () => {
    const [{ id }] = (await admin.get('/tickets')).body.data
    return (await admin.get(`/tickets/${id}/messages`)).body.data
  }
  const named = (await read()) as { body: string; body_html: string; attachments: { id: string; filename: string }[] }[]
  const of = (words: string) => named.find(({ body }) => body.includes(words))!
  const [first, mail, description] = [of('<p>a'), named.find(({ body }) => body === 'b')!, of('burns')]
  const picture = first.attachments[1]!
  expect(first.body).toBe(`<p>a<img src="cid:${picture.id}"><img src="cid:${picture.id}"></p>`)
  expect(first.attachments.map(({ filename }) => filename)).toEqual(['manual.txt', expect.stringContaining('.png')])
  expect(description.body).toBe(`<p>It burns <img src="cid:${description.attachments[0]!.id}"></p>`)
  expect(mail.attachments).toHaveLength(1)
  for (const { body_html } of [first, mail, description]) {
    const [, src = ''] = / src="([^"]*)"/.exec(body_html) ?? []
    const answer = await api().handle(new Request(src.replaceAll('&amp;', '&')))
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(PNG)
  }
  expect(of('data:')).toMatchObject({ body: image, attachments: [] })

  // A changed line keeps the file, and brings what is new.
  const other = Buffer.from('another picture').toString('base64')
  const body = `<p>c${image}<img src="data:image/gif;base64,${other}"></p>`
  writeRows(into, { tickets, messages: [{ ...team, body }, ...messages.slice(1)] })
  const again = await importHere(into, id, env)
  expect(again.numbers.messages).toMatchObject({ updated: 1, unchanged: 2, conflicts: 0, failed: 0 })
  const changed = ((await read()) as typeof named).find(({ body }) => body.startsWith('<p>c'))!
  expect(changed.attachments.map(({ id }) => id).slice(0, 2)).toEqual(first.attachments.map(({ id }) => id))
  expect(changed.body).toBe(`<p>c<img src="cid:${picture.id}"><img src="cid:${changed.attachments[2]!.id}"></p>`)
  fs.rmSync(into, { recursive: true })
})
