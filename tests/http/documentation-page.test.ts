import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { api, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createProgram } from '../support/api-keys'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = `--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync`.split(/\s+/)

const is_there = existsSync(CHROMIUM)
/** Busy machines take their time to show all operations. */
const TIMEOUT_MS = 180_000

if (!is_there) console.warn(`${CHROMIUM} is missing: the documentation is not looked at in a browser`)

describe.skipIf(!is_there)('the documentation in a browser', () => {
  let browser: Browser
  let page: Page
  let server: Bun.Server<undefined>
  let organization: Organization
  /** Errors of the page, and the URLs that it requested. */
  const faults: string[] = []
  const origins = new Set<string>()

  beforeAll(async () => {
    await startApi()
    organization = await createOrganization()
    server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: TIMEOUT_MS })
    // So many operations are drawn only where they are seen: the window is as high as all of them.
    page = await browser.newPage({ viewport: { width: 1280, height: 40_000 } })
    page.setDefaultTimeout(TIMEOUT_MS)
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    page.on('requestfailed', (request) => faults.push(request.url()))
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin)
    })
    await page.goto(new URL('/swagger', server.url).href)
    await page.locator('.opblock').first().waitFor()
  })
  afterEach(() => {
    expect(faults).toEqual([])
    expect([...origins]).toEqual([server.url.origin])
  })
  afterAll(async () => {
    await browser.close()
    await server.stop(true)
    await stopApi()
  })

  test('every section and operation is shown, and no other origin is asked for anything', async () => {
    const document = await (await fetch(new URL('/swagger/json', server.url))).json()
    const names = document.tags.map(({ name }: { name: string }) => name)
    expect(await page.locator('h3.opblock-tag a').allTextContents()).toEqual(names)
    const operations = Object.values<object>(document.paths).flatMap((methods) => Object.keys(methods))
    const webhooks = Object.keys(document.webhooks)
    expect(await page.locator('.opblock').count()).toBe(operations.length + webhooks.length)
    expect(await page.locator('.errors-wrapper').count()).toBe(0)
  })

  test('an operation is shown with its headers, its errors and their codes', async () => {
    const text = await (await unfold('createLabel')).textContent()
    for (const shown of ['X-Organization-Id', '201', '422', 'LABEL_NAME_EXISTS', 'RATE_LIMITED']) {
      expect(text).toContain(shown)
    }
  })

  test('with a token an operation can be tried out', async () => {
    await page.locator('button.authorize').first().click()
    await page.locator('.auth-container', { hasText: 'bearer' }).first().locator('input').fill(organization.agent.token)
    await page.locator('.auth-container', { hasText: 'bearer' }).first().locator('button.authorize').click()
    await page.locator('.auth-btn-wrapper button.btn-done').first().click()

    const operation = await unfold('getOwnAccount')
    await operation.locator('button.try-out__btn').click()
    await operation.locator('button.execute').click()
    const answer = operation.locator('.live-responses-table tbody')
    await answer.waitFor()
    expect(await answer.locator('.response-col_status').first().textContent()).toStartWith('200')
    expect(await answer.textContent()).toContain(organization.agent.email)
  })

  test('with an API key an operation can be tried out, and the key alone is enough in the field', async () => {
    const { key } = await createProgram(organization.admin, ['labels:read'])
    await page.locator('button.authorize').first().click()
    await page.locator('.auth-container', { hasText: 'apiKey' }).locator('input').fill(key)
    await page.locator('.auth-container', { hasText: 'apiKey' }).locator('button.authorize').click()
    await page.locator('.auth-btn-wrapper button.btn-done').first().click()

    const operation = await unfold('listLabels')
    expect(await operation.textContent()).toContain('API keys need labels:read.')
    await operation.locator('button.try-out__btn').click()
    await operation.locator('button.execute').click()
    const answer = operation.locator('.live-responses-table tbody')
    await answer.waitFor()
    expect(await answer.locator('.response-col_status').first().textContent()).toStartWith('200')
    expect(await operation.locator('.curl-command').textContent()).toContain(`ApiKey ${key}`)
  })

  async function unfold(operation_id: string): Promise<Locator> {
    const operation = page.locator(`.opblock[id$="-${operation_id}"]`)
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.responses-wrapper').waitFor()
    return operation
  }
})
