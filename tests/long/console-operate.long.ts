/** What admins do in the console, and what every view of it must be. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { enter, leave, openPart, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'
import { lastLetterTo } from '../support/letters'
import { startReceiver } from '../support/receiver'
import { until } from '../support/service'

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('an admin', () => {
  let desk: StartedConsole
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let page: Page

  beforeAll(async () => {
    receiver = await startReceiver({ answer: 500 })
    desk = await startConsole((sink) => ({
      SYSTEM_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SYSTEM_MAIL_FROM: 'desk@operator.example',
      WEBHOOK_CA_FILE: receiver.ca_file,
    }))
    page = await desk.open()
  })
  afterAll(async () => {
    await desk.stop()
    receiver[Symbol.dispose]()
    expect(desk.faults).toEqual([])
  })

  test('sees a webhook fail, looks at the attempt, and sends it again', async () => {
    await openPart(page, 'Webhooks')
    await page.getByRole('button', { name: 'Add a webhook' }).click()
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('button', { name: 'Test it' }).click()
    await page.getByText('It failed:').waitFor()
    await desk.mail('An event for the webhook')
    await page
      .getByRole('row', { name: /ticket.created retrying/ })
      .getByRole('link')
      .click()
    await page.getByRole('dialog', { name: 'Delivery' }).getByText('An event for the webhook').waitFor()
    receiver.answer = 200
    await page.getByRole('button', { name: 'Send it again' }).click()
    await page.getByRole('dialog').getByText('success').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /ticket.created success 200/ }).waitFor()
  })

  test('makes a key, which works, and revokes it', async () => {
    await openPart(page, 'API keys')
    await page.getByRole('button', { name: 'Make a key' }).click()
    await page.getByLabel('Name').fill('Night shift')
    await page.getByRole('button', { name: 'Make it' }).click()
    const key = await page.locator('code.secret').textContent()
    const ask = () => fetch(`${desk.service().url}/api/v1/tickets`, { headers: { authorization: `ApiKey ${key}` } })
    expect((await ask()).status).toBe(200)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Revoke Night shift' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: /Night shift.*revoked/ }).waitFor()
    expect((await ask()).status).toBe(401)
  })

  test('invites somebody, who accepts and sees the inbox without Operate', async () => {
    await openPart(page, 'People')
    await page.getByRole('button', { name: 'Invite somebody' }).click()
    await page.getByLabel('Email').fill('bob@desk.example')
    await page.getByLabel('Name').fill('Bob')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByRole('row', { name: /bob@desk.example agent invited/ }).waitFor()
    const isThere = () => desk.sink.messages.some(({ to }) => to.includes('bob@desk.example'))
    await until('the invitation has left', isThere)
    const { link } = await lastLetterTo(desk.sink, 'bob@desk.example')
    const other = await (await desk.profile()).newPage()
    await other.goto(link)
    await other.getByLabel('Your name').fill('Bob')
    await other.getByLabel('New password').fill('bobs own password')
    await other.keyboard.press('Enter')
    await other.getByText('You are a member now.').waitFor()
    await other.goto(desk.service().url)
    await enter(other, 'bob@desk.example', 'bobs own password')
    await other.getByRole('region', { name: 'Tickets' }).waitFor()
    expect(await other.getByRole('link', { name: 'Settings' }).count()).toBe(0)
    await other.context().close()
  })

  test('sees what came in, and asks what would become of a message', async () => {
    const subject = await desk.mail('A row of the ledger')
    await openPart(page, 'Mail')
    await page.getByRole('row', { name: new RegExp(`${subject}.*ticket`) }).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: `Download the original of ${subject}` }).click()
    expect(readFileSync(await (await download).path(), 'utf8')).toContain(subject)
    await page.getByRole('button', { name: 'What would become of a message?' }).click()
    await page.getByLabel('or as text').fill('From: dora@customer.example\nSubject: Nothing yet\n\nHi')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('It would open a ticket by the rule new. Its sender would be dora@customer.example.').waitFor()
    await page.keyboard.press('Escape')
  })

  test('tests a mailbox, and reads figures and the audit log', async () => {
    await openPart(page, 'Mailboxes')
    await page.getByRole('button', { name: 'Test support@desk.example' }).click()
    await page.getByText('took the sign-in').waitFor()
    await page.getByRole('button', { name: 'Add a mailbox' }).click()
    await page.getByLabel('Host').fill('mail.desk.example')
    // What is typed stays when the list below is drawn again.
    await desk.service().call('POST', '/mailboxes', { address: 'sales@desk.example' })
    await page.getByText('sales@desk.example', { exact: true }).waitFor()
    expect(await page.getByLabel('Host').inputValue()).toBe('mail.desk.example')
    await page.keyboard.press('Escape')
    await openPart(page, 'Audit log')
    await page.getByRole('row', { name: /api_key.created/ }).waitFor()
    await openPart(page, 'Overview')
    await page
      .getByText('Nothing needs attention.')
      .or(page.getByRole('list', { name: 'What needs attention' }))
      .waitFor()
    await page.getByText(/new tickets: [1-9]/).waitFor({ state: 'attached' })
    for (const name of ['Last day', 'Last month']) {
      await page.getByRole('button', { name }).click()
      await page.getByText(/new tickets: [1-9]/).waitFor({ state: 'attached' })
    }
    expect(await page.locator('.plot canvas').count()).toBe(5)
  })

  test('finds nothing with axe in any view, in light and in dark', async () => {
    // Nothing moves, so that colours are final at once.
    const one = await desk.open({ reducedMotion: 'reduce' })
    const subject = await desk.mail('Looked at by axe')
    await openTicket(one, subject)
    expect(await faultsOf(one)).toEqual([])
    for (const name of ['Overview', 'Mail', 'Webhooks', 'Mailboxes', 'People', 'API keys', 'Audit log']) {
      await openPart(one, name)
      await one.locator('.skeleton').first().waitFor({ state: 'detached' })
      expect([name, ...(await faultsOf(one))]).toEqual([name])
    }
    for (const [part, button] of [
      ['Mailboxes', 'Add a mailbox'],
      ['API keys', 'Make a key'],
    ] as const) {
      await openPart(one, part)
      await one.getByRole('button', { name: button }).click()
      expect([button, ...(await faultsOf(one))]).toEqual([button])
      await one.keyboard.press('Escape')
    }
    await leave(one)
    await one.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await faultsOf(one)).toEqual([])
    await one.context().close()
  })
})

/** What axe finds on a page. It is put in by the browser's tools, because the policy lets no other script in. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const light = await page.evaluate(runAxe, undefined)
  await page.emulateMedia({ colorScheme: 'dark' })
  // Only colours differ.
  const dark = await page.evaluate(runAxe, 'color-contrast')
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}

/** Runs in the browser. */
async function runAxe(runOnly: string | undefined): Promise<string[]> {
  // biome-ignore lint/suspicious/noExplicitAny: axe is put into the page as a script
  const { violations } = await (window as any).axe.run(document, {
    iframes: false,
    ...(runOnly && { runOnly: [runOnly] }),
  })
  return violations.flatMap(({ id, nodes }: { id: string; nodes: { html: string; failureSummary: string }[] }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}
