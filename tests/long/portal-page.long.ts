/** The page of the guide, in a browser, from another origin than the service. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { startConsole, whyNoConsole } from '../support/console'

const PAGE = path.join(import.meta.dir, '../../src/guide/operate/portal.html')

const reason = whyNoConsole()
if (reason) console.warn(`The page of the guide is not looked at: ${reason}`)

test.skipIf(reason !== undefined)(
  'a customer opens and answers a ticket on the page of the guide, which no other origin can use',
  async () => {
    const desk = await startConsole()
    try {
      const service = desk.service()
      const contact = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
      const contact_id = contact.body.data.id
      let made = 0
      using site = serveSite(service.url, async () => {
        made++
        const { body } = await service.call('POST', `/contacts/${contact_id}/tokens`, { ttl_seconds: 60 })
        return body.data.token
      })
      const origin = `http://127.0.0.1:${site.port}`
      await service.call('PATCH', '/organization', { portal_origins: [origin] })
      const page = await (await desk.profile()).newPage()
      await page.goto(origin)
      await page.fill('[name=subject]', 'Printer <b>on fire</b>')
      await page.fill('[name=body]', 'It burns')
      await page.click('text=Send')
      await page.locator('#tickets li', { hasText: 'Printer <b>on fire</b> (open)' }).waitFor()
      await page.locator('article', { hasText: 'It burns' }).waitFor()
      const [ticket] = (await service.call('GET', '/tickets')).body.data
      await service.call('POST', `/tickets/${ticket.id}/messages`, { body: 'Have you tried water?', send_email: false })
      await service.call('POST', `/tickets/${ticket.id}/messages`, { body: 'A note', is_internal: true })
      // The page asks for another token when its own has ended.
      await service.call('DELETE', `/contacts/${contact_id}/tokens`)
      await page.fill('[name=body]', 'Yes')
      await page.click('text=Send')
      await page.locator('article', { hasText: 'Yes' }).waitFor()
      expect(await page.locator('article').allInnerTexts()).toEqual([
        expect.stringContaining('It burns'),
        expect.stringContaining('Have you tried water?'),
        expect.stringContaining('Yes'),
      ])
      expect(made).toBe(2)
      const elsewhere = await (await desk.profile()).newPage()
      await elsewhere.goto(`http://localhost:${site.port}`)
      await elsewhere.locator('#fault', { hasText: /./ }).waitFor()
      expect(await elsewhere.locator('#tickets li').count()).toBe(0)
    } finally {
      await desk.stop()
    }
  },
  480_000,
)

/** The site of the customer's company: the page of the guide, and the tokens that it asks for. */
function serveSite(service_url: string, makeToken: () => Promise<string>) {
  const html = readFileSync(PAGE, 'utf8')
  const shown = html.replace('https://desk.example', service_url)
  expect(shown).not.toBe(html)
  return Bun.serve({
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === '/support-token') return new Response(await makeToken())
      return new Response(shown, { headers: { 'content-type': 'text/html' } })
    },
  })
}
