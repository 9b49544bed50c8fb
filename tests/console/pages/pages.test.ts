/** The pages of the service in a browser, as an invited or forgetful person uses them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { newId } from '../../../src/base/db/columns'
import { api, createOrganization, signIn, stranger } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { lastLetterTo } from '../../support/letters'
import { drain } from '../../support/mail'
import { type ChangedSettings, withSettings } from '../../support/settings'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = `--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync`.split(/\s+/)
/** Busy machines take their time. */
const TIMEOUT_MS = 180_000

const is_there = existsSync(CHROMIUM)
if (!is_there) console.warn(`${CHROMIUM} is missing: the pages of the service are not looked at in a browser`)

let desk: StartedDesk
let server: Bun.Server<undefined>
let settings: ChangedSettings

beforeAll(async () => {
  desk = await startDesk()
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
  settings = withSettings({
    INVITATION_URL: new URL('/invitation', server.url).href,
    PASSWORD_RESET_URL: new URL('/password-reset', server.url).href,
    SYSTEM_SMTP_URL: `smtp://127.0.0.1:${desk.sink.port}`,
    SYSTEM_MAIL_FROM: { name: 'Desk', address: 'desk@operator.example' },
  })
})
afterAll(async () => {
  settings.restore()
  await server.stop(true)
  await desk.stop()
})

test.each(['/invitation', '/password-reset', '/pages/page.js', '/pages/german.js'])(
  '%s runs no script of others, is in no frame, and sends no referrer',
  async (path) => {
    const { status, headers } = await fetch(new URL(`${path}?token=x`, server.url))
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  },
)

test('each text of the pages is there in German', async () => {
  const read = async (name: string) => (await fetch(new URL(name, server.url))).text()
  const pages = (await Promise.all(['/invitation', '/password-reset'].map(read))).join()
  const scripts = (await Promise.all(['page', 'invitation', 'password-reset'].map((name) => read(`/pages/${name}.js`))))
    .join()
    .replace(/^ ?\*.*$/gm, '')
  const shown = [...pages.matchAll(/>([^<>]*\w[^<>]*)</g)].map(([, text]) => text!.trim())
  const said = [...scripts.matchAll(/(?:(?:say|tell)\(|: )'([^']+[.?}]|[A-Z][^']+)'/g)].map(([, text]) => text!)
  const texts = [...new Set([...shown, ...said, 'admin', 'agent'])].sort()
  expect(texts.length).toBeGreaterThan(30)
  // A script of the page has no types.
  const { german } = await import(new URL('../../../src/console/pages/files/german.js', import.meta.url).href)
  expect(texts).toEqual(Object.keys(german).sort())
})

describe.skipIf(!is_there)('in a browser', () => {
  let browser: Browser
  const faults: string[] = []

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: TIMEOUT_MS })
  })
  afterAll(async () => {
    await browser.close()
    expect(faults).toEqual([])
  })

  test('an invitation is accepted with the keyboard on a phone, and another organization is left', async () => {
    const email = `carol.${newId()}@b.example`
    const other = await createOrganization('Stranger Ltd')
    await other.admin.post('/users', { email, name: 'x', password: 'known elsewhere' })
    await desk.admin.post('/users', { email, name: 'Carol' })
    const page = await open((await letterTo(email)).link)
    await page.getByText('Acme invites you to work on its support tickets as agent.').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.getByLabel('Your name').focus()
    await page.keyboard.type('Carol C.')
    await page.keyboard.press('Tab')
    await page.keyboard.type('carols password')
    await page.keyboard.press('Enter')
    await page.getByText('You are a member now.').waitFor()
    expect(page.url()).not.toContain('token')
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('./')
    await page.getByRole('button', { name: 'Leave Stranger Ltd' }).press('Enter')
    await page.getByText('You left Stranger Ltd.').waitFor()
    const me = (await (await signIn(email, 'carols password')).get('/auth/me')).body
    expect([me.name, me.organizations]).toEqual(['Carol C.', [{ id: desk.id, name: 'Acme', role: 'agent' }]])
    await page.close()
  })

  test('an invitation is declined, and its link says so afterwards', async () => {
    const email = `dora.${newId()}@b.example`
    await desk.admin.post('/users', { email, name: 'Dora' })
    const { link } = await letterTo(email)
    const page = await open(link)
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByText('You declined the invitation.').waitFor()
    await page.goto(link)
    await page.getByText('This link is not valid').waitFor()
    await page.close()
  })

  test('an invitation speaks German, and offers nothing to leave to who is in one organization', async () => {
    const email = `emma.${newId()}@b.example`
    await desk.admin.post('/users', { email, name: 'Emma' })
    const page = await open((await letterTo(email)).link, 'de-DE')
    await page.getByText('Acme lädt Sie ein, als Agent an Support-Tickets zu arbeiten.').waitFor()
    await page.getByLabel(/^Neues Passwort/).fill('emmas password')
    await page.getByRole('button', { name: 'Annehmen' }).click()
    await page.getByText('Sie sind jetzt Mitglied.').waitFor()
    await page.getByRole('link', { name: 'Anmelden' }).waitFor()
    expect(await page.getByRole('button').count()).toBe(0)
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de')
    await page.close()
  })

  test('a forgotten password is asked for and set anew', async () => {
    const { email } = desk.agent
    const page = await open(new URL('/password-reset', server.url).href)
    await page.getByLabel('Email of your account').fill(email)
    await page.keyboard.press('Enter')
    await page.getByText('If there is an account with this email').waitFor()
    await page.goto((await letterTo(email)).link)
    await page.getByLabel('New password').fill('a new password')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('The new password is set.').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    const answer = await stranger().post('/auth/login', { email, password: 'a new password' })
    expect(answer.status).toBe(200)
    await page.close()
  })

  /** A window as small as that of a phone. */
  async function open(link: string, locale = 'en-GB'): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 360, height: 640 }, locale })
    page.setDefaultTimeout(TIMEOUT_MS)
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== server.url.origin) faults.push(request.url())
    })
    await page.goto(link)
    return page
  }
})

async function letterTo(address: string) {
  await drain()
  return lastLetterTo(desk.sink, address)
}
