/** Deeds on whole tickets in the console, and long work, which shows how far it is. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { faultsOf } from '../support/axe'
import {
  ADDRESS,
  openPart,
  openTicket,
  type StartedConsole,
  sendNow,
  startConsole,
  whyNoConsole,
} from '../support/console'
import { coveredFields, cutLabels, tooWide, visit, visitAll } from '../support/console-pages'
import { startReceiver } from '../support/receiver'
import { until } from '../support/service'
import { sendMail } from '../support/smtp'

const BOB = { email: 'bob@desk.example', password: 'bobs own password' }
const SALES = 'sales@desk.example'
/** More than one request changes. */
const MANY = 120
const LONG = 300

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('a deed', () => {
  let desk: StartedConsole
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let page: Page
  const answer = (method: string, path: string, body?: unknown) => desk.service().call(method, path, body)
  const call = async (method: string, path: string, body?: unknown) => (await answer(method, path, body)).body?.data
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const dialog = (name: string) => page.getByRole('dialog', { name })
  const sentTo = (address: string) => desk.sink.messages.filter(({ to }) => to.includes(address))
  const idHere = () => /tickets\/([^?]+)/.exec(page.url())![1]!
  /** Files an email, and opens its ticket. */
  const mail = async (subject: string, given: object = {}) => {
    const from = 'carla@customer.example'
    await sendMail({ port: desk.service().smtp_port, from, to: ADDRESS, mail: { from, subject, text: 'Hi', ...given } })
    await visit(page, 'tickets')
    await openTicket(page, subject)
  }

  beforeAll(async () => {
    receiver = await startReceiver({ answer: 500 })
    // The test itself asks for more than a person.
    desk = await startConsole(() => ({ WEBHOOK_CA_FILE: receiver.ca_file, RATE_LIMIT_PER_MINUTE: '100000' }))
    const smtp = { host: '127.0.0.1', port: desk.sink.port, security: 'none' }
    await call('POST', '/users', { ...BOB, name: 'Bob' })
    await call('POST', '/mailboxes', { address: SALES, smtp })
    page = await desk.open({ viewport: { width: 1500, height: 900 }, reducedMotion: 'reduce' })
  })
  afterEach(async () => {
    while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape')
  })
  afterAll(async () => {
    await desk.stop()
    receiver[Symbol.dispose]()
    expect(desk.faults).toEqual([])
  })

  test('forward a ticket with its files to somebody else, but none of its notes', async () => {
    await mail('A broken pump', { text: 'It leaks.', attachments: [{ filename: 'leak.txt', content: 'Drip' }] })
    const source = idHere()
    await call('POST', `/tickets/${source}/messages`, { body: 'She is angry.', is_internal: true })
    await page.locator('.message.note').waitFor()
    await page.keyboard.press('f')
    const form = dialog('Forward')
    await form.locator('[name="contact.email"]').fill('supplier@other.example')
    await form.getByLabel('Text', { exact: true }).fill('Can you repair it?')
    const chosen = form.getByRole('group', { name: 'Which messages' }).last().getByRole('checkbox')
    expect([await chosen.count(), await chosen.first().isChecked()]).toEqual([1, true])
    const plan = { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('Valve 3') }
    await form.locator('input[type=file]').setInputFiles(plan)
    await form.locator('.file', { hasText: 'plan.txt' }).waitFor()
    await form.getByRole('button', { name: 'Forward' }).click()
    await page.getByRole('heading', { name: 'Fwd: A broken pump' }).waitFor()
    await until('it has left', () => sentTo('supplier@other.example').length === 1)
    const raw = sentTo('supplier@other.example')[0]!.raw.toString()
    for (const part of ['Can you repair it?', 'It leaks.', 'leak.txt', 'plan.txt']) expect(raw).toContain(part)
    expect(raw).not.toContain('angry')
    await page.getByRole('link', { name: 'A broken pump', exact: true }).last().click()
    await page.locator('.head h1', { hasText: /^A broken pump$/ }).waitFor()
    expect(idHere()).toBe(source)
  })

  test('forward one message of several, or none', async () => {
    await mail('Two words', { text: 'The first word.' })
    await call('POST', `/tickets/${idHere()}/messages`, { body: 'The second word.' })
    const message = page.locator('.message.outbound')
    await message.hover()
    await message.getByRole('button', { name: 'Forward the message of Admin' }).click()
    const form = dialog('Forward')
    await form.locator('[name="contact.email"]').fill('lawyer@other.example')
    const second = form.getByRole('checkbox', { name: /The second word/ })
    await second.uncheck()
    await form.getByRole('button', { name: 'Forward' }).click()
    await form.getByRole('alert').getByText('must be a list of 1 to 20 ids').waitFor()
    await second.check()
    await form.getByRole('button', { name: 'Forward' }).click()
    await until('it has left', () => sentTo('lawyer@other.example').length === 1)
    const raw = sentTo('lawyer@other.example')[0]!.raw.toString()
    expect([raw.includes('The second word.'), raw.includes('The first word.')]).toEqual([true, false])
  })

  test('block who wrote, and take that back as an admin', async () => {
    await mail('Buy cheap pills', { from: 'pills@spam.example' })
    const block = async (one: Page) => {
      await one.getByRole('button', { name: 'More', exact: true }).click()
      await one.getByRole('button', { name: 'Block pills@spam.example' }).click()
      await one.getByRole('dialog').getByRole('button', { name: 'Block this sender' }).click()
      await one.getByText('Mail from pills@spam.example is held from now on.').first().waitFor()
    }
    await block(page)
    expect(await call('GET', '/sender-rules')).toMatchObject([{ sender: 'pills@spam.example', action: 'block' }])
    await button('Undo').last().click()
    await until('the rule is gone', async () => (await call('GET', '/sender-rules')).length === 0)
    const other = await desk.open({}, BOB)
    await openTicket(other, 'Buy cheap pills')
    await block(other)
    expect(await other.getByRole('button', { name: 'Undo' }).count()).toBe(0)
    expect(await call('GET', '/sender-rules')).toHaveLength(1)
    await other.context().close()
  })

  test('delete a ticket for good, unless a label holds it, and go on to the next', async () => {
    const { id: label } = await call('POST', '/labels', { name: 'lawsuit', color: '#EF4444' })
    await mail('Delete me')
    const id = idHere()
    await call('PATCH', '/retention', { hold_label_ids: [label] })
    await call('PATCH', `/tickets/${id}`, { label_ids: [label] })
    const doom = async () => {
      await page.keyboard.press('#')
      await page
        .getByRole('dialog', { name: /^Delete / })
        .getByRole('button', { name: 'Delete the ticket' })
        .click()
    }
    await button('Remove the label lawsuit').waitFor()
    await doom()
    await page.getByRole('alert').getByText('A hold label keeps it').first().waitFor()
    await page.keyboard.press('Escape')
    expect((await answer('GET', `/tickets/${id}`)).status).toBe(200)
    await call('PATCH', `/tickets/${id}`, { label_ids: [] })
    await button('Remove the label lawsuit').waitFor({ state: 'detached' })
    await doom()
    await page.locator('.head h1', { hasText: 'Delete me' }).waitFor({ state: 'detached' })
    await page.locator('.head h1').waitFor()
    expect(await page.locator('.row', { hasText: 'Delete me' }).count()).toBe(0)
    expect((await answer('GET', `/tickets/${id}`)).status).toBe(404)
  })

  test('answer from another mailbox, and find what came to it', async () => {
    await mail('A question of money')
    const from = page.locator('.recipients .line').first()
    await from.getByText(ADDRESS).waitFor()
    await button('Answer from another mailbox').click()
    await page.getByRole('option', { name: SALES }).click()
    await from.getByText(SALES).waitFor()
    await page.getByPlaceholder(/^Reply to/).fill('It costs nothing.')
    await button('Send').click()
    await sendNow(page)
    await until('it has left', () => desk.sink.messages.some(({ raw }) => raw.includes('It costs nothing.')))
    const sent = desk.sink.messages.find(({ raw }) => raw.includes('It costs nothing.'))!
    expect(sent.raw.toString()).toMatch(/^From: .*sales@desk\.example/m)
    await page.getByLabel('Search tickets').fill('mailbox:sales')
    await page.keyboard.press('Enter')
    await page.getByText('1 ticket', { exact: true }).waitFor()
    await page.locator('.row', { hasText: 'A question of money' }).waitFor()
  })

  test('see at once what somebody else has begun to write', async () => {
    await mail('Whose turn')
    const other = await desk.open({}, BOB)
    await openTicket(other, 'Whose turn')
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(new URL(request.url()).pathname)
    await visit(page, 'tickets')
    page.on('request', note)
    const mark = page.locator('.row', { hasText: 'Whose turn' }).getByTitle('Somebody has begun an answer or a note')
    await other.getByPlaceholder(/^Reply to/).fill('Mine.')
    await mark.waitFor()
    await other.getByPlaceholder(/^Reply to/).fill('')
    await mark.waitFor({ state: 'detached' })
    page.off('request', note)
    expect(asked.filter((path) => path.includes('/tickets'))).toEqual([])
    await other.context().close()
  })

  test(`read ${LONG} messages: few are drawn at once, and nothing more is asked for`, async () => {
    await mail('The longest one')
    const id = idHere()
    for (let number = 1; number < LONG; number++) {
      // Each third is a mail with a frame of its own.
      const body =
        number % 3 === 0 ? `<table><tr><td style="color: red">Line ${number}.</td></tr></table>` : `Line ${number}.`
      await call('POST', `/tickets/${id}/messages`, { body, is_internal: true })
    }
    await mail('A short one')
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(new URL(request.url()).pathname)
    const ofApi = () => asked.filter((path) => path.includes('/api/') && !path.endsWith('/viewing'))
    const messages = page.locator('.messages .message')
    const nodes = () => page.evaluate(() => document.querySelector('.messages')!.querySelectorAll('*').length)
    page.on('request', note)
    await openTicket(page, 'The longest one')
    await page.getByText(`Line ${LONG - 1}.`).waitFor()
    await until('all that is shown is drawn', async () => (await page.locator('.message-later').count()) === 0)
    expect([await messages.count(), (await nodes()) < 2500]).toEqual([30, true])
    await page.getByRole('button', { name: `Show earlier messages (${LONG - 30})` }).click()
    await page.getByRole('button', { name: `Show earlier messages (${LONG - 40})` }).waitFor()
    expect(await messages.count()).toBe(40)
    await page.keyboard.press('Home')
    await page.getByRole('button', { name: `Show later messages (${LONG - 30})` }).waitFor()
    expect(await messages.count()).toBe(30)
    await page.keyboard.press('End')
    await page.getByText(`Line ${LONG - 1}.`).waitFor()
    await openTicket(page, 'A short one')
    await page.locator('.message-text', { hasText: 'Hi' }).waitFor()
    expect(await messages.count()).toBe(1)
    page.off('request', note)
    expect(ofApi().length).toBeLessThanOrEqual(4)
  })

  test('see every field of the settings below a toast, and whole labels in German', async () => {
    const german = await desk.open({ locale: 'de-DE', viewport: { width: 1500, height: 900 } })
    const cut: string[] = []
    await visitAll(german, async (path) => {
      cut.push(...(await cutLabels(german)).map((label) => `${path}: ${label}`))
    })
    expect(cut).toEqual([])
    const covered: string[] = []
    for (const [width, height] of [
      [1280, 800],
      [1280, 500],
      [390, 844],
    ] as const) {
      await german.setViewportSize({ width, height })
      await visit(german, 'settings/organization')
      const save = german.locator('form.edit [type=submit]').first()
      await german.locator('form.edit [name=name]').fill(`Organisation ${width} ${height}`)
      await save.click()
      await german.locator('.notice').first().waitFor()
      covered.push(...(await coveredFields(german)).map((name) => `${width} ${height}: ${name}`))
    }
    expect(covered).toEqual([])
    await german.context().close()
  })

  test('change a whole list, and see how far it is from any page', async () => {
    const [contact] = await call('GET', '/contacts')
    for (let number = 1; number <= MANY; number++) {
      await call('POST', '/tickets', { subject: `Batch ${number}`, contact_id: contact.id, priority: 'low' })
    }
    await visit(page, 'tickets?priority=low')
    await page.getByText(`${MANY} tickets`, { exact: true }).waitFor()
    const held = Promise.withResolvers<void>()
    let requests = 0
    await page.route('**/tickets/bulk', async (route) => {
      if (++requests > 1) await held.promise
      await route.continue()
    })
    await page.keyboard.press('*')
    await button(`Select all ${MANY} of the list`).click()
    await page.keyboard.press('p')
    await page.locator('[popover]:popover-open').getByRole('button', { name: 'Urgent' }).click()
    await button('Change all').click()
    await page.getByRole('progressbar', { name: 'Tickets are being changed' }).waitFor()
    await page.getByText(new RegExp(`^\\d+ of ${MANY}`)).waitFor()
    held.resolve()
    await page.getByText(`Done: ${MANY} tickets are changed.`).first().waitFor()
    await page.locator('.work').waitFor({ state: 'detached' })
    await page.unroute('**/tickets/bulk')
  })

  test('erase a person, and see how many tickets are erased', async () => {
    await sendMail({
      ...{ port: desk.service().smtp_port, from: 'erin@customer.example', to: ADDRESS },
      mail: { from: 'Erin <erin@customer.example>', subject: 'Forget me', text: 'Please.' },
    })
    const find = async () => (await call('GET', '/contacts?search=erin'))[0]
    await until('it is filed', async () => (await find()) !== undefined)
    const contact = await find()
    await visit(page, `contacts/${contact.id}`)
    const held = Promise.withResolvers<void>()
    // The service has done it: its answer takes its time.
    await page.route('**/erase', async (route) => {
      const response = await route.fetch()
      await held.promise
      await route.fulfill({ response })
    })
    await button('Erase the person').click()
    await page.getByRole('dialog').getByRole('textbox').fill('Erin')
    await page.getByRole('dialog').getByRole('button', { name: 'Erase the person' }).click()
    await page.getByRole('progressbar', { name: 'Erin is being erased' }).waitFor()
    await page.getByText('1 of 1').waitFor()
    expect([await faultsOf(page), await tooWide(page)]).toEqual([[], []])
    expect(await page.getByRole('dialog').count()).toBe(0)
    held.resolve()
    await page.getByText(/^Erased: 1 tickets/).waitFor()
    await page.locator('.work').waitFor({ state: 'detached' })
    await page.unroute('**/erase')
  })

  test('send events again, and see how many are on their way', async () => {
    await call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created'] })
    await openPart(page, 'Webhooks')
    await page.getByRole('link', { name: receiver.url }).click()
    await button('Send events again').click()
    const form = dialog('Send events again')
    await form.getByLabel('Events from').fill(new Date(Date.now() - 86_400_000).toISOString().slice(0, 16))
    await form.getByLabel('Which').selectOption('every event that it wants, as a new delivery')
    await form.getByRole('button', { name: 'Send events again' }).click()
    // The receiver takes none.
    await page.getByRole('progressbar', { name: 'Events are being sent again' }).waitFor()
    await page.getByText(/^0 of \d+/).waitFor()
    receiver.answer = 200
    await call('DELETE', `/webhooks/${(await call('GET', '/webhooks'))[0].id}`)
    await page.locator('.work').waitFor({ state: 'detached' })
  })
})
