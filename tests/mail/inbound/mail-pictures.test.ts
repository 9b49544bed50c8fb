/** Pictures of mail: those of its ticket that it names, and those that it holds itself. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { sanitizeEmailHtml } from '../../../src/base/html/body'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { api } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, createTicket, formOf } from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const HELD = `data:image/png;base64,${PNG.toString('base64')}`

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

type File = { id: string; url: string; filename: string }

async function attach(ticket_id: string, fields: object = {}, client = desk.agent): Promise<File> {
  const image = (await client.post('/attachments', formOf(new Uint8Array(PNG), 'fire.png', 'image/png'))).body.data
  await createMessage(client, ticket_id, { body: 'See', attachment_ids: [image.id], send_email: false, ...fields })
  return image
}

const imagesOf = (html: string) =>
  [...html.matchAll(/<img ((?:data-)?src)="([^"]*)"/g)].map(([, name, src]) => [name, src])

async function works(html: string): Promise<Buffer[]> {
  return Promise.all(
    imagesOf(html).map(async ([, src]) => {
      const answer = await api().handle(new Request(src!.replaceAll('&amp;', '&')))
      return answer.ok ? Buffer.from(await answer.arrayBuffer()) : Buffer.from(`${answer.status}`)
    }),
  )
}

/** Brings mail in HTML, as an answer when it names a ticket. @returns the message */
async function bring(html: string, ticket_id?: string, more: Record<string, string> = {}) {
  const header = {
    From: 'Carla <carla@customer.example>',
    To: ticket_id ? replyAddress(desk.address, ticket_id) : desk.address,
    Subject: 'Hello',
    Message_ID: `<${newId()}@customer.example>`,
    Content_Type: 'text/html; charset=utf-8',
    ...more,
  }
  const { id } = await importMail(desk.admin, desk.mailbox_id, rawMail(header, html))
  await drain()
  const row = (await desk.admin.get(`/inbound-messages/${id}`)).body.data
  const { messages } = await readTicket(desk.agent, row.ticket_id)
  return { ...messages.at(-1), ticket_id: row.ticket_id }
}

test('a reply shows pictures of public messages of its ticket, which it did not bring again', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await attach(id)
  for (const src of [`cid:${image.id}@deskwire`, `cid:${image.id}`, image.url.replaceAll('&', '&amp;')]) {
    const message = await bring(`<p>As here: <img src="${src}"></p>`, id)
    expect(message.ticket_id).toBe(id)
    expect([await works(message.body_html), message.attachments]).toEqual([[PNG], []])
  }
})

test('a reply shows a picture by the Content-ID that the customer gave it', async () => {
  const page = '--b\r\nContent-Type: text/html\r\n\r\n<p>See</p><img src="cid:Fire@x">\r\n'
  const picture = `--b\r\nContent-Type: image/png\r\nContent-ID: <fire@x>\r\nContent-Transfer-Encoding: base64\r\n\r\n${PNG.toString('base64')}\r\n--b--`
  const first = await bring(`${page}${picture}`, undefined, { Content_Type: 'multipart/related; boundary=b' })
  const reply = await bring('<p>Again</p><img src="cid:fire@x">', first.ticket_id)
  expect([await works(reply.body_html), reply.attachments]).toEqual([[PNG], []])
  const answer = await createMessage(desk.agent, first.ticket_id, { body: '<p>Yes: <img src="cid:fire@x"></p>' })
  expect(answer.body).toBe(`<p>Yes: <img src="cid:${first.attachments[0].id}"></p>`)
  await drain()
  const sent = await simpleParser(desk.sink.messages.at(-1)!.raw)
  expect(sent.attachments.map(({ contentDisposition }) => contentDisposition)).toEqual(['inline'])
})

test('mail never shows a picture of a note, an upload, another ticket or organization', async () => {
  const [{ id }, other] = [await createTicket(desk.agent), await createTicket(desk.agent)]
  const foreign = await desk.createDesk()
  const theirs = await attach((await createTicket(foreign.agent)).id, {}, foreign.agent)
  const upload = (await desk.agent.post('/attachments', formOf(new Uint8Array(PNG), 'a.png', 'image/png'))).body.data
  for (const image of [await attach(id, { is_internal: true }), await attach(other.id), upload, theirs]) {
    for (const src of [`cid:${image.id}@deskwire`, `cid:${image.id}`, image.url]) {
      const message = await bring(`<p>a<img src="${src}"></p>`, id)
      const plain = image.url.split('?')[0]
      expect([message.attachments, imagesOf(message.body_html)]).toEqual([
        [],
        src.startsWith('cid:') ? [] : [['data-src', plain]],
      ])
    }
    const first = await bring(`<p>a<img src="cid:${image.id}"><img src="${image.url}"></p>`)
    expect(imagesOf(first.body_html)).toEqual([['data-src', image.url.split('?')[0]]])
  }
})

test('a picture of a note that the team has shown in public may be shown', async () => {
  const { id } = await createTicket(desk.agent)
  const image = await attach(id, { is_internal: true })
  await createMessage(desk.agent, id, { body: `<p>a<img src="cid:${image.id}"></p>` })
  expect(await works((await bring(`<p>a<img src="cid:${image.id}@deskwire"></p>`, id)).body_html)).toEqual([PNG])
})

test('a picture that the mail holds itself becomes a file, and the words behind it stay', async () => {
  const large = Buffer.alloc(3_000_000, 'a picture')
  const held = `data:image/jpeg;base64,${large.toString('base64')}`
  const html = `<p>Before</p><img src="${held}"><img alt='x' src='${HELD}'><img src="${HELD}"><p>Behind</p>`
  const message = await bring(html)
  expect(message.attachments.map(({ filename, size }: { filename: string; size: number }) => [filename, size])).toEqual(
    [
      ['image-1.jpeg', large.length],
      ['image-2.png', PNG.length],
    ],
  )
  expect(message.body_html).toContain('Behind')
  expect(message.body).toContain('Behind')
  const shown = await works(message.body_html)
  expect(shown.map((bytes) => bytes.length)).toEqual([large.length, PNG.length, PNG.length])
  expect(sanitizeEmailHtml(html)).toContain('data:')
})

test('a thousand held pictures make 200 files, and a drawing runs nothing', async () => {
  const pictures = Array.from({ length: 1000 }, (_, n) => `<img src="data:image/png;base64,${btoa(`picture ${n}`)}">`)
  const svg = encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  const message = await bring(`<p>a</p><img src="data:image/svg+xml,${svg}">${pictures.join('')}<p>Behind</p>`)
  expect(message.attachments.length).toBe(200)
  expect(message.attachments[0].content_type).toBe('image/svg+xml')
  expect(message.body_html).toContain('Behind')
  expect(message.body_html).not.toContain('script')
})
