/** The work with customers in the console: contacts, companies, the panel beside a ticket, and time. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { openSection, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'

const AGENT = { email: 'bea@desk.example', password: 'a long password of Bea' }
/** A name that would run a script if it were not text. */
const HOSTILE = '<img src=x onerror=alert(1)>'

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('customers', () => {
  let desk: StartedConsole
  let page: Page
  const call = (method: string, path: string, body?: unknown) => desk.service().call(method, path, body)
  const found = async (path: string) => (await call('GET', path)).body.data

  beforeAll(async () => {
    desk = await startConsole()
    await call('POST', '/users', { ...AGENT, name: 'Bea' })
    page = await desk.open()
  })
  // A failed test leaves no dialog over the page of the next.
  afterEach(async () => {
    while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape')
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  test('a contact with two addresses, an external id and own fields is made, found, and edited', async () => {
    await openSection(page, 'Contacts')
    await page.getByRole('button', { name: 'New contact' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Carla Conti')
    await page.getByLabel('Addresses').fill('carla@customer.example\ncarla@private.example')
    await page.getByLabel('External id').last().fill('crm-1')
    await page.getByRole('button', { name: 'Add a field' }).click()
    await page.getByLabel('Name of the field').fill('seats')
    await page.getByLabel('Value of seats').fill('25')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Carla Conti' }).waitFor()
    const [contact] = await found('/contacts?external_id=crm-1')
    expect(contact).toMatchObject({
      emails: ['carla@customer.example', 'carla@private.example'],
      custom: { seats: 25 },
    })
    await page.getByRole('link', { name: 'All contacts' }).click()
    await page.getByLabel('Search').fill('private.example')
    await page.getByRole('link', { name: 'Carla Conti', exact: true }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Phone').fill('+49 30 1234')
    await page.getByRole('button', { name: 'Remove the field seats' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('+49 30 1234').waitFor()
    expect((await found(`/contacts/${contact.id}`)).custom).toEqual({})
  })

  test('what the API finds wrong stands at the field, and what was typed stays', async () => {
    await openSection(page, 'Contacts')
    await page.getByRole('button', { name: 'New contact' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Carla again')
    await page.getByLabel('Addresses').fill('carla@customer.example')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.field .fault', { hasText: 'already used' }).waitFor()
    await page.getByLabel('Addresses').fill('no address')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('textarea[name=emails][aria-invalid=true]').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Carla again')
    await page.keyboard.press('Escape')
  })

  test('a company is made, takes the contacts of its domain, and is found by a part of its name', async () => {
    await openSection(page, 'Companies')
    await page.getByRole('button', { name: 'New company' }).click()
    await page.getByLabel('Name', { exact: true }).fill(`Acme ${HOSTILE}`)
    await page.getByLabel('Domains').fill('customer.example')
    await page.getByLabel('Hourly rate').fill('90.50')
    await page.getByLabel('Currency').fill('EUR')
    await page.getByRole('button', { name: 'Save' }).click()
    const [{ id: contact_id }] = await found('/contacts?email=carla@customer.example')
    const { id } = (await call('POST', '/tickets', { subject: 'Of before', contact_id })).body.data
    await page.getByRole('button', { name: 'Link matching contacts' }).click()
    await page.getByText('1 contact is linked.').first().waitFor()
    await page.getByRole('link', { name: 'Carla Conti' }).waitFor()
    await page.getByRole('link', { name: 'Of before' }).waitFor()
    await call('DELETE', `/tickets/${id}`)
    await page.getByRole('link', { name: 'All companies' }).click()
    await page.getByLabel('Search').fill('acm')
    await page.getByRole('row', { name: /Acme.*customer\.example 1/ }).waitFor()
    await page.getByLabel('Search').fill('nothing of that')
    await page.getByText('Nothing found.').waitFor()
  })

  test('the customer stands beside the ticket, with company, notes and other tickets', async () => {
    // Before the mail: the link has a count in its name after it.
    await openSection(page, 'Inbox')
    const first = await desk.mail('The printer is on fire')
    const second = await desk.mail('It still burns')
    await openTicket(page, second)
    const panel = page.getByRole('region', { name: 'Customer' })
    await panel.getByRole('link', { name: first }).waitFor()
    await panel.getByRole('button', { name: 'Edit Carla Conti' }).click()
    await page.getByLabel('Notes').fill(`Prefers the phone ${HOSTILE}`)
    await page.getByRole('button', { name: 'Save' }).click()
    await panel.getByText('Prefers the phone').waitFor()
    await panel.getByText('Acme').click()
    await panel.getByRole('link', { name: 'Open the company' }).waitFor()
    await panel.getByRole('button', { name: "Edit the ticket's fields" }).click()
    await page.getByRole('button', { name: 'Add a field' }).click()
    await page.getByLabel('Name of the field').fill('order')
    await page.getByLabel('Value of order').fill('A-4711')
    await page.getByRole('button', { name: 'Save' }).click()
    await panel.getByText('A-4711').waitFor()
    const ticket = (await found('/tickets')).find(({ subject }: { subject: string }) => subject === second)
    expect(ticket.custom).toEqual({ order: 'A-4711' })
  })

  test('a ticket that nobody is known to have written gets its contact', async () => {
    const gone = (await call('POST', '/contacts', { name: 'Gone', email: 'gone@other.example' })).body.data
    const ticket = (await call('POST', '/tickets', { subject: 'A fax', contact_id: gone.id })).body.data
    await call('DELETE', `/contacts/${gone.id}`)
    await openTicket(page, 'A fax')
    const panel = page.getByRole('region', { name: 'Customer' })
    await panel.getByRole('button', { name: 'Choose the contact' }).click()
    const dialog = page.getByRole('dialog', { name: 'Choose the contact' })
    await choose(dialog.getByLabel('Contact', { exact: true }), 'Carla Conti', page)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await panel.getByRole('link', { name: 'Carla Conti' }).waitFor()
    expect((await found(`/tickets/${ticket.id}`)).contact.name).toBe('Carla Conti')
    await call('DELETE', `/tickets/${ticket.id}`)
  })

  test('contacts that are the same person are merged', async () => {
    const { id } = (await call('POST', '/contacts', { name: 'Carla C.', email: 'cc@other.example' })).body.data
    const [carla] = await found('/contacts?external_id=crm-1')
    await openSection(page, 'Contacts')
    await page.getByRole('link', { name: 'Carla Conti', exact: true }).click()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Merge other contacts into Carla Conti' })
    await choose(dialog.getByLabel('Contacts that are the same person', { exact: true }), 'Carla C.', page)
    await dialog.getByRole('listitem').getByText('cc@other.example').waitFor()
    await dialog.getByRole('button', { name: 'Merge into Carla Conti' }).click()
    await page.getByText('They are all Carla Conti now.').first().waitFor()
    await page.getByText('cc@other.example').waitFor()
    expect((await call('GET', `/contacts/${id}`)).body.error.details.merged_into).toEqual({ id: carla.id })
    // An address of the merged contact leads to the one that it is now.
    await page.evaluate((id) => {
      location.hash = location.hash.replace(/contacts\/.*/, `contacts/${id}`)
    }, id)
    await page.waitForURL(`**/contacts/${carla.id}`)
  })

  test('time is logged, changed, summed up, and downloaded', async () => {
    await openSection(page, 'Time')
    await page.getByRole('button', { name: 'Log time' }).click()
    const dialog = page.getByRole('dialog', { name: 'Log time' })
    await choose(dialog.getByLabel('Ticket'), 'It still burns', page)
    await dialog.getByLabel('Minutes').fill('90')
    await dialog.getByLabel('Description').fill('=HYPERLINK("x")')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /It still burns.*1 h 30 min.*€135\.75/ }).waitFor()
    await page.getByRole('button', { name: /Edit the time on/ }).click()
    await page.getByLabel('Minutes').fill('60')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /It still burns.*1 h 00 min.*€90\.50/ }).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download as CSV' }).click()
    const csv = readFileSync(await (await download).path(), 'utf8')
    expect(csv).toContain('It still burns')
    // A spreadsheet would run it as a formula.
    expect(csv).toContain(`"'=HYPERLINK(""x"")"`)
    await page.getByRole('link', { name: 'Report', exact: true }).click()
    await page.getByRole('row', { name: /Acme.*1 h 00 min 1 h 00 min €90\.50/ }).waitFor()
    await page.getByLabel('Sum up by').selectOption('Person')
    await page.getByRole('row', { name: /Admin 1 h 00 min/ }).waitFor()
    await page.getByRole('link', { name: 'Entries' }).click()
    await page.getByRole('button', { name: /Delete the time on/ }).click()
    await page
      .getByRole('dialog', { name: /Delete 1 h 00 min on TKT-/ })
      .getByRole('button', { name: 'Delete' })
      .click()
    await page.getByText('No time is logged for this choice.').waitFor()
  })

  test('an agent edits customers, and neither exports nor erases them, nor sees pages of admins', async () => {
    const other = await desk.open({}, AGENT)
    await openSection(other, 'Contacts')
    await other.getByRole('link', { name: 'Carla Conti', exact: true }).click()
    await other.getByRole('button', { name: 'Merge', exact: true }).waitFor()
    for (const name of ['Export the person', 'Erase the person']) {
      expect(await other.getByRole('button', { name }).count()).toBe(0)
    }
    await openSection(other, 'Settings')
    const pages = other.getByRole('navigation', { name: 'Settings' })
    await pages.getByRole('link', { name: 'Labels' }).waitFor()
    for (const name of ['Mailboxes', 'People', 'API keys', 'Audit log', 'Old tickets']) {
      expect(await pages.getByRole('link', { name }).count()).toBe(0)
    }
    await other.evaluate(() => {
      location.hash = location.hash.replace(/settings.*/, 'settings/keys')
    })
    await other.getByText('Only admins see this.').waitFor()
    await other.context().close()
  })

  test('a person is exported, and erased once the name is typed', async () => {
    await openSection(page, 'Contacts')
    await page.getByRole('link', { name: 'Carla Conti', exact: true }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export the person' }).click()
    const person = JSON.parse(readFileSync(await (await download).path(), 'utf8'))
    expect(person.data.contact.name).toBe('Carla Conti')
    await page.getByRole('button', { name: 'Erase the person' }).click()
    const dialog = page.getByRole('dialog', { name: 'Erase Carla Conti for good?' })
    await dialog.getByLabel('Type “Carla Conti” to go on').fill('Carla')
    await dialog.getByRole('button', { name: 'Erase the person' }).click()
    expect(await found('/contacts?search=Carla')).toHaveLength(1)
    await dialog.getByLabel('Type “Carla Conti” to go on').fill('Carla Conti')
    await dialog.getByRole('button', { name: 'Erase the person' }).click()
    await page
      .getByText(/Erased: 4 tickets, [23] messages, 0 files\./)
      .first()
      .waitFor()
    expect(await found('/contacts?search=Carla')).toEqual([])
  })

  test('a contact is deleted by its name, and its tickets stay', async () => {
    await call('POST', '/contacts', { name: HOSTILE, email: 'mallory@evil.example' })
    await openSection(page, 'Contacts')
    await page.getByRole('link', { name: HOSTILE, exact: true }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page
      .getByRole('dialog', { name: `Delete ${HOSTILE}?` })
      .getByRole('button', { name: 'Delete' })
      .click()
    await page.getByText('There is no contact yet.').waitFor()
    expect(await found('/contacts')).toEqual([])
    expect(await found('/tickets')).toHaveLength(2)
  })
})

/** Types into a field that proposes things, and takes the proposal that begins with the words. */
async function choose(field: ReturnType<Page['getByLabel']>, words: string, page: Page): Promise<void> {
  await field.fill(words)
  const list = await field.getAttribute('list')
  const option = page.locator(`[id="${list}"] option`, {
    has: page.locator(`xpath=self::*[contains(@value, "${words}")]`),
  })
  await option.first().waitFor({ state: 'attached' })
  await field.fill((await option.first().getAttribute('value'))!)
}
