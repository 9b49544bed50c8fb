/** Pictures of a text in HTML are references to attachments, on every way in and at every reading. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { simpleParser } from 'mailparser'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeStoredBytes } from '../../../src/desk/attachments/removals'
import { api, expectError } from '../../support/api'
import { createCustomer } from '../../support/customers'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket, formOf, uploadFile } from '../../support/factories'
import { drain } from '../../support/mail'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const HELD = `data:image/png;base64,${PNG.toString('base64')}`

let desk: StartedDesk

beforeEach(async () => {
  await drain()
  desk.sink.messages.length = 0
})
beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

type File = { id: string; url: string }

async function uploadImage(client = desk.agent, bytes: Uint8Array = PNG): Promise<File> {
  return (await client.post('/attachments', formOf(new Uint8Array(bytes), 'fire.png', 'image/png'))).body.data
}

const plain = ({ url }: File) => url.split('?')[0]!
/** The address as it would be after its hour, with a signature of somebody else. */
const stale = (file: File) => `${plain(file)}?organization=${newId()}&expires=1&signature=AAAA`
const imagesOf = (html: string) =>
  [...html.matchAll(/<img ((?:data-)?src)="([^"]*)"/g)].map(([, name, src]) => [name, src])
const read = async (id: string, message: { id: string }) =>
  (await desk.agent.get(`/tickets/${id}/messages/${message.id}`)).body.data

async function works(html: string): Promise<Buffer[]> {
  const srcs = imagesOf(html).map(([, src]) => src!.replaceAll('&amp;', '&'))
  return Promise.all(
    srcs.map(async (src) => {
      const answer = await api().handle(new Request(src))
      return answer.ok ? Buffer.from(await answer.arrayBuffer()) : Buffer.from(`${answer.status}`)
    }),
  )
}

async function lastMail() {
  await drain()
  const { raw } = desk.sink.messages.at(-1)!
  return {
    raw: raw.toString().replace(/=\r\n/g, '').replaceAll('=3D', '='),
    mail: await simpleParser(raw, { skipImageLinks: true }),
  }
}

test('a picture of another message of the ticket has a fresh address, whatever the signature', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await uploadImage()
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  for (const src of [stale(image), plain(image), `cid:${image.id}`, `cid:${image.id}@deskwire`, image.url]) {
    const body = `<p>As here: <img alt="fire" src="${src.replaceAll('&', '&amp;')}"></p>`
    const message = await createMessage(desk.agent, id, { body })
    expect(message.body).toBe(`<p>As here: <img alt="fire" src="cid:${image.id}"></p>`)
    expect(message.attachments).toEqual([])
    expect(await works(message.body_html)).toEqual([PNG])
    expect(await works((await read(id, message)).body_html)).toEqual([PNG])
    const listed = (await desk.agent.get(`/tickets/${id}`)).body.data.messages.at(-1)
    expect(await works(listed.body_html)).toEqual([PNG])
    const { mail, raw } = await lastMail()
    expect(mail.attachments.map(({ contentDisposition, content }) => [contentDisposition, content])).toEqual([
      ['inline', PNG],
    ])
    expect(raw).toContain(`<img src="cid:${mail.attachments[0]!.contentId!.slice(1, -1)}"`)
    expect(raw).not.toContain('/content?')
  }
})

test('a picture that stands twice is sent once, and one of the message itself stays one of its files', async () => {
  const { id } = await createTicket(desk.agent)
  const [image, own] = [await uploadImage(), await uploadImage()]
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  const body = `<p><img src="${image.url}"><img src="cid:${image.id}"><img src="${own.url}"></p>`
  const message = await createMessage(desk.agent, id, { body, attachment_ids: [own.id] })
  expect(message.attachments.map((file: File) => file.id)).toEqual([own.id])
  expect(await works(message.body_html)).toEqual([PNG, PNG, PNG])
  const { mail } = await lastMail()
  expect(mail.attachments.length).toBe(2)
})

