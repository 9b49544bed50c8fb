/** Addresses of attachments in events: they work whenever an event is read or sent, and nothing else of it changes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { attachmentUrl } from '../../../src/base/attachment-url'
import { freshBody } from '../../../src/delivery/webhooks/fresh-urls'
import { api, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { openReader } from '../../support/event-reader'
import { createContact, createMessage, createTicket, uploadFile } from '../../support/factories'
import { createWebhook, deliverDue, deliveriesOf, emit, makeDue, startTrustedReceiver } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

type Data = { id: string; attachments: { id: string; url: string }[]; body: string; body_html: string }

const HOURS_AGO = 2 * 3_600_000
const SIGNED = /https?:[^"\s\\]*\/attachments\/([0-9a-f-]{36})\/content\?organization=[^"\s\\]*/g
const signed = (text: string) => [...text.matchAll(SIGNED)].map(([url]) => url.replaceAll('&amp;', '&'))
const unsigned = (text: string) => text.replace(/\?organization=[^"\\]*/g, '')

async function statusesAt(urls: string[]): Promise<number[]> {
  return Promise.all(urls.map(async (url) => (await api().handle(new Request(url))).status))
}

/** Makes the events of an organization those of two hours ago. */
async function grow(old: Organization): Promise<void> {
  const { sql, organization_id } = old.scope
  const rows = await sql<{ id: string; body: string }[]>`
    select id, body from events where organization_id = ${organization_id}`
  for (const { id, body } of rows) {
    const aged = body.replace(SIGNED, (url, attachment_id) => {
      const made = attachmentUrl(organization_id, attachment_id, Date.now() - HOURS_AGO)
      return url.includes('&amp;') ? made.replaceAll('&', '&amp;') : made
    })
    await sql`update events set body = ${aged} where organization_id = ${organization_id} and id = ${id}`
  }
}

/** A message with a file and a picture, told two hours ago. */
async function tell(organization: Organization): Promise<{ message: Data; ticket_id: string }> {
  const { admin } = organization
  const { id: ticket_id } = await createTicket(admin, { contact_id: (await createContact(admin)).id })
  const [file, picture] = [await uploadFile(admin), await uploadFile(admin, 'image', 'fire.png')]
  const body = `<p>See <img src="cid:${picture.id}"></p>`
  const message = await createMessage(admin, ticket_id, { body, attachment_ids: [file.id] })
  await grow(organization)
  return { message, ticket_id }
}

test('attempts, retries by hand, replays and all readers get addresses that work', async () => {
  using receiver = await startTrustedReceiver(500)
  const own = await createOrganization()
  const webhook = await createWebhook(own.admin, { url: receiver.url, events: ['message.created'], secret: 'a secret' })
  const { message } = await tell(own)
  await deliverDue()
  await makeDue(own.scope)
  receiver.answer = 200
  await deliverDue()
  const [delivery] = await deliveriesOf(own.admin, webhook.id)
  expect([delivery.status, delivery.attempts]).toEqual(['success', 2])
  await own.admin.post(`/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`)
  const since = new Date(Date.now() - 60_000).toISOString()
  expect((await own.admin.post(`/webhooks/${webhook.id}/replay`, { since, only: 'all' })).body.data.queued).toBe(1)
  await deliverDue()
  expect(receiver.requests).toHaveLength(4)
  for (const request of receiver.requests) {
    expect(receiver.verify(request, 'a secret')).toBe(true)
    expect(await statusesAt(signed(Buffer.from(request.body).toString()))).toEqual([200, 200, 200])
  }
  const { data: sent } = receiver.requests[0]!.json()
  expect(unsigned(JSON.stringify({ ...sent, ticket: undefined }))).toBe(unsigned(JSON.stringify(message)))

  const { request_body } = (await own.admin.get(`/webhooks/${webhook.id}/deliveries/${delivery.id}`)).body.data
  expect(await statusesAt(signed(request_body))).toEqual([200, 200, 200])
  const listed = await own.admin.get('/events?types=message.created')
  expect(await statusesAt(signed(listed.text))).toEqual([200, 200, 200])
  await using reader = await openReader(own.admin, 'start=oldest&types=message.created')
  const events = await reader.next(2)
  const told = events.find(({ event }) => event === 'message.created')!
  expect(await statusesAt(signed(told.data!))).toEqual([200, 200, 200])
})

test('an event without files is the same bytes in each attempt, whatever its words are', async () => {
  using receiver = await startTrustedReceiver(500)
  const own = await createOrganization()
  await createWebhook(own.admin, { url: receiver.url })
  await emit(own.scope, {
    id: 'a ticket',
    subject: 'signature=1',
    2: 'two',
    1: 'one',
    amount: 1.5,
    ' ': '\u2028 \u{1f525}',
  })
  await deliverDue()
  await makeDue(own.scope)
  await deliverDue()
  const [first, second] = receiver.requests.map(({ body }) => Buffer.from(body).toString())
  const [row] = await own.scope.sql<{ body: string }[]>`
    select body from events where organization_id = ${own.id}`
  expect([first, second]).toEqual([row!.body, row!.body])
})

test('words are never signed: old addresses that somebody wrote, and pictures of others', async () => {
  const own = await createOrganization()
  const other = await createOrganization()
  const [file, foreign] = [await uploadFile(own.admin), await uploadFile(other.admin)]
  const old = attachmentUrl(own.id, file.id, Date.now() - HOURS_AGO)
  const escaped = old.replaceAll('&', '&amp;')
  const theirs = attachmentUrl(other.id, foreign.id, Date.now() - HOURS_AGO).replaceAll('&', '&amp;')
  const forged = escaped.replace(/signature=..../, 'signature=AAAA')
  const plain = escaped.split('?')[0]
  const path = `/api/v1/attachments/${file.id}/content?signature=x`
  const data = {
    body: old,
    custom: { url: old },
    url: old,
    body_html: [
      `<a href="${escaped}">${escaped}</a>`,
      ...[theirs, forged, plain, path, 'https://x.example/?signature=1'].map((src) => `<img src="${src}">`),
    ].join(''),
  }
  const body = JSON.stringify({ event: 'message.created', data })
  expect(freshBody(own.id, body)).toBe(body)
  const image = JSON.stringify({ event: 'message.created', data: { body_html: `<img data-src="${escaped}">` } })
  const [url] = signed(freshBody(own.id, image).replaceAll('\\"', '"'))
  expect(await statusesAt([url!, old])).toEqual([200, 401])
})

test('an event that an erasure emptied stays empty', () => {
  for (const data of [{ id: 'x' }, { attachments: null, body_html: null }, { attachments: [{ id: 'x' }] }, null]) {
    const body = JSON.stringify({ event: 'message.created', subject: 'signature=', data })
    expect(freshBody('an organization', body)).toBe(body)
  }
})
