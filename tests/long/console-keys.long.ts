/** An agent's day by the keyboard, and what can be taken back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openTicket, type StartedConsole, sendNow, startConsole, whyNoConsole } from '../support/console'
import { ADMIN, until } from '../support/service'

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

const TICKETS = 20
/** A red dot of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

describe.skipIf(reason !== undefined)('by the keyboard', () => {
  let desk: StartedConsole
  let page: Page

  beforeAll(async () => {
    desk = await startConsole()
    const { call } = desk.service()
    await call('POST', '/users', { email: 'bob@desk.example', name: 'Bob', password: 'bobs own password' })
    await call('POST', '/labels', { name: 'bug', color: '#EF4444' })
    await call('POST', '/macros', { name: 'Serial number', body: 'Which serial number has it?' })
    page = await desk.open()
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  const ticketOf = async (subject: string) => {
    const { body } = await desk.service().call('GET', `/tickets?search=${encodeURIComponent(`"${subject}"`)}`)
    return body.data[0]
  }
  const sentTo = (subject: string) => desk.sink.messages.filter(({ raw }) => raw.includes(subject))

  test(`${TICKETS} tickets are answered and resolved, one after the other`, async () => {
    for (let number = 1; number <= TICKETS; number++) await desk.mail(`Question ${number}.`)
    await page.getByText(`${TICKETS} tickets`, { exact: true }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    for (let answered = 0; answered < TICKETS; answered++) {
      const heading = page.locator('.head h1')
      const subject = await heading.textContent()
      await page.keyboard.press('r')
      await page.locator('textarea:focus').waitFor()
      await page.keyboard.type(`Answer to ${subject}`)
      await page.keyboard.press('Control+Shift+Enter')
      await page.locator('.head h1', { hasText: new RegExp(`^${subject}$`) }).waitFor({ state: 'detached' })
    }
    await page.getByText('0 tickets', { exact: true }).waitFor()
    for (let number = 1; number <= TICKETS; number++) {
      expect(sentTo(`Question ${number}.`)).toHaveLength(1)
      expect(sentTo(`Question ${number}.`)[0]!.raw.toString()).toContain(`Answer to Question ${number}.`)
    }
    const { body } = await desk.service().call('GET', '/tickets?status=resolved&per_page=1')
    expect(body.meta.total).toBe(TICKETS)
  })

  test('an answer can be taken back for ten seconds, and leaves at once with the page', async () => {
    const subject = await desk.mail('Taken back')
    await openTicket(page, subject)
    await page.keyboard.press('r')
    await page.keyboard.type('Too early')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await openTicket(page, subject)
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    expect(await area.inputValue()).toBe('Too early')
    await area.fill('In time')
    await page.getByRole('button', { name: 'Send and resolve' }).click()
    await page.getByRole('button', { name: 'Undo' }).last().waitFor()
    expect(sentTo(subject)).toHaveLength(0)
    const other = await page.context().newPage()
    await other.goto(desk.service().url)
    await other.getByRole('navigation', { name: 'Sections' }).waitFor()
    await page.close()
    await until('it has left', () => sentTo(subject).length === 1)
    expect(sentTo(subject)[0]!.raw.toString()).toContain('In time')
    const { body } = await desk.service().call('GET', `/tickets?search=${encodeURIComponent(subject)}`)
    expect(body.data[0]).toMatchObject({ status: 'resolved', assignee: { name: 'Admin' } })
    page = other
  })

  test('what is typed and sent as soon as a ticket is seen leaves', async () => {
    const [first, next] = [await desk.mail('Seen first'), await desk.mail('Sent at once')]
    await openTicket(page, next)
    await openTicket(page, first)
    await page.evaluate((subject) => {
      const press = (place: EventTarget, key: string, ctrlKey = false) =>
        place.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey, bubbles: true, cancelable: true }))
      // Called when the ticket is on the page, and before it is painted.
      const onDrawn = async (_: unknown, observer: MutationObserver) => {
        if (document.querySelector('.head h1')?.textContent !== subject) return
        observer.disconnect()
        const area = document.querySelector<HTMLTextAreaElement>('.composer textarea')!
        area.value = 'As fast as can be'
        area.dispatchEvent(new InputEvent('input', { bubbles: true }))
        await Promise.resolve()
        press(area, 'Enter', true)
      }
      new MutationObserver(onDrawn).observe(document.body, { subtree: true, childList: true, characterData: true })
      press(document, '[')
    }, next)
    await sendNow(page)
    await until('it has left', () => sentTo(next).length === 1)
    expect(sentTo(next)[0]!.raw.toString()).toContain('As fast as can be')
  })

  test('a menu that is shown late keeps the place that a key went to', async () => {
    await openTicket(page, await desk.mail('Not urgent'))
    await page.keyboard.press('p')
    const menu = page.locator('[popover]:popover-open:not(.notices)')
    await menu.getByRole('button', { name: 'Low' }).focus()
    await menu.evaluate((layer) => layer.dispatchEvent(new ToggleEvent('toggle', { newState: 'open' })))
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Priority: Low', exact: true }).waitFor()
  })

  test('assigns, labels, resolves and takes back by typing', async () => {
    const subject = await desk.mail('All by keys')
    await openTicket(page, subject)
    await page.keyboard.press('a')
    await page.getByRole('combobox', { name: 'Assignee' }).waitFor()
    await page.keyboard.type('bo')
    await page.keyboard.press('Enter')
    await page.getByText('Assigned to: Bob.').waitFor()
    await page.keyboard.press('l')
    await page.getByRole('combobox', { name: 'Labels' }).waitFor()
    await page.keyboard.type('bu')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove the label bug' }).waitFor()
    await page.keyboard.press('e')
    await page.getByText('The ticket is now: Resolved.').waitFor()
    await page.keyboard.press('z')
    await until('it is open again', async () => (await ticketOf(subject)).status === 'open')
    await page.keyboard.press('e')
    await until('it is resolved again', async () => (await ticketOf(subject)).status === 'resolved')
    await page.keyboard.press('Control+z')
    await until('it is open at last', async () => (await ticketOf(subject)).status === 'open')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('assign to me')
    await page.keyboard.press('Enter')
    await page.getByText('Assigned to: Admin.').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Question 7')
    await page.getByRole('option', { name: /Question 7\./ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Question 7.' }).waitFor()
    const { assignee, labels } = await ticketOf(subject)
    expect([assignee.name, labels[0].name]).toEqual(['Admin', 'bug'])
  })

  test('changes several tickets at once, and takes that back', async () => {
    const subjects = [await desk.mail('Several one'), await desk.mail('Several two')]
    await page.keyboard.press('g')
    await page.keyboard.press('3')
    await page.getByRole('link', { name: subjects[1] }).waitFor()
    await page.locator('body').press('u')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('2 selected').waitFor()
    await page.keyboard.press('s')
    await page.locator('[popover]:popover-open').getByRole('button', { name: 'Closed' }).press('Enter')
    await page.getByText('2 tickets are changed.').waitFor()
    const statuses = async () => Promise.all(subjects.map(async (subject) => (await ticketOf(subject)).status))
    expect(await statuses()).toEqual(['closed', 'closed'])
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await until('both are open again', async () => (await statuses()).join() === 'open,open')
    // Back in the list the keys go on from the ticket that was open.
    await openTicket(page, subjects[0]!)
    await page.keyboard.press('u')
    await page.keyboard.press('x')
    await page.locator('.row.is-selected', { hasText: subjects[0] }).waitFor()
    await page.keyboard.press('Escape')
  })

  test('puts in a macro by a slash, and writes formatted text with a pasted image', async () => {
    const subject = await desk.mail('With a picture')
    await openTicket(page, subject)
    await page.keyboard.press('r')
    await page.keyboard.type('and/or ')
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    expect(await area.inputValue()).toBe('and/or ')
    await page.keyboard.type('/')
    await page.getByRole('combobox', { name: 'Put in a macro' }).fill('serial')
    await page.keyboard.press('Enter')
    await page.getByText('Serial number: sends the answer').waitFor()
    expect(await area.inputValue()).toBe('and/or\n\nWhich serial number has it?')
    await page.getByRole('button', { name: 'Only the text' }).click()
    await area.fill('Look: ')
    await area.press('Control+b')
    await page.locator('.tiptap').waitFor()
    await page.keyboard.type('here <it> is')
    await page.evaluate((base64) => {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
      const clipboardData = new DataTransfer()
      clipboardData.items.add(new File([bytes], 'dot.png', { type: 'image/png' }))
      document.activeElement!.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }),
      )
    }, PNG)
    const image = page.locator('.tiptap img[data-address]')
    await image.waitFor()
    await until('the image is shown', () => image.evaluate((one: HTMLImageElement) => one.naturalWidth === 1))
    await page.getByText('Saved as a draft').waitFor()
    await page.keyboard.press('Control+Enter')
    await sendNow(page)
    await page.getByText('The answer is sent.').waitFor()
    const raw = sentTo(subject)[0]!.raw.toString().replace(/=\r\n/g, '')
    expect(raw).toContain('<strong>here &lt;it&gt; is</strong>')
    expect(raw).toMatch(/<img src=(3D)?"cid:/)
    await openTicket(page, subject)
    await page.frameLocator('.message.outbound iframe').locator('img').waitFor()
  })

  test('keeps a search as a view with a count, and tells what is new in title and icon', async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('from:carla label:bug')
    await page.keyboard.press('Enter')
    await page.getByText('1 ticket', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1500, height: 900 })
    await page.locator('body').press('g')
    await page.keyboard.press('2')
    await page.getByRole('link', { name: 'All by keys' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save as a view' }).click()
    await page.getByLabel('Name').fill('Mine <b>')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: /^Mine <b> [1-9]/ })
    await link.waitFor()
    expect(page.url()).toContain('view_id=')
    await desk.mail('Something new')
    await page.waitForFunction(() => /^\([1-9]\d*\) /.test(document.title))
    const icon = await page.locator('link[rel="icon"]').getAttribute('href')
    expect(icon).toMatch(/^console\/icon.svg\?count=[1-9]/)
    expect(await (await fetch(`${desk.service().url}/${icon}`)).text()).toContain('<text')
    await page.locator('.row.is-new').first().waitFor()
  })

  test('what was looked at in one tab is not new in the other', async () => {
    const one = await desk.open()
    const other = await one.context().newPage()
    await other.goto(desk.service().url)
    await other.locator('.rail nav').waitFor()
    await desk.mail('New in both tabs')
    const isNew = (page: Page) => page.locator('.row.is-new', { hasText: 'New in both tabs' })
    await Promise.all([one, other].map((page) => isNew(page).waitFor()))
    await openTicket(one, 'New in both tabs')
    await isNew(other).waitFor({ state: 'detached' })
    await one.context().close()
  })

  test('speaks German, and stands in both directions without a scroll bar', async () => {
    const context = await desk.profile({ locale: 'de-DE' })
    const one = await context.newPage()
    await one.goto(desk.service().url)
    await one.getByLabel('E-Mail').fill(ADMIN.email)
    await one.getByLabel('Passwort').fill(ADMIN.password)
    await one.keyboard.press('Enter')
    await one.getByRole('navigation', { name: 'Bereiche' }).waitFor()
    await openTicket(one, 'All by keys')
    await one.getByRole('button', { name: 'Status: Offen' }).waitFor()
    expect(await one.locator('html').getAttribute('lang')).toBe('de')
    for (const [direction, width] of [
      ['rtl', 1280],
      ['rtl', 360],
      ['ltr', 640],
    ] as const) {
      await one.setViewportSize({ width, height: 640 })
      await one.evaluate((dir) => {
        document.documentElement.dir = dir
      }, direction)
      expect(await one.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    }
    await context.close()
  })
})
