/** Answers: their recipients, the changes that follow them, and how they are taken back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { ADDRESS, openTicket, type StartedConsole, sendNow, startConsole, whyNoConsole } from '../support/console'
import { ADMIN, until } from '../support/service'

describe.skipIf(whyNoConsole() !== undefined)('the composer', () => {
  let desk: StartedConsole
  let page: Page
  const call = async (method: string, path: string, body?: unknown) =>
    (await desk.service().call(method, path, body)).body.data
  const ticketOf = async (subject: string) =>
    (await call('GET', `/tickets?search=${encodeURIComponent(`"${subject}"`)}`))[0]
  const area = () => page.locator('.composer textarea')
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  beforeAll(async () => {
    desk = await startConsole()
    page = await desk.open()
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  test('shows from where and to whom the answer goes, before and while it is written', async () => {
    const subject = await desk.mail('To whom')
    const { id } = await until('it is a ticket', () => ticketOf(subject)).then(() => ticketOf(subject))
    await call('POST', `/tickets/${id}/participants`, { email: 'dora@customer.example' })
    await openTicket(page, subject)
    const chips = () => page.locator('.recipients .chip bdi').allTextContents()
    const before = [ADDRESS, 'carla@customer.example', 'dora@customer.example']
    await until('all stand there', async () => JSON.stringify(await chips()) === JSON.stringify(before))
    await area().fill('Hello')
    expect(await chips()).toEqual(before)
    const copies = page.getByRole('textbox', { name: 'Cc' })
    await copies.fill('nobody')
    await copies.press('Enter')
    await page.getByText('“nobody” is no email address.').waitFor()
    await copies.fill('eve@customer.example')
    await copies.press('Enter')
    await button('No copy to dora@customer.example').click()
    expect((await chips()).slice(2)).toEqual(['eve@customer.example'])
    await button('Send').click()
    await sendNow(page)
    await until('it has left', () => desk.sink.messages.some(({ raw }) => raw.includes('Hello')))
    expect(desk.sink.messages.at(-1)!.to.sort()).toEqual(['carla@customer.example', 'eve@customer.example'])
  })

  test('an answer takes a ticket of nobody, waits as the person usually does, and comes back with the cursor', async () => {
    const subject = await desk.mail('Mine from now on')
    await openTicket(page, subject)
    await area().fill('One two three')
    await button('More ways to send').click()
    await page.locator('[popover]:popover-open .item', { hasText: 'also waits for the customer' }).click()
    await area().focus()
    await area().evaluate((field: HTMLTextAreaElement) => field.setSelectionRange(4, 7))
    await button('Send and wait').click()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByRole('heading', { name: subject }).waitFor()
    await page.locator('.composer textarea:focus').waitFor()
    const selected = await area().evaluate(({ selectionStart, selectionEnd }: HTMLTextAreaElement) => [
      selectionStart,
      selectionEnd,
    ])
    expect([selected, await area().inputValue()]).toEqual([[4, 7], 'One two three'])
    await page.keyboard.press('Control+Enter')
    await sendNow(page)
    await page.getByText('The ticket is now: Waiting.').waitFor()
    const { status, assignee } = await ticketOf(subject)
    expect([status, assignee.name]).toEqual(['pending', 'Admin'])
    await page.reload()
    await openTicket(page, await desk.mail('The next one'))
    await button('Send and wait').waitFor()
    const other = await desk.open({}, ADMIN)
    await openTicket(other, 'The next one')
    await other.getByRole('button', { name: 'Send', exact: true }).waitFor()
    await other.context().close()
  })

  test('an answer leaves later, is taken back by its author, and says why it did not leave', async () => {
    const subject = await desk.mail('Good morning')
    const { id } = await until('it is a ticket', () => ticketOf(subject)).then(() => ticketOf(subject))
    await openTicket(page, subject)
    await area().fill('Have a nice day')
    await button('Send later').click()
    await button('Tomorrow, 9:00').click()
    const waiting = page.getByRole('article', { name: 'Answer of Admin that leaves later' })
    await waiting.getByText('Admin: leaves on').waitFor()
    expect(await area().inputValue()).toBe('')
    await waiting.getByRole('button', { name: 'Take back' }).click()
    await waiting.waitFor({ state: 'detached' })
    expect(await area().inputValue()).toBe('Have a nice day')

    await page.locator('h1').click()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Send later')
    await page.keyboard.press('Enter')
    await button('A date and time …').click()
    await page.locator('dialog').getByText('UTC').waitFor()
    await page.locator('dialog [name=moment]').fill('2020-01-01T09:00')
    await page.locator('dialog').getByRole('button', { name: 'Send later' }).click()
    await page.locator('dialog .fault').getByText('must be in the future').waitFor()
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)
    await page.locator('dialog [name=moment]').fill(tomorrow)
    await page.locator('dialog').getByRole('button', { name: 'Send later' }).click()
    await waiting.waitFor()
    const [draft] = await call('GET', `/drafts?ticket_id=${id}`)
    expect([draft.send_at.slice(0, 16), draft.unless_answered]).toEqual([tomorrow, true])

    const soon = () => new Date(Date.now() + 1000).toISOString()
    await call('PATCH', `/drafts/${draft.id}`, { send_at: soon() })
    await page.locator('.message.outbound').waitFor()
    await waiting.waitFor({ state: 'detached' })
    await until('it has left', () => desk.sink.messages.some(({ raw }) => raw.includes('Have a nice day')))

    await area().fill('Too late')
    await button('Send later').click()
    await button('In three hours').click()
    await waiting.waitFor()
    const [other] = await call('GET', `/drafts?ticket_id=${id}`)
    await call('POST', `/tickets/${id}/messages`, { body: 'Done already', send_email: false })
    await waiting.getByText('A message came').waitFor()
    await call('PATCH', `/drafts/${other.id}`, { send_at: soon() })
    await page.getByText('This did not leave as planned: a message came before.').waitFor()
    expect(await area().inputValue()).toBe('Too late')
    await area().fill('')
  })

  test('a mail to anybody begins a ticket, and one without an email only the ticket', async () => {
    await page.keyboard.press('Escape')
    await page.locator('body').press('c')
    await page.locator('dialog [name="contact.email"]').fill('supplier@parts.example')
    await page.locator('dialog [name=subject]').fill('Ten screws')
    await page.locator('dialog [name="message.body"]').fill('Please send us ten screws.')
    await button('Begin the ticket').click()
    await page.getByRole('heading', { name: 'Ten screws' }).waitFor()
    await page.getByText('Please send us ten screws.').first().waitFor()
    await until('it has left', () => desk.sink.messages.some(({ to }) => to.includes('supplier@parts.example')))
    expect(desk.sink.messages.at(-1)!.raw.toString()).toMatch(/^Subject: Ten screws \[/m)
    await page.locator('body').press('c')
    await page.locator('dialog [name="contact.email"]').fill(ADDRESS)
    await page.locator('dialog [name=subject]').fill('A call')
    await page.locator('dialog [name="message.body"]').fill('She called.')
    await page.getByLabel('Send it by email').uncheck()
    await button('Begin the ticket').click()
    await page.locator('dialog [aria-invalid=true], dialog .fault').first().waitFor()
    await page.locator('dialog [name="contact.email"]').fill('caller@customer.example')
    await button('Begin the ticket').click()
    await page.getByRole('heading', { name: 'A call' }).waitFor()
    expect(desk.sink.messages.some(({ to }) => to.includes('caller@customer.example'))).toBe(false)
  })

  test('a text that is too long is refused before it is sent', async () => {
    await openTicket(page, await desk.mail('Too much'))
    await area().evaluate((field: HTMLTextAreaElement) => {
      field.value = 'x'.repeat(1_000_001)
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    })
    await page.getByText('The text is too long').waitFor()
    expect(await button('Send and wait').isDisabled()).toBe(true)
    await area().fill('')
  })

  test('of a long conversation both ends are a key away, words are found, and what is new has a line', async () => {
    const subject = await desk.mail('A long story')
    const { id } = await until('it is a ticket', () => ticketOf(subject)).then(() => ticketOf(subject))
    for (let number = 1; number <= 60; number++) {
      await call('POST', `/tickets/${id}/messages`, { body: `Part ${number}.`, is_internal: true })
    }
    await call('POST', '/users', { name: 'Bob', email: 'bob@desk.example', password: 'bobs own password' })
    const other = await desk.open({}, { email: 'bob@desk.example', password: 'bobs own password' })
    await openTicket(other, subject)
    const told = other.waitForResponse((response) => response.url().endsWith('/viewing'))
    await other.locator('.message-text', { hasText: 'Part 60.' }).waitFor()
    expect(await other.locator('.message-text', { hasText: /^Part 1\.$/ }).count()).toBe(0)
    await other.keyboard.press('Home')
    await other.locator('.message-text', { hasText: /^Part 1\.$/ }).waitFor()
    await other.keyboard.press('End')
    await other.locator('.message-text', { hasText: 'Part 60.' }).waitFor()
    await other.keyboard.press('F')
    await other.keyboard.type('part 17.')
    await other.getByText('1 of 61').waitFor()
    await other.locator('.message-text', { hasText: 'Part 17.' }).waitFor()
    await other.keyboard.press('Escape')
    expect(await other.locator('.first-new').count()).toBe(0)
    await told
    await other.keyboard.press('u')
    await call('POST', `/tickets/${id}/messages`, { body: 'And then?', is_internal: true })
    await other.locator('.row.is-new', { hasText: subject }).waitFor()
    await openTicket(other, subject)
    await other.locator('li', { hasText: 'And then?' }).locator('.first-new').waitFor()
    await other.context().close()
  })
})