test('an upload that only the text shows is attached', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await uploadImage()
  const message = await createMessage(desk.agent, id, { body: `<p><img src='${image.url}'></p>` })
  expect(message.body).toBe(`<p><img src='cid:${image.id}'></p>`)
  expect(message.attachments.map((file: File) => file.id)).toEqual([image.id])
  expect(await works(message.body_html)).toEqual([PNG])
})

test('one upload that two messages show at once belongs to one of them', async () => {
  const tickets = await Promise.all([createTicket(desk.agent), createTicket(desk.agent)])
  const image = await uploadImage()
  const messages = await Promise.all(
    tickets.map(({ id }) => createMessage(desk.agent, id, { body: `<p>a<img src="${image.url}"></p>` })),
  )
  const counts = messages.map(({ attachments }) => attachments.length)
  expect(counts.toSorted()).toEqual([0, 1])
  const other = messages[counts.indexOf(0)]
  expect(imagesOf(other.body_html)[0]![1]).toBe(plain(image))
})

test('pictures of other tickets, organizations and places of ours stay without their query', async () => {
  const [{ id }, other] = [await createTicket(desk.agent), await createTicket(desk.agent)]
  const image = await uploadImage()
  await createMessage(desk.agent, other.id, { body: 'See', attachment_ids: [image.id] })
  const foreign = await desk.createDesk()
  const theirs = await uploadImage(foreign.agent)
  const unknown = { ...theirs, url: theirs.url.replaceAll(theirs.id, newId()) }
  for (const file of [image, theirs, unknown]) {
    const message = await createMessage(desk.agent, id, { body: `<p>a<img src="${file.url}"></p>` })
    expect(imagesOf(message.body_html)[0]![1]).toBe(plain(file))
    expect(message.body).toBe(`<p>a<img src="${plain(file)}"></p>`)
    expect(message.attachments).toEqual([])
    const { mail, raw } = await lastMail()
    expect([mail.attachments, raw.includes('/content?')]).toEqual([[], false])
  }
  for (const { id: named } of [image, theirs]) {
    const message = await createMessage(desk.agent, id, { body: `<p>a<img src="cid:${named}"></p>` })
    expect(imagesOf(message.body_html)).toEqual([['data-src', `cid:${named}`]])
  }
  const local = `${new URL(image.url).origin}/api/v1/tickets?search=x`
  const elsewhere = 'https://pictures.example/a.png?size=2'
  const message = await createMessage(desk.agent, id, { body: `<p>a<img src="${local}"><img src="${elsewhere}"></p>` })
  expect(imagesOf(message.body_html).map(([, src]) => src)).toEqual([local.split('?')[0], elsewhere])
})

test('what has the form text, a comment and an attribute that is no address show no picture', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await uploadImage()
  const body = `<p>a<!-- <img src="${image.url}"> --><b title='<img src="${image.url}">'>b</b></p>`
  for (const given of [
    { body, format: 'html' },
    { body: `<img src="${image.url}">`, format: 'text' },
  ]) {
    const message = await createMessage(desk.agent, id, given)
    expect([message.body, message.attachments]).toEqual([given.body, []])
  }
})

test('a picture stays while a message shows it, whatever becomes of the one that brought it', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await uploadImage()
  const [first, second, third] = [
    await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] }),
    await createMessage(desk.agent, id, { body: `<p>a<img src="cid:${image.id}"></p>` }),
    await createMessage(desk.agent, id, { body: `<p>b<img src="cid:${image.id}"></p>` }),
  ]
  await desk.agent.delete(`/tickets/${id}/messages/${first.id}`)
  expect((await read(id, second)).attachments.map((file: File) => file.id)).toEqual([image.id])
  expect(await works((await read(id, third)).body_html)).toEqual([PNG])
  await desk.agent.delete(`/tickets/${id}/messages/${second.id}`)
  const { body_html, attachments } = await read(id, third)
  expect([await works(body_html), attachments.length]).toEqual([[PNG], 1])
  await desk.agent.delete(`/tickets/${id}/messages/${third.id}`)
  await removeStoredBytes(desk.scope)
  expectError(await desk.agent.get(`/attachments/${image.id}`), 404, 'ATTACHMENT_NOT_FOUND')
})

