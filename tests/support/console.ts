/** The console in a browser, before a whole service with a server for what leaves by mail. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { createDatabase } from './database'
import { rawMail } from './mail'
import { ADMIN, type Service, startService } from './service'
import { type SmtpSink, sendMail, startSmtpSink } from './smtp'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = `--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync`.split(/\s+/)
/** Busy machines take their time. */
const TIMEOUT_MS = 180_000
/** Each thing on the page is waited for at most so long. */
const WAIT_MS = 120_000
export const ADDRESS = 'support@desk.example'

/** Why the console cannot be looked at; undefined when it can. */
export function whyNoConsole(): string | undefined {
  return existsSync(CHROMIUM) ? undefined : `${CHROMIUM} is missing`
}

/** Chromium without a window. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: TIMEOUT_MS })
}

export type StartedConsole = {
  /** The one that runs now. */
  service(): Service
  sink: SmtpSink
  /** Settings of the service, for commands beside it. */
  env: Record<string, string>
  /** Faults that the browser noticed: errors of scripts and of the policy, and requests to elsewhere. */
  faults: string[]
  /** A new browser profile, which shares nothing with the others. */
  profile(options?: Parameters<Browser['newContext']>[0]): Promise<BrowserContext>
  /** A page of a new profile with somebody signed in, the admin unless given. */
  open(options?: Parameters<Browser['newContext']>[0], who?: typeof ADMIN): Promise<Page>
  /** Sends an email to the mailbox. @returns its subject */
  mail(subject: string, body?: string): Promise<string>
  /** Stops the service and starts it again on the same port. @param meanwhile runs while it is away */
  restart(settings?: Record<string, string>, meanwhile?: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

/** Starts everything; in `beforeAll`, with `stop` in `afterAll`. The mailbox sends through the sink. */
export async function startConsole(
  settings: (sink: SmtpSink) => Record<string, string> = () => ({}),
): Promise<StartedConsole> {
  const DATA_DIR = path.join(tmpdir(), `console-${crypto.randomUUID()}`)
  mkdirSync(DATA_DIR, { mode: 0o755 })
  const [database, sink, browser] = await Promise.all([createDatabase(), startSmtpSink(), startBrowser()])
  const env = {
    DATA_DIR,
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key of the tests of the console',
    ...settings(sink),
  }
  let service = await startService(env)
  const { url, smtp_port } = service
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' }
  await service.call('POST', '/mailboxes', { address: ADDRESS, smtp })
  const faults: string[] = []

  const profile: StartedConsole['profile'] = async (options) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(WAIT_MS)
    context.on('page', (page) => watch(page, url, faults))
    return context
  }
  return {
    service: () => service,
    sink,
    env,
    faults,
    profile,
    async open(options, { email, password } = ADMIN) {
      const page = await (await profile(options)).newPage()
      await page.goto(url)
      await enter(page, email, password)
      return page
    },
    async mail(subject, body = 'Hello') {
      const from = 'Carla <carla@customer.example>'
      const raw = rawMail(
        { From: from, To: ADDRESS, Subject: subject, 'Message-ID': `<${crypto.randomUUID()}@x.example>` },
        body,
      )
      await sendMail({ port: smtp_port, from: 'carla@customer.example', to: ADDRESS, raw })
      return subject
    },
    async restart(changes = {}, meanwhile = async () => {}) {
      await service.stop()
      await meanwhile()
      service = await startService({ ...env, PORT: new URL(url).port, SMTP_PORT: String(smtp_port), ...changes })
    },
    async stop() {
      await browser.close()
      await service.stop()
      sink[Symbol.dispose]()
      await database.drop()
      rmSync(DATA_DIR, { recursive: true, force: true })
    },
  }
}

/** Signs in on the page. */
export async function enter(page: Page, email: string, password: string): Promise<void> {
  // By their names, which are the same in every language.
  await page.locator('input[name=email]').fill(email)
  await page.locator('input[name=password]').fill(password)
  await page.keyboard.press('Enter')
  await page.locator('.rail nav').waitFor()
}

/** Opens a ticket from the list. */
export async function openTicket(page: Page, subject: string): Promise<void> {
  await page.getByRole('link', { name: subject }).first().click()
  await page.getByRole('heading', { name: subject }).waitFor()
}

/** Chooses a property of the ticket that is open, such as its status. */
export async function choose(page: Page, property: string, option: string): Promise<void> {
  await page.locator('.properties').getByRole('button', { name: property }).click()
  await page.locator('[popover]:popover-open .item', { hasText: option }).click()
}

/** Sends what was answered last at once, instead of in ten seconds. */
export async function sendNow(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send now' }).click()
}

/** Signs out by the menu of the person. */
export async function leave(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Your account/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

/** Opens a section of the rail. */
export async function openSection(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true }).click()
}

/** Opens a page of the settings. */
export async function openPart(page: Page, name: string): Promise<void> {
  await openSection(page, 'Settings')
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
}

/** Answers of the API that a browser logs as errors, although the console expects them. */
const EXPECTED = /Failed to load resource/

function watch(page: Page, url: string, faults: string[]): void {
  page.on('pageerror', (error) => faults.push(`throws ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) faults.push(`logs ${message.text()}`)
  })
  page.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(url) && !/^(data|blob|about):/.test(address)) faults.push(`requests ${address}`)
  })
  page.on('dialog', (dialog) => {
    // Asks before something is lost that was typed.
    if (dialog.type() !== 'beforeunload') faults.push('opens a dialog')
    void dialog.dismiss()
  })
}
