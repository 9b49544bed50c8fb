/** Long bodies: rendered beside the service, and kept within limits, without a lost word. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { renderBody, textToHtml } from '../../../src/base/html/body'
import { closeRenderer, render } from '../../../src/base/html/render'
import { parseMail } from '../../../src/mail/parse/parse'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createMessage, createTicket } from '../../support/factories'

beforeAll(() => startApi())
afterAll(async () => {
  await closeRenderer()
  await stopApi()
})

const MOST = 1_000_000
const MOST_HTML = 2_000_000
const REST = '[The rest is in the plain text of this message]'
const filled = (unit: string) => unit.repeat(Math.ceil(MOST / unit.length)).slice(0, MOST)

const LONG = {
  text: filled('Hello there, my order did not arrive yet. See https://shop.example/?a=1&b=2\n'),
  HTML: filled('<p>Dear <b>you</b>, <a href="https://shop.example/x">see</a> this.</p>\n'),
}

test.each(Object.entries(LONG))(
  'a long body of %s is rendered beside the service, as a short one is in it',
  async (_, body) => {
    let turns = 0
    const ticking = setInterval(() => turns++, 1)
    const rendered = await render(body, undefined, 'a')
    clearInterval(ticking)
    expect(turns).toBeGreaterThan(3)
    expect(rendered).toEqual(renderBody(body))
  },
)

test('a body that takes too long is kept as plain text', async () => {
  const { body_html, text } = await render(LONG.HTML, undefined, 'a', { timeout_ms: 1 })
  expect(text).toBe(LONG.HTML)
  expect(body_html).toStartWith('<div style="white-space: pre-wrap">&lt;p&gt;Dear &lt;b&gt;you')
  expect(body_html).toEndWith('</div>')
})

describe('a million characters', () => {
  test.each(['"', '\n', 'a\n', 'a "b" ', 'http://a.b/c '])(
    'of %j take two million of HTML at most, and lose none',
    (unit) => {
      const body = filled(unit)
      const { body_html, text } = renderBody(body)
      expect(body_html.length).toBeLessThanOrEqual(MOST_HTML)
      expect(body_html).not.toContain(REST)
      expect(renderBody(body_html, 'html').text.replace(/\s+/g, '')).toBe(text.replace(/\s+/g, ''))
    },
  )

  test.each(['&', '<', '>&'])('of %j alone are cut where they say so', (unit) => {
    const { body_html, text } = renderBody(filled(unit))
    expect(body_html.length).toBeLessThanOrEqual(MOST_HTML)
    expect(body_html).toEndWith(`</div>\n<p>${REST}</p>`)
    expect(text).toBe(filled(unit))
  })

  test.each(['<b>&lt;', '<a href=http:x>y', '<img src="https://a.b/c">', '<ul><li>a'])('of %j take no more', (unit) => {
    expect(renderBody(filled(unit), 'html').body_html.length).toBeLessThanOrEqual(MOST_HTML)
  })

  test('of mail take no more', async () => {
    const mail = (type: string, body: string) => Buffer.from(`From: a@b.example\nContent-Type: ${type}\n\n${body}`)
    const page = await parseMail(mail('text/html', `<p>${filled('&amp;&quot;<br>').slice(4)}`))
    const plain = await parseMail(mail('text/plain', filled('"')))
    for (const { body_html, text } of [page, plain]) {
      expect(body_html.length).toBeLessThanOrEqual(MOST_HTML)
      expect(text.length).toBeGreaterThan(MOST / 20)
    }
    expect(plain.body_html).not.toBe(textToHtml(plain.text))
  })

  test('that end within a character outside of the basic plane are cut before it', () => {
    const { body_html } = renderBody(`&${'😀&'.repeat(MOST / 3)}${filled('&').slice(MOST / 3 + 1)}`)
    expect(body_html.isWellFormed()).toBe(true)
  })
})

test('a long message and a long description keep every word, and are found by the last one', async () => {
  const { agent } = await createOrganization()
  const description = `${LONG.text.slice(0, 30_000)} zanzibar`
  const ticket = await createTicket(agent, { description })
  const body = `${LONG.HTML.slice(0, 700)}${'<p>word</p>'.repeat(2000)}<p>timbuktu</p>`
  const message = await createMessage(agent, ticket.id, { body, send_email: false })
  expect([message.body, message.body_html]).toEqual([body, expect.stringContaining('<p>timbuktu</p>')])
  const { messages } = (await agent.get(`/tickets/${ticket.id}`)).body.data
  expect(messages[0].body).toBe(description)
  for (const search of ['zanzibar', 'timbuktu']) {
    expect((await agent.get(`/tickets?search=${search}`)).body.meta.total).toBe(1)
  }
})

test.each([' ', '<p>&nbsp;</p>', '<b> </b>'])(
  'a long message of %j is EMPTY_BODY, and such a description is none',
  async (unit) => {
    const { agent } = await createOrganization()
    const body = unit.repeat(20_000)
    const ticket = await createTicket(agent, { description: body })
    const answer = await agent.post(`/tickets/${ticket.id}/messages`, { body })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'EMPTY_BODY'])
    expect(answer.body.error.details.errors).toEqual([{ path: '/body', message: 'must have text or an image' }])
    expect((await agent.get(`/tickets/${ticket.id}/messages`)).body.data).toEqual([])
  },
)