test('it stays on a ticket that was split off when the other one is deleted', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await uploadImage()
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  const quoting = await createMessage(desk.agent, id, { body: `<p>a<img src="cid:${image.id}"></p>` })
  const split = (await desk.agent.post(`/tickets/${id}/split`, { message_ids: [quoting.id] })).body.data
  expect(await works((await read(split.id, quoting)).body_html)).toEqual([PNG])
  const again = await createMessage(desk.agent, split.id, { body: `<p>b<img src="cid:${image.id}"></p>` })
  expect(await works(again.body_html)).toEqual([PNG])
  expect((await desk.agent.delete(`/tickets/${id}`)).status).toBe(204)
  expect(await works((await read(split.id, quoting)).body_html)).toEqual([PNG])
  expect((await desk.agent.get(`/attachments/${image.id}`)).status).toBe(200)
})

test('erasure takes it', async () => {
  const contact = await createContact(desk.agent)
  const { id } = await createTicket(desk.agent, { contact_id: contact.id })
  const image = await uploadImage()
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  const other = await createTicket(desk.agent)
  const quoting = await createMessage(desk.agent, id, { body: `<p>a<img src="cid:${image.id}"></p>` })
  await desk.agent.post(`/tickets/${other.id}/merge`, { source_ids: [id] })
  expect((await desk.admin.post(`/contacts/${contact.id}/erase`, {})).status).toBe(200)
  expectError(await desk.agent.get(`/attachments/${image.id}`), 404, 'ATTACHMENT_NOT_FOUND')
  expect((await read(other.id, quoting)).body_html).not.toContain(image.id)
})

test('a draft shows pictures of its ticket, takes uploads, and sends them', async () => {
  const { id } = await createTicket(desk.agent)
  const [image, upload] = [await uploadImage(), await uploadImage()]
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  const body = `<p>a<img src="${stale(image)}"><img src="${upload.url}"></p>`
  const draft = (await desk.agent.post(`/tickets/${id}/drafts`, { body })).body.data
  expect(draft.body).toBe(`<p>a<img src="cid:${image.id}"><img src="cid:${upload.id}"></p>`)
  expect(draft.attachments.map((file: File) => file.id)).toEqual([upload.id])
  expect(await works(draft.body_html)).toEqual([PNG, PNG])
  const changed = await desk.agent.patch(`/drafts/${draft.id}`, { attachment_ids: [] })
  expect(await works(changed.body.data.body_html)).toEqual([PNG, PNG])
  const listed = (await desk.agent.get(`/drafts?ticket_id=${id}`)).body.data[0]
  expect(await works(listed.body_html)).toEqual([PNG, PNG])
  const sent = (await desk.agent.post(`/drafts/${draft.id}/send`, {})).body.data
  expect([sent.body, sent.attachments.length]).toEqual([draft.body, 1])
  expect(await works(sent.body_html)).toEqual([PNG, PNG])
  expect((await lastMail()).mail.attachments.length).toBe(2)
})

test('a picture that the text holds becomes a file of the message', async () => {
  const { id } = await createTicket(desk.agent)
  const message = await createMessage(desk.agent, id, { body: `<p>a<img alt="x" src="${HELD}"><img src=${HELD}></p>` })
  const [file] = message.attachments
  expect(message.attachments).toMatchObject([{ content_type: 'image/png', size: PNG.length, filename: 'image-1.png' }])
  expect(message.body).toBe(`<p>a<img alt="x" src="cid:${file.id}"><img src="cid:${file.id}"></p>`)
  expect(await works(message.body_html)).toEqual([PNG, PNG])
  expect((await lastMail()).mail.attachments.length).toBe(1)
})

