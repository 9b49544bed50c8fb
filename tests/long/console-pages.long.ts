/** What every page beside the inbox must be: without faults of axe, in both languages, on a phone, with any names. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { faultsOf } from '../support/axe'
import { EICAR, startClamd, type TestClamd } from '../support/clamd'
import { leave, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'

/** A name that would run a script, or push the page aside, if it were more than text. */
const HOSTILE = `<img src=x onerror=alert(1)><script>alert(2)</script>\u202e${'x'.repeat(120)}`

const PAGES = [
  ...['contacts', 'companies', 'time', 'time/report', 'time/timers', 'reports'],
  ...['start', 'account', 'factor', 'sessions', 'labels', 'macros', 'views', 'mailboxes', 'domains', 'inbound'].map(
    (name) => `settings/${name}`,
  ),
  ...[
    'outbound',
    'senders',
    'organization',
    'people',
    'signin',
    'keys',
    'webhooks',
    'retention',
    'imports',
    'audit',
  ].map((name) => `settings/${name}`),
]

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('every page', () => {
  let desk: StartedConsole
  let clamd: TestClamd
  let subject: string
  const ones: string[] = []
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await desk.service().call(method, path, body)
    expect([path, answer.status < 300]).toEqual([path, true])
    return answer.body.data
  }

  beforeAll(async () => {
    clamd = await startClamd()
    desk = await startConsole(() => ({ CLAMD_HOST: clamd.place }))
    subject = await desk.mail('Looked at on every page')
    const notes = HOSTILE
    const company = await call('POST', '/companies', {
      name: HOSTILE,
      domains: ['evil.example'],
      notes,
      custom: { x: HOSTILE },
    })
    const contact = await call('POST', '/contacts', {
      name: HOSTILE,
      email: 'm@evil.example',
      notes,
      custom: { x: HOSTILE },
    })
    const label = await call('POST', '/labels', { name: HOSTILE.slice(0, 60), color: '#EF4444', description: HOSTILE })
    const ticket = await call('POST', '/tickets', { subject: HOSTILE, contact_id: contact.id, label_ids: [label.id] })
    await call('POST', `/tickets/${ticket.id}/time-entries`, { duration_minutes: 60, description: HOSTILE, rate: 10 })
    await call('POST', `/tickets/${ticket.id}/timer/start`, { description: HOSTILE })
    await call('POST', '/macros', { name: HOSTILE, body: HOSTILE, changes: { status: 'pending' } })
    await call('POST', '/views', { name: HOSTILE, filter: { search: HOSTILE.slice(0, 100) } })
    await call('POST', '/users', { name: HOSTILE, email: 'mallory@evil.example', password: 'a long password' })
    await call('POST', '/api-keys', { name: HOSTILE, permissions: ['*:read'] })
    await call('POST', '/domains', { domain: 'desk.example' })
    await call('POST', '/sender-rules', { sender: 'spam.example', action: 'block' })
    await call('PATCH', '/retention', {
      rules: [{ status: 'closed', days: 9, action: 'erase', company_ids: [company.id] }],
    })
    const hook = await call('POST', '/webhooks', { url: 'https://127.0.0.1:1/hook', events: ['ticket.created'] })
    ones.push(`contacts/${contact.id}`, `companies/${company.id}`, `settings/webhooks/${hook.id}`)
  })
  afterAll(async () => {
    await desk.stop()
    clamd[Symbol.dispose]()
    expect(desk.faults).toEqual([])
  })

  test('has no fault of axe, in light and in dark', async () => {
    // Nothing moves, so that colours are final at once.
    const page = await desk.open({ reducedMotion: 'reduce' })
    const faults: string[] = []
    for (const path of [...PAGES, ...ones]) {
      await visit(page, path)
      faults.push(...(await faultsOf(page)).map((fault) => `${path}: ${fault}`))
    }
    expect(faults).toEqual([])
    await leave(page)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.context().close()
  })

  test.each([
    ['contacts', 'New contact'],
    ['settings/mailboxes', 'Add a mailbox'],
    ['settings/webhooks', 'Add a webhook'],
    ['settings/keys', 'Make a key'],
    ['settings/macros', 'Add a macro'],
  ])('has no fault of axe with its form: %s', async (path, button) => {
    const page = await desk.open({ reducedMotion: 'reduce' })
    await visit(page, path)
    await page.getByRole('button', { name: button }).click()
    expect(await faultsOf(page)).toEqual([])
    await page.context().close()
  })

  test('shows the customer beside the ticket without a fault of axe', async () => {
    const page = await desk.open({ reducedMotion: 'reduce' })
    await openTicket(page, subject)
    await page.getByRole('region', { name: 'Customer' }).getByText('Fields of the ticket').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.context().close()
  })

  test('names a file with a virus, and does not offer it', async () => {
    const [mailbox] = await call('GET', '/mailboxes')
    const raw = [
      'From: mallory@evil.example',
      'Subject: With a virus',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      '',
      'See the file',
      '--b',
      'Content-Type: text/plain; name=eicar.txt',
      'Content-Disposition: attachment; filename=eicar.txt',
      '',
      EICAR,
      '--b--',
      '',
    ].join('\r\n')
    const { url, token } = desk.service()
    await fetch(`${url}/api/v1/inbound-messages?mailbox_id=${mailbox.id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token()}`, 'content-type': 'message/rfc822' },
      body: raw,
    })
    const page = await desk.open()
    await openTicket(page, 'With a virus')
    await page.getByText('a virus was found').waitFor()
    expect(await page.getByRole('link', { name: 'eicar.txt' }).count()).toBe(0)
    await page.context().close()
  })

  test('speaks German, and says nothing in English', async () => {
    const page = await desk.open({ locale: 'de-DE' })
    for (const path of PAGES) {
      await visit(page, path)
      const words = await page.locator('#content').textContent()
      expect([path, words!.match(/\b(Delete|Edit|Add|Save|Search|Since|Until|Actions|There is no)\b/)]).toEqual([
        path,
        null,
      ])
    }
    await page.context().close()
  })

  test('fits a phone, whatever names say', async () => {
    const page = await desk.open({ viewport: { width: 390, height: 844 } })
    for (const path of [...PAGES, ...ones]) {
      await visit(page, path)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect([path, wide]).toEqual([path, 0])
    }
    await page.context().close()
  })
})

/** Opens a page, and waits until all is read. */
async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((path) => {
    location.hash = location.hash.replace(/^(#\/[^/]+).*/, `$1/${path}`)
  }, path)
  await page.locator('#content h1, #content [role=alert]').first().waitFor()
  await page.waitForFunction(() => !document.querySelector('#content .skeleton'))
}
