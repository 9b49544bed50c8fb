/** The inbox of the console, as an agent uses it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enter, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'
import { ADMIN, until } from '../support/service'

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('the inbox', () => {
  let desk: StartedConsole

  beforeAll(async () => {
    desk = await startConsole()
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  test('shows an email that arrives while it is open, and answers it with an attachment', async () => {
    const page = await desk.open()
    await page.getByRole('heading', { name: 'Welcome to Deskwire' }).waitFor()
    const subject = await desk.mail('The printer is on fire')
    await openTicket(page, subject)
    await page.getByPlaceholder('Reply to carla@customer.example').fill('Use water.')
    await page
      .locator('.attach input')
      .setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('Run') })
    await page.getByText('plan.txt').waitFor()
    await page.getByRole('button', { name: 'Send and resolve' }).click()
    await page.getByText('The answer is sent, and the ticket is resolved.').waitFor()
    expect(await page.locator('.properties').getByLabel('Status').inputValue()).toBe('resolved')
    const sent = desk.sink.messages.at(-1)!
    expect(sent.to).toEqual(['carla@customer.example'])
    expect(sent.raw.toString()).toContain('plan.txt')
    await page.context().close()
  })

  test('adds a note, assigns, labels, logs time and runs a timer, and lists all of it in the timeline', async () => {
    const subject = await desk.mail('My screen is dark')
    const page = await desk.open()
    await openTicket(page, subject)
    await page.getByRole('button', { name: 'Internal note' }).click()
    await page.getByPlaceholder('Only the team sees this').fill('She is new here.')
    await page.getByRole('button', { name: 'Add the note' }).click()
    await page.frameLocator('iframe').last().getByText('She is new here.').waitFor()
    await page.locator('.properties').getByLabel('Assignee').selectOption({ label: 'Admin (you)' })
    await page.getByText('Assigned to Admin.').waitFor()
    await page.getByLabel('Add a label').selectOption('new')
    await page.getByLabel('Name').fill('hardware')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Remove the label hardware' }).waitFor()
    await page.getByRole('button', { name: 'Start the timer' }).click()
    await page.getByRole('button', { name: 'Stop the timer' }).click()
    await page.getByText('1 min logged on').waitFor()
    await page.getByRole('button', { name: 'Log time' }).click()
    await page.getByLabel('Minutes').fill('15')
    await page.getByRole('button', { name: 'Log the time' }).click()
    await page.getByText('15 min, Admin').waitFor()
    await page.getByRole('button', { name: 'Show the timeline' }).click()
    for (const words of ['added a note', 'changed assignee from nothing to Admin', 'added hardware', 'logged 15 min']) {
      await page.locator('.timeline').getByText(words).waitFor()
    }
    await page.context().close()
  })

  test('finds by words, by status and by label, and keeps that in the address', async () => {
    const [one, other] = [await desk.mail('A yellow submarine'), await desk.mail('A green apple')]
    const page = await desk.open()
    await page.getByRole('link', { name: one }).waitFor()
    await page.getByRole('link', { name: other }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('submarine')
    await page.keyboard.press('Enter')
    await page.getByText('1 ticket', { exact: true }).waitFor()
    expect(new URL(page.url()).hash).toContain('search=submarine')
    await openTicket(page, one)
    await page.goBack()
    expect(await page.locator('.row').count()).toBe(1)
    await page.getByRole('button', { name: 'Closed' }).click()
    await page.getByText('0 tickets', { exact: true }).waitFor()
    await page.context().close()
  })

  test('warns the second of two agents that the first has answered', async () => {
    const subject = await desk.mail('Who is first')
    const [first, second] = [await desk.open(), await desk.open()]
    for (const page of [first, second]) {
      await openTicket(page, subject)
      await page.getByPlaceholder('Reply to carla@customer.example').fill('An answer')
    }
    await first.getByRole('button', { name: 'Send', exact: true }).click()
    await first.getByText('The answer is sent.').waitFor()
    await second.getByRole('button', { name: 'Send', exact: true }).click()
    await second.getByRole('dialog', { name: 'The conversation went on' }).waitFor()
    await second.getByRole('button', { name: 'Look at it first' }).click()
    expect(desk.sink.messages.filter(({ raw }) => raw.includes('Who is first'))).toHaveLength(1)
    await second.getByRole('button', { name: 'Send', exact: true }).click()
    await second.getByText('The answer is sent.').waitFor()
    await first.locator('.message.outbound').nth(1).waitFor()
    await Promise.all([first, second].map((page) => page.context().close()))
  })

  test('works on a phone and with the keyboard alone', async () => {
    const subject = await desk.mail('Small and quick')
    const page = await desk.open({ viewport: { width: 360, height: 640 }, hasTouch: true, colorScheme: 'dark' })
    await page.getByRole('link', { name: subject }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.locator('body').press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: subject }).waitFor()
    expect(await page.getByRole('region', { name: 'Tickets' }).isVisible()).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.locator('body').press('n')
    await page.getByPlaceholder('Only the team sees this').waitFor()
    await page.keyboard.type('By keys alone')
    await page.keyboard.press('Control+Enter')
    await page.getByText('The note is added.').waitFor()
    await page.getByRole('link', { name: 'Back to the list' }).focus()
    await page.locator('body').press('u')
    await page.getByRole('region', { name: 'Tickets' }).waitFor()
    await page.context().close()
  })

  test('tabs are signed in and out together, and signing out drops what was written', async () => {
    const subject = await desk.mail('For my eyes')
    const page = await desk.open()
    await openTicket(page, subject)
    await page.getByPlaceholder('Reply to carla@customer.example').fill('A secret')
    const tab = await page.context().newPage()
    await tab.goto(desk.service().url)
    await tab.getByRole('navigation', { name: 'Sections' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await tab.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await tab.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie])).toEqual([0, 0, ''])
    await enter(page, ADMIN.email, ADMIN.password)
    await tab.getByRole('navigation', { name: 'Sections' }).waitFor()
    await openTicket(page, subject)
    expect(await page.getByPlaceholder('Reply to carla@customer.example').inputValue()).toBe('')
    await page.context().close()
  })

  test('goes on after 429 and 503, and sends nothing twice', async () => {
    const subject = await desk.mail('Busy hours')
    const page = await desk.open()
    await openTicket(page, subject)
    const refused: number[] = []
    await page.route('**/messages', async (route) => {
      const status = [429, 503][refused.length]
      if (route.request().method() !== 'POST' || !status) return route.continue()
      refused.push(status)
      await route.fulfill({ status, headers: { 'retry-after': '1' }, body: '{}' })
    })
    await page.getByPlaceholder('Reply to carla@customer.example').fill('Once')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Going on in 1 s').waitFor()
    await page.getByText('The answer is sent.').waitFor()
    expect(refused).toEqual([429, 503])
    expect(await page.locator('.message.outbound').count()).toBe(1)
    await page.context().close()
  })

  test('keeps what was written while a replica starts anew, and when the session ends', async () => {
    const subject = await desk.mail('Written in the storm')
    const page = await desk.open()
    await openTicket(page, subject)
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    await area.fill('Still here')
    await desk.restart({ ACCESS_TOKEN_SECONDS: '1', REFRESH_TOKEN_SECONDS: '2' }, () =>
      page.getByText('The service cannot be reached').waitFor(),
    )
    await page.getByText('The service cannot be reached').waitFor({ state: 'hidden' })
    expect(await area.inputValue()).toBe('Still here')

    const short = await desk.open()
    await openTicket(short, subject)
    await short.getByPlaceholder('Reply to carla@customer.example').fill('Before the end')
    await short.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    await desk.restart()
    await short.getByLabel('Password').fill(ADMIN.password)
    await short.keyboard.press('Enter')
    expect(await short.getByPlaceholder('Reply to carla@customer.example').inputValue()).toBe('Before the end')
    await short.getByRole('button', { name: 'Send', exact: true }).click()
    await until('the answer is sent', () => desk.sink.messages.some(({ raw }) => raw.includes('Before the end')))
    await Promise.all([page, short].map((one) => one.context().close()))
  })
})