test('a picture counts by the limits of files, and not for the length of the text', async () => {
  const { id } = await createTicket(desk.agent)
  const large = Buffer.alloc(2_000_000, 7)
  const body = `<p>a<img src="data:image/gif;base64,${large.toString('base64')}"></p>`
  const message = await createMessage(desk.agent, id, { body })
  expect(message.attachments).toMatchObject([{ content_type: 'image/gif', size: large.length }])
  expectError(await desk.agent.post(`/tickets/${id}/messages`, { body, format: 'text' }), 422, 'VALIDATION_ERROR')
  const pictures = Array.from({ length: 50 }, (_, n) => `<img src="data:image/png;base64,${btoa(`picture ${n}`)}">`)
  const file = await uploadFile(desk.agent)
  const many = { body: `<p>a${pictures.join('')}</p>`, attachment_ids: [file.id] }
  const refused = await desk.agent.post(`/tickets/${id}/messages`, many)
  expectError(refused, 422, 'VALIDATION_ERROR')
  expect(refused.body.error.details.errors).toMatchObject([{ path: '/body' }])
  expect((await createMessage(desk.agent, id, { ...many, attachment_ids: [] })).attachments.length).toBe(50)
})

test('a drawing with a script is a file that runs nothing', async () => {
  const { id } = await createTicket(desk.agent)
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
  const body = `<p>a<img src="data:image/svg+xml,${encodeURIComponent(svg)}"></p>`
  const { attachments, body_html } = await createMessage(desk.agent, id, { body })
  expect(attachments).toMatchObject([{ content_type: 'image/svg+xml', size: svg.length }])
  expect(body_html).not.toContain('script')
  const answer = await api().handle(new Request(attachments[0].url))
  expect(answer.headers.get('content-security-policy')).toContain('sandbox')
  expect(answer.headers.get('content-disposition')).toContain('attachment')
})

test('a description and a draft hold pictures too', async () => {
  const upload = await uploadImage()
  const description = `<p>a<img src="${HELD}"><img src="${upload.url}"></p>`
  const { id } = await createTicket(desk.agent, { description })
  const [message] = (await desk.agent.get(`/tickets/${id}`)).body.data.messages
  expect(message.attachments.map((file: File) => file.id)).toContain(upload.id)
  expect([message.attachments.length, await works(message.body_html)]).toEqual([2, [PNG, PNG]])
  expect(message.body).not.toContain('data:')

  const draft = (await desk.agent.post(`/tickets/${id}/drafts`, { body: `<p>a<img src="${HELD}"></p>` })).body.data
  expect(draft.attachments.length).toBe(1)
  const body = `<p>b<img src="${HELD}"></p>`
  const changed = (await desk.agent.patch(`/drafts/${draft.id}`, { body })).body.data
  expect([changed.attachments, await works(changed.body_html)]).toMatchObject([
    [{ id: draft.attachments[0].id }],
    [PNG],
  ])
  const anew = (await desk.agent.patch(`/drafts/${draft.id}`, { format: 'html' })).body.data
  expect(await works(anew.body_html)).toEqual([PNG])
})

test('a refused message leaves no file behind', async () => {
  const { id } = await createTicket(desk.agent)
  const count = async () => {
    const [row] = await desk.scope.sql<{ count: number }[]>`
      select count(*) as count from attachments where organization_id = ${desk.scope.organization_id}`
    return row!.count
  }
  const before = await count()
  const body = `<p>a<img src="${HELD}"></p>`
  const refused = await desk.agent.post(`/tickets/${id}/messages`, { body, attachment_ids: [newId()] })
  expectError(refused, 422, 'ATTACHMENT_NOT_FOUND')
  expect((await desk.agent.post(`/tickets/${newId()}/messages`, { body })).status).toBe(404)
  expect(await count()).toBe(before)
})

