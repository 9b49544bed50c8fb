/** The inbox of the console, as an agent uses it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import {
  choose,
  enter,
  leave,
  openTicket,
  type StartedConsole,
  sendNow,
  startConsole,
  whyNoConsole,
} from '../support/console'
import { ADMIN, until } from '../support/service'

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('the inbox', () => {
  let desk: StartedConsole
  const bob = { email: 'bob@desk.example', password: 'bobs own password' }

  beforeAll(async () => {
    desk = await startConsole()
    await desk.service().call('POST', '/users', { ...bob, name: 'Bob' })
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
    await sendNow(page)
    await page.getByText('The answer is sent. The ticket is now: Resolved.').waitFor()
    const sent = desk.sink.messages.at(-1)!
    expect(sent.to).toEqual(['carla@customer.example'])
    expect(sent.raw.toString()).toContain('plan.txt')
    await page.context().close()
  })

  test('shows a mail within a second or so, asks nothing while nothing happens, and without a stream as before', async () => {
    const first = await desk.mail('Now and here')
    const page = await desk.open()
    await openTicket(page, first)
    const asked: string[] = []
    await Bun.sleep(2000)
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    // Longer than between two readings without a stream.
    await Bun.sleep(6000)
    expect(asked.filter((path) => /(tickets|users|active)(\/[0-9a-f-]+)?$/.test(path))).toEqual([])
    const begun = performance.now()
    const second = await desk.mail('It comes by itself')
    await page.locator('.row', { hasText: second }).waitFor()
    expect(performance.now() - begun).toBeLessThan(4000)

    await page.route('**/events/stream*', (route) => route.abort())
    await desk.restart()
    const third = await desk.mail('Without a stream')
    await page.locator('.row', { hasText: third }).waitFor()
    await page.context().close()
  })

  test('begins a long message where it begins, and a long conversation at its end', async () => {
    const subject = await desk.mail('A long story', 'A line of it.\n'.repeat(200))
    const page = await desk.open()
    await openTicket(page, subject)
    await page.waitForFunction(() => {
      const [message] = document.querySelectorAll('.message')
      const { top } = document.querySelector('.messages-scroll')!.getBoundingClientRect()
      return Math.abs(message!.getBoundingClientRect().top - top) < 20
    })
    const { id } = (await desk.service().call('GET', '/tickets?search=story')).body.data[0]
    await desk.service().call('POST', `/tickets/${id}/messages`, { body: 'Short.', is_internal: true })
    await page.keyboard.press('u')
    await page.locator('.messages-scroll').waitFor({ state: 'detached' })
    await openTicket(page, subject)
    await page.waitForFunction(() => document.querySelector('.messages-scroll')!.scrollTop === 0)
    await page.context().close()
  })

  test('adds a note, assigns, labels, logs time and runs a timer, and lists all of it in the timeline', async () => {
    const subject = await desk.mail('My screen is dark')
    const page = await desk.open()
    await openTicket(page, subject)
    await page.getByRole('button', { name: 'Internal note' }).click()
    await page.getByPlaceholder('Only the team sees this').fill('She is new here.')
    await page.getByRole('button', { name: 'Add the note' }).click()
    await page.locator('.message-text', { hasText: 'She is new here.' }).waitFor()
    await choose(page, 'Assignee', 'Admin (you)')
    await page.getByText('Assigned to: Admin.').waitFor()
    // Words that fit no label are the name of a new one.
    await page.keyboard.press('l')
    await page.keyboard.type('hardware')
    await page.keyboard.press('Enter')
    expect(await page.getByLabel('Name').inputValue()).toBe('hardware')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Remove the label hardware' }).waitFor()
    await page.getByRole('button', { name: 'Start the timer' }).click()
    await page.getByRole('button', { name: 'Stop the timer' }).click()
    await page.getByText('1 min logged on').waitFor()
    await page.getByRole('button', { name: 'Log time' }).click()
    await page.getByLabel('Minutes').fill('15')
    await page.getByRole('button', { name: 'Log the time' }).click()
    await page.getByText('15 min, Admin').waitFor()
    await page.getByText('Timeline').click()
    for (const words of ['added a note', 'changed Assignee from nothing to Admin', 'added hardware', 'logged 15 min']) {
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
    await page.keyboard.press('/')
    await page.keyboard.type(' status:closed')
    await page.keyboard.press('Enter')
    await page.getByText('0 tickets', { exact: true }).waitFor()
    await page.context().close()
  })

  test('says in a row who wrote last, puts it first, and keeps the order that is chosen', async () => {
    const [older, newer] = [await desk.mail('An older question'), await desk.mail('A newer question')]
    const page = await desk.open()
    const rows = page.locator('.row')
    await rows.nth(1).filter({ hasText: older }).waitFor()
    const { id } = (await desk.service().call('GET', '/tickets?search=older')).body.data[0]
    await desk.service().call('POST', `/tickets/${id}/messages`, { body: '<p>Use <b>water</b>.</p>' })
    const first = rows.first().filter({ hasText: older })
    await first.getByText('The team wrote last:').waitFor({ state: 'attached' })
    await first.getByText('Use water.').waitFor()
    expect(await first.getByText('The customer has waited for').count()).toBe(0)
    expect(await rows.nth(1).filter({ hasText: newer }).getByText('The customer has waited for').count()).toBe(1)
    await page.getByRole('button', { name: 'Order of the list' }).click()
    await page.getByRole('button', { name: 'Newest first' }).click()
    await rows.first().filter({ hasText: newer }).waitFor()
    await page.reload()
    await rows.first().filter({ hasText: newer }).waitFor()
    await page.context().close()
  })

  test('shows who waits for whom, what is unread, and drafts, as views of their own', async () => {
    const [asked, answered] = [await desk.mail('Nobody has answered'), await desk.mail('Somebody has answered')]
    const page = await desk.open({ viewport: { width: 1440, height: 820 } })
    for (const subject of [asked, answered]) await page.locator('.row', { hasText: subject }).waitFor()
    const { id } = (await desk.service().call('GET', '/tickets?search=somebody')).body.data[0]
    await desk.service().call('POST', `/tickets/${id}/messages`, { body: 'Use water.', send_email: false })
    await desk.service().call('POST', `/tickets/${id}/drafts`, { body: 'And sand.', is_internal: true })
    const views = page.getByRole('navigation', { name: 'Views' })
    const shows = async (view: string, shown: string, other: string) => {
      await views.getByRole('link', { name: new RegExp(`^${view}`) }).click()
      await page.locator('.list .view-name', { hasText: view }).waitFor()
      await page.locator('.row', { hasText: shown }).waitFor()
      expect([view, await page.locator('.row', { hasText: other }).count()]).toEqual([view, 0])
    }
    await shows('Waiting for us', asked, answered)
    await shows('Waiting for them', answered, asked)
    await shows('Unread', asked, answered)
    await shows('Drafts', answered, asked)
    const snoozed_until = new Date(Date.now() + 86_400_000).toISOString()
    await desk.service().call('PATCH', `/tickets/${id}`, { snoozed_until })
    await shows('Snoozed', answered, asked)
    await desk.service().call('PATCH', `/tickets/${id}`, { status: 'closed' })
    await shows('Closed', answered, asked)
    await page.context().close()
  })

  test('lets a ticket sleep by a key, and wakes it up', async () => {
    const subject = await desk.mail('Not before tomorrow')
    const page = await desk.open()
    await openTicket(page, subject)
    await page.keyboard.press('h')
    await page.getByRole('button', { name: 'Tomorrow, 9:00' }).click()
    await page.locator('.properties').getByText('Snoozed until').waitFor()
    await page.keyboard.press('h')
    await page.getByRole('button', { name: 'Wake up' }).click()
    await page.locator('.properties').getByText('Snoozed until').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Status: Open' }).waitFor()
    await page.context().close()
  })

  test('warns the second of two agents that the first has answered', async () => {
    const subject = await desk.mail('Who is first')
    const [first, second] = [await desk.open(), await desk.open({}, bob)]
    for (const page of [first, second]) {
      await openTicket(page, subject)
      await page.getByPlaceholder('Reply to carla@customer.example').fill('An answer')
    }
    await first.getByRole('button', { name: 'Send', exact: true }).click()
    await sendNow(first)
    await first.getByText('The answer is sent.').waitFor()
    await second.getByRole('button', { name: 'Send', exact: true }).click()
    await second.getByRole('dialog', { name: 'The conversation went on' }).waitFor()
    // The key that was meant for "Send" does not send twice.
    await second.getByRole('button', { name: 'Look at it first' }).and(second.locator(':focus')).press('Enter')
    await second.getByRole('dialog').waitFor({ state: 'detached' })
    expect(desk.sink.messages.filter(({ raw }) => raw.includes('Who is first'))).toHaveLength(1)
    await second.getByRole('button', { name: 'Send', exact: true }).click()
    await sendNow(second)
    await second.getByText('The answer is sent.').waitFor()
    await openTicket(first, subject)
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

  test('keeps a draft over a reload, a lost connection and a second page, and offers that of a program', async () => {
    const subject = await desk.mail('Kept for later')
    const page = await desk.open()
    const tab = await page.context().newPage()
    await tab.goto(desk.service().url)
    await openTicket(page, subject)
    await tab.goto(page.url())
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    await area.fill('</textarea><script>alert(1)</script>')
    await page.getByText('Saved as a draft').waitFor()
    await page.reload()
    await page.getByText('Saved as a draft').waitFor()
    expect(await area.inputValue()).toBe('</textarea><script>alert(1)</script>')

    await page.context().setOffline(true)
    await area.fill('Written without a connection')
    await page.getByText('The service cannot be reached').waitFor()
    const asked = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    expect((await asked).type()).toBe('beforeunload')
    expect(await area.inputValue()).toBe('Written without a connection')
    await tab.getByPlaceholder('Reply to carla@customer.example').fill('Written beside it')
    await page.context().setOffline(false)
    // The page that is later has the choice.
    const changed = (one: Page) => one.getByText('This draft was changed elsewhere')
    const chooses = await Promise.race(
      [page, tab].map((one) =>
        changed(one)
          .waitFor()
          .then(() => one),
      ),
    )
    const other = chooses === page ? tab : page
    const text = await chooses.getByPlaceholder('Reply to carla@customer.example').inputValue()
    await chooses.getByRole('button', { name: 'Keep what is here' }).click()
    await chooses.getByText('Saved as a draft').waitFor()
    await other.bringToFront()
    await other.reload()
    await other.getByText('Saved as a draft').waitFor()
    const left = other.getByPlaceholder('Reply to carla@customer.example')
    expect(await left.inputValue()).toBe(text)

    const key = await desk.service().call('POST', '/api-keys', { name: 'Robot', permissions: ['drafts:write'] })
    await fetch(`${desk.service().url}/api/v1/tickets/${/tickets\/([^?]+)/.exec(other.url())![1]}/drafts`, {
      method: 'POST',
      headers: { authorization: `ApiKey ${key.body.data.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ body: '<b>Prepared</b><img src=x onerror=alert(1)>' }),
    })
    await other.getByText('Robot has prepared an answer').waitFor()
    await left.fill('')
    await other.getByRole('button', { name: 'Use the draft of Robot' }).click()
    await other.locator('.tiptap strong').getByText('Prepared').waitFor()
    await other.getByRole('button', { name: 'Send', exact: true }).click()
    await sendNow(other)
    await other.getByText('The answer is sent.').waitFor()
    await other.getByText('Robot has prepared an answer').waitFor({ state: 'detached' })
    await page.context().close()
  })

  test('says that a change is made once it is seen', async () => {
    const page = await desk.open()
    const subject = await desk.mail('Read twice')
    await openTicket(page, subject)
    const answers: (() => Promise<void>)[] = []
    await page.route(/\/tickets\/[0-9a-f-]{36}$/, (route) =>
      route.request().method() === 'PATCH' ? void answers.push(() => route.continue()) : route.continue(),
    )
    await page.keyboard.press('e')
    await until('it is changed', () => answers.length === 1)
    await page.evaluate(() => new Promise(requestAnimationFrame))
    expect(await page.getByText('The ticket is now: Resolved.').count()).toBe(0)
    await answers[0]!()
    await page.getByText('The ticket is now: Resolved.').waitFor()
    expect(await page.locator('.properties').getByRole('button', { name: 'Status' }).textContent()).toBe('Resolved')
    await page.context().close()
  })

  test('applies a macro as it is and as it was changed, merges by code, and undoes that', async () => {
    const { service } = desk
    const made = async (name: string, body: string | null, changes: object, is_internal = false) =>
      expect((await service().call('POST', '/macros', { name, body, changes, is_internal })).status).toBe(201)
    await made('Ask <b>', 'Is {{ticket.code}} on? <script>alert(1)</script>', { status: 'pending' })
    await made('Urgent', null, { priority: 'urgent' })
    const subject = await desk.mail('Done by macros')
    const page = await desk.open()
    await openTicket(page, subject)
    const code = (await page.locator('.head .code').textContent())!
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    const status = page.locator('.properties').getByRole('button', { name: 'Status' })
    const put = async (name: string) => {
      await page.getByRole('button', { name: 'Put in a macro' }).click()
      await page.getByRole('option', { name }).click()
    }
    const apply = () => page.getByRole('button', { name: 'Apply' }).click()
    await put('Ask <b>')
    await page.getByText('sends the answer, status: Waiting').waitFor()
    expect(await area.inputValue()).toBe(`Is ${code} on? <script>alert(1)</script>`)
    await apply()
    await page.getByText(`“Ask <b>”: the answer to ${code} leaves in ten seconds.`).waitFor()
    await openTicket(page, subject)
    await sendNow(page)
    await page.getByText('“Ask <b>” is done.').waitFor()
    await until('its changes are made', async () => (await status.textContent()) === 'Waiting')
    expect(await area.inputValue()).toBe('')
    await choose(page, 'Status', 'Open')
    await area.fill('Typed before')
    await put('Ask <b>')
    await page.getByText('sends the answer').waitFor()
    await apply()
    // The next ticket opens with these words: a click before that would be undone by it.
    await page.getByText('leaves in ten seconds.').last().waitFor()
    await openTicket(page, subject)
    await sendNow(page)
    await page.locator('.message.outbound').nth(1).waitFor()
    await until('its changes are made', async () => (await status.textContent()) === 'Waiting')
    await area.fill('Not sent')
    await put('Urgent')
    await apply()
    await page.getByText('“Urgent” is done.').waitFor()
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor()
    expect(await area.inputValue()).toBe('Not sent')

    const other = await desk.mail('The same again')
    await openTicket(page, other)
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('button', { name: /^Merge / }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `${code} ${subject}` })
      .waitFor()
    await page.getByLabel('Code of the other ticket').fill('NONE-1')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('dialog').getByText('There is no ticket NONE-1.').waitFor()
    await page.getByLabel('Code of the other ticket').fill(code.toLowerCase())
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('button', { name: `Merge into ${code}` }).click()
    await page.getByRole('heading', { name: subject }).waitFor()
    await page.locator('.message.inbound').nth(1).waitFor()
    await page.goBack()
    await page.getByText('This ticket was merged into').waitFor()
    await page.getByRole('button', { name: 'Undo the merge' }).click()
    await page.locator('.message.inbound').waitFor()
    await page.context().close()
  })

  test('tabs are signed in and out together, and what was written waits for its writer alone', async () => {
    const subject = await desk.mail('For my eyes')
    const page = await desk.open()
    await openTicket(page, subject)
    await page.getByPlaceholder('Reply to carla@customer.example').fill('A secret')
    const tab = await page.context().newPage()
    await tab.goto(desk.service().url)
    await tab.getByRole('navigation', { name: 'Sections' }).waitFor()
    await leave(page)
    await tab.getByRole('button', { name: 'Sign in' }).waitFor()
    // The browser keeps no more than how a person sends.
    const kept = await tab.evaluate(() => [
      ...Object.keys(localStorage),
      ...Object.keys(sessionStorage),
      document.cookie,
    ])
    expect(kept).toEqual([''])
    expect(await tab.evaluate(() => JSON.stringify(localStorage))).not.toContain('secret')
    await enter(page, bob.email, bob.password)
    await tab.getByRole('navigation', { name: 'Sections' }).waitFor()
    await openTicket(page, subject)
    await page.getByText('Confirmed participants').waitFor()
    expect(await page.getByPlaceholder('Reply to carla@customer.example').inputValue()).toBe('')
    await leave(page)
    await enter(page, ADMIN.email, ADMIN.password)
    await openTicket(page, subject)
    await page.getByText('Saved as a draft').waitFor()
    expect(await page.getByPlaceholder('Reply to carla@customer.example').inputValue()).toBe('A secret')
    await page.context().close()
  })

  test('goes on after 429 and 503, and sends nothing twice', async () => {
    const subject = await desk.mail('Busy hours')
    const page = await desk.open()
    await openTicket(page, subject)
    const refused: number[] = []
    await page.route('**/send', async (route) => {
      const status = [429, 503][refused.length]
      if (!status) return route.continue()
      refused.push(status)
      await route.fulfill({ status, headers: { 'retry-after': '4' }, body: '{}' })
    })
    await page.getByPlaceholder('Reply to carla@customer.example').fill('Once')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await sendNow(page)
    await page.getByText(/Going on in \d s/).waitFor()
    await page.getByText('The answer is sent.').waitFor()
    await openTicket(page, subject)
    await page.locator('.message.outbound').waitFor()
    expect(refused).toEqual([429, 503])
    expect(await page.locator('.message.outbound').count()).toBe(1)
    await page.context().close()
  })

  test('keeps what was written while a replica starts anew, and when the session ends', async () => {
    const subject = await desk.mail('Written in the storm')
    const other = await desk.mail('Written before the end')
    const page = await desk.open()
    await openTicket(page, subject)
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    await area.fill('Still here')
    await desk.restart({ ACCESS_TOKEN_SECONDS: '1', REFRESH_TOKEN_SECONDS: '10' }, () =>
      page.getByText('The service cannot be reached').waitFor(),
    )
    await page.locator('.trouble').waitFor({ state: 'hidden' })
    expect(await area.inputValue()).toBe('Still here')

    const short = await desk.open()
    await openTicket(short, other)
    await short.getByPlaceholder('Reply to carla@customer.example').fill('Before the end')
    await short.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    await desk.restart()
    await short.getByLabel('Password').fill(ADMIN.password)
    await short.keyboard.press('Enter')
    expect(await short.getByPlaceholder('Reply to carla@customer.example').inputValue()).toBe('Before the end')
    await short.getByRole('button', { name: 'Send', exact: true }).click()
    await sendNow(short)
    await until('the answer is sent', () => desk.sink.messages.some(({ raw }) => raw.includes('Before the end')))
    await Promise.all([page, short].map((one) => one.context().close()))
  })
})
