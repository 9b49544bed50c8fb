/** Hostile HTML sent by the API and by email, then opened in a browser. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { dropUnknownImages, renderBody, sanitizeEmailHtml as sanitize } from '../../../src/base/html/body'
import { viewHtml } from '../../../src/base/html/view'
import { parseMail } from '../../../src/mail/parse/parse'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createMessage, insertTicket } from '../../support/factories'
import { startViewer, type Viewer, type Way, whyNoViewer } from '../../support/html-viewer'
import { createMailbox, importMail, rawMail, readTicket } from '../../support/mail'
import { VECTORS } from '../../xss/vectors'

/** Busy machines take their time to show all of them. */
const TIMEOUT_MS = 180_000
const PER_PAGE = 70

const reason = whyNoViewer()
if (reason) console.warn(`Hostile messages are not looked at in a browser: ${reason}`)

/** The same functions as behind a message create and behind an inbound email. */
const DOORS = {
  'the API': async (html: string) => view(renderBody(asBody(html), 'html').body_html, 'as written'),
  email: async (html: string) => view(dropUnknownImages((await parseMail(mailOf(html))).body_html), 'wait'),
}

/** URLs that a message of each door may load. */
const LOADS = { 'the API': 'https images', email: 'nothing' } as const

describe('hostile HTML', () => {
  test('is at hand in sufficient variety', () => {
    expect(new Set(VECTORS).size).toBe(VECTORS.length)
    expect(VECTORS.length).toBeGreaterThan(500)
  })

  test.each(VECTORS)('%j keeps nothing of its own', (vector) => {
    const once = sanitize(vector)
    expect(withoutKnown(once)).not.toMatch(/[<>]/)
    expect(sanitize(once)).toBe(once)
    const body = renderBody(asBody(vector), 'html').body_html
    expect(renderBody(body, 'html').body_html).toBe(body)
  })

  test('cut into pieces and put together again it keeps nothing of its own either', () => {
    const piece = fc
      .tuple(fc.constantFrom(...VECTORS), fc.nat(200), fc.nat(200))
      .map(([vector, start, length]) => vector.slice(start % vector.length).slice(0, length + 1))
    fc.assert(
      fc.property(fc.array(piece, { minLength: 2, maxLength: 6 }), (pieces) => {
        const once = sanitize(pieces.join(''))
        expect(withoutKnown(once)).not.toMatch(/[<>]/)
        expect(sanitize(once)).toBe(once)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('hostile HTML through the real doors', () => {
  const some = VECTORS.filter((vector, index) => index % 16 === 0 && !/\0/.test(vector))
  let organization: Organization

  beforeAll(async () => {
    await startApi()
    organization = await createOrganization()
  })
  afterAll(() => stopApi())

  test('is answered as the functions render it', async () => {
    const { agent, admin, scope } = organization
    const ticket = await insertTicket(scope)
    const mailbox = await createMailbox(admin)
    for (const vector of some) {
      const { body_html } = await createMessage(agent, ticket.id, {
        body: asBody(vector),
        format: 'html',
        is_internal: true,
      })
      expect(body_html).toBe(await DOORS['the API'](vector))
      const { ticket_id } = await importMail(admin, mailbox.id, mailOf(vector))
      expect((await readTicket(agent, ticket_id)).messages[0].body_html).toBe(await DOORS.email(vector))
    }
  })
})

describe.skipIf(reason !== undefined)('hostile HTML in a browser', () => {
  let viewer: Viewer

  beforeAll(async () => {
    viewer = await startViewer(TIMEOUT_MS)
  })
  afterAll(() => viewer[Symbol.asyncDispose]())

  test.each<Way>(['served', 'inserted'])('runs nothing, loads nothing and covers nothing: %s', async (way) => {
    const seen = new Set<string>()
    for (const door of ['email', 'the API'] as const) {
      const rendered = new Set(await Promise.all(VECTORS.map(DOORS[door])))
      const messages = [...rendered].filter((message) => !seen.has(message))
      for (const message of messages) seen.add(message)
      for (let start = 0; start < messages.length; start += PER_PAGE) {
        const some = messages.slice(start, start + PER_PAGE)
        const faults = await viewer.look(some, way, LOADS[door])
        expect(faults.map(({ what, message = -1 }) => [what, some[message]])).toEqual([])
      }
    }
  })

  test('loads the https images of the team and nothing else', async () => {
    const sources = ['https://x.example/a.png', 'http://x.example/b.png', 'cid:c', '/d.png', 'ftp://x.example/e.png']
    const message = await DOORS['the API'](sources.map((src) => `<img src="${src}">`).join(''))
    const faults = await viewer.look([message], 'inserted')
    expect(faults.map(({ what }) => what).filter((what) => what.startsWith('requests'))).toEqual([
      'requests https://x.example/a.png',
    ])
    expect(await viewer.look([message], 'inserted', 'https images')).toEqual([])
  })

  test.each<[string, string, Way, RegExp]>([
    ['a script', '<script>hit()</script>', 'served', /runs code/],
    ['a dialog', '<img src=data:, onerror=alert(1)>', 'inserted', /dialog/],
    ['a line in the console', '<script>console.log(1)</script>', 'served', /logs 1/],
    ['a remote image', '<img src=https://evil.example/a.gif>', 'inserted', /requests https:\/\/evil.example\/a.gif/],
    ['a remote style', '<style>@import "https://evil.example/a.css"</style>', 'inserted', /requests https/],
    ['a refresh', '<meta http-equiv=refresh content="0;url=https://evil.example/">', 'served', /requests|navigates/],
    ['another base', '<base href=https://evil.example/>', 'inserted', /changes the document/],
  ])('would be seen to do harm: %s', async (_, html, way, expected) => {
    expect((await viewer.look([html], way)).map(({ what }) => what).join('\n')).toMatch(expected)
  })

  test('would be seen to do harm: addresses, handlers, and what covers the page', async () => {
    const harmful: [html: string, expected: RegExp][] = [
      ['<a href=javascript:hit()>x</a>', /links to javascript/],
      ['<p onclick=hit()>x</p>', /has the attribute onclick/],
      ['<p style="background:var(--x)">x</p>', /has the style background/],
      ['<form>x</form>', /has the element FORM/],
      ['<p style="position:relative;margin:-300px;height:600px">x</p>', /covers the button left/],
      [`<pre style="margin:0">${'x'.repeat(200)}</pre>`, /covers the button right/],
      ['<p style="width:9999px">x</p>', /sticks out/],
      ['<p style="font-size:999px;line-height:1px">x</p>', /sticks out/],
      ['<style>.left{width:99px!important}</style>', /changes the button left/],
      ['<style>.right{margin-right:9px}</style>', /moves the button right/],
      ['</div></section>x', /leaves its place/],
    ]
    const faults = await viewer.look(
      harmful.map(([html]) => html),
      'served',
    )
    for (const [index, [, expected]] of harmful.entries()) {
      const own = faults.filter(({ message }) => message === index).map(({ what }) => what)
      expect(own.join('\n')).toMatch(expected)
    }
  })
})

function view(html: string, remote: 'wait' | 'as written'): string {
  return viewHtml(html, () => undefined, remote)
}

/** With an element of the allow-list, so that it is not taken for plain text. */
function asBody(html: string): string {
  return `<b>x</b>${html}`
}

function mailOf(html: string): Buffer {
  const fields = {
    From: 'carla@customer.example',
    Message_ID: `<${crypto.randomUUID()}@customer.example>`,
    Content_Type: 'text/html; charset=utf-8',
    Content_Transfer_Encoding: 'base64',
  }
  return rawMail(fields, Buffer.from(html).toString('base64'))
}

/** The rest of the HTML without elements and attributes of the allow-list, which are always written in the same way. */
function withoutKnown(html: string): string {
  const links = ' href="(?:https?://|mailto:|tel:)[^"<>]*" rel="noopener noreferrer nofollow" target="_blank"'
  const images =
    ' (?:data-src="(?:https?://|cid:)|src="https://|src="data:image/(?:png|jpe?g|gif|webp);base64,)[^"<>]*"'
  const others =
    ' (?:style|dir|lang|align|title|alt|width|height|referrerpolicy|loading|border|cellpadding|cellspacing|bgcolor|valign|colspan|rowspan|span|color|face|size|start|type|datetime)="[^"<>]*"'
  return html.replace(new RegExp(`</?[a-z][a-z0-9]*(?:${links}|${images}|${others})*(?: /)?>`, 'gi'), '')
}