test('the customer sees pictures of public messages, and names none', async () => {
  const { agent, admin } = await desk.createDesk()
  const customer = await createCustomer(admin)
  const { id } = await createTicket(agent, { contact_id: customer.contact.id })
  const image = await uploadImage(agent)
  await createMessage(agent, id, { body: 'See', attachment_ids: [image.id], is_internal: true })
  const body = `<p>a<img src="cid:${image.id}"></p>`
  const written = await customer.post(`/my/tickets/${id}/messages`, { body })
  expect(written.body.data.body_html).not.toContain('<img')
  await createMessage(agent, id, { body })
  const { data } = (await customer.get(`/my/tickets/${id}/messages`)).body
  expect(await works(data.at(-1).body_html)).toEqual([PNG])
})

test('ten thousand images of ours take no longer than others', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await uploadImage()
  await createMessage(desk.agent, id, { body: 'See', attachment_ids: [image.id] })
  const timed = async (srcOf: (n: number) => string) => {
    const images = Array.from({ length: 10_000 }, (_, n) => `<img src="${srcOf(n)}">`)
    const began = performance.now()
    const message = await createMessage(desk.agent, id, { body: `<p>a${images.join('')}</p>`, send_email: false })
    return { message, took_ms: performance.now() - began }
  }
  const others = await timed((n) => `https://pictures.example/${newId()}/${n}`)
  const { message, took_ms } = await timed((n) => `cid:${n % 2 ? image.id : newId()}`)
  expect(took_ms).toBeLessThan(2 * others.took_ms + 1000)
  expect(imagesOf(message.body_html).filter(([name]) => name === 'src').length).toBe(5000)
})

/** The stored bytes of this process. */
async function stored(): Promise<string[]> {
  await removeStoredBytes(connection())
  const names = await readdir(config.DATA_DIR, { recursive: true })
  return names.filter((name) => name.includes('attachments/')).sort()
}

test('a ticket of somebody who is no contact keeps the pictures of its description, and leaves none when refused', async () => {
  const description = `<p>a<img src="${HELD}"></p>`
  const email = `new.${newId()}@x.example`
  const created = await desk.agent.post('/tickets', { subject: 'Fire', contact: { email }, description })
  const [message] = (await desk.agent.get(`/tickets/${created.body.data.id}`)).body.data.messages
  expect([message.attachments.length, await works(message.body_html)]).toEqual([1, [PNG]])
  const before = await stored()
  const [{ rows }] = await connection().sql<[{ rows: number }]>`select count(*)::integer as rows from attachments`
  for (const more of [
    { contact: { email: desk.address } },
    { contact: { email }, assignee_id: newId() },
    { contact_id: newId() },
    { contact: { email }, message: { body: description, send_email: true, cc: [], attachment_ids: [newId()] } },
  ]) {
    const given = 'message' in more ? {} : { description }
    expect((await desk.agent.post('/tickets', { subject: 'Fire', ...given, ...more })).status).toBe(422)
  }
  expect(await stored()).toEqual(before)
  const [after] = await connection().sql<[{ rows: number }]>`select count(*)::integer as rows from attachments`
  expect(after.rows).toBe(rows)
})

test('changes of a draft at once lose none of its pictures', async () => {
  const { id } = await createTicket(desk.agent)
  const draft = (await desk.agent.post(`/tickets/${id}/drafts`, { body: 'a' })).body.data
  const body = `<p>b<img src="${HELD}"></p>`
  for (let round = 0; round < 12; round++) {
    const changes = [{ body }, { body, attachment_ids: [] }, ...(round % 2 ? [{ body: 'c', attachment_ids: [] }] : [])]
    const answers = await Promise.all(changes.map((one) => desk.agent.patch(`/drafts/${draft.id}`, one)))
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200))
    const { data } = (await desk.agent.get(`/drafts/${draft.id}`)).body
    if (data.body !== 'c') expect(await works(data.body_html)).toEqual([PNG])
  }
})
