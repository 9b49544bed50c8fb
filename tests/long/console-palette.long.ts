/** The palette has all that can be done, and each entry leads where it says. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { t } from '../../src/console/page/words/catalogue'
import { openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

const BOB = { email: 'bob@desk.example', password: 'bobs own password' }
/** Deeds on a ticket, and what stands on the page after each: a field, a menu or a dialog. */
const DEEDS: [deed: string, shows: string][] = [
  [t('composer.reply'), 'textarea:focus'],
  [t('composer.note'), 'textarea:focus'],
  [t('macro.choose'), '[popover=auto]:popover-open'],
  [t('message.find'), '.finding input:focus'],
  [t('ticket.snooze'), '[popover=auto]:popover-open'],
  [t('ticket.add_label'), '[popover=auto]:popover-open'],
  [t('ticket.assignee'), '[popover=auto]:popover-open'],
  [t('field.team'), '[popover=auto]:popover-open'],
  [t('ticket.priority'), '[popover=auto]:popover-open'],
  [t('ticket.status'), '[popover=auto]:popover-open'],
  [t('forward.title'), 'dialog[open]'],
  [t('ticket.edit_subject'), 'dialog[open]'],
  [t('merge.into', { ticket: 'TKT-1' }), 'dialog[open]'],
  [t('sender.block_what', { sender: 'carla@customer.example' }), 'dialog[open]'],
  [t('ticket.delete'), 'dialog[open]'],
  [t('begin.title'), 'dialog[open] [name=subject]'],
  [t('inbox.search'), '[type=search]:focus'],
  [t('frame.keys'), 'dialog[open] .keys'],
]

describe.skipIf(reason !== undefined)('the palette', () => {
  let desk: StartedConsole

  beforeAll(async () => {
    desk = await startConsole()
    const { call } = desk.service()
    await call('POST', '/users', { ...BOB, name: 'Bob' })
    await call('POST', '/macros', { name: 'Serial number', body: 'Which serial number has it?' })
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  const show = async (page: Page) => {
    await page.keyboard.press('Control+k')
    await page.locator('dialog [role=combobox]').waitFor()
  }
  /** Runs an entry as a person does, by its words. */
  const run = async (page: Page, words: string) => {
    await show(page)
    await page.keyboard.type(words)
    await page.locator('dialog').getByRole('option', { name: words }).first().click()
  }
  /** The entries below the name of a group. */
  const entriesOf = async (page: Page, group: string) => {
    await show(page)
    const entries = await page.evaluate((group) => {
      const all = [...document.querySelectorAll('dialog .group-name, dialog [role=option]')]
      const from = all.findIndex((one) => one.textContent === group) + 1
      const end = all.findIndex((one, place) => place >= from && one.classList.contains('group-name'))
      return all.slice(from, end < 0 ? undefined : end).map((one) => one.querySelector('span')!.textContent)
    }, group)
    await page.keyboard.press('Escape')
    return entries
  }

  test('offers each page of the settings to those who may open it, and leads there', async () => {
    for (const who of [undefined, BOB]) {
      const page = await desk.open({}, who)
      const entries = await entriesOf(page, 'Settings')
      await page.getByRole('link', { name: 'Settings', exact: true }).click()
      const links = page.getByRole('navigation', { name: 'Settings' }).getByRole('link')
      await links.first().waitFor()
      expect(entries).toEqual((await links.allTextContents()) as typeof entries)
      expect(entries.length).toBeGreaterThan(who ? 5 : 20)
      for (const name of entries) {
        await show(page)
        await page.keyboard.type(name)
        await page.locator('dialog').getByRole('option', { name, exact: true }).last().click()
        await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
      }
      await page.context().close()
    }
  })

  test('offers each section, and leads there', async () => {
    const page = await desk.open()
    const sections = page.getByRole('navigation', { name: 'Sections' }).getByRole('link')
    for (const name of (
      await sections.evaluateAll((links) => links.map((link) => link.getAttribute('title')!))
    ).toReversed()) {
      await run(page, t('inbox.go_to', { view: name }))
      await page.locator(`.rail a[title="${name}"][aria-current=page]`).waitFor()
    }
    await page.context().close()
  })

  test('does each deed on a ticket, and a menu or dialog that is left by Escape gives the focus back', async () => {
    const page = await desk.open()
    await openTicket(page, await desk.mail('By words alone'))
    for (const [deed, shows] of DEEDS) {
      await run(page, deed)
      await page.locator(shows).first().waitFor()
      await page.keyboard.press('Escape')
    }
    const row = page.locator('.list .row a').first()
    await row.focus()
    await page.keyboard.press('a')
    await page.locator('[popover=auto]:popover-open input:focus').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('[popover=auto]:popover-open').waitFor({ state: 'detached' })
    expect(await row.evaluate((link) => link === document.activeElement)).toBe(true)
    await page.keyboard.press('?')
    await page.locator('dialog .keys').first().waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await row.evaluate((link) => link === document.activeElement)).toBe(true)
    await page.context().close()
  })

  test('names its groups without a frame around each', async () => {
    const page = await desk.open()
    await show(page)
    const widths = await page
      .locator('dialog .group-name')
      .evaluateAll((names) => names.map((name) => getComputedStyle(name).borderWidth))
    expect(widths.length).toBeGreaterThan(1)
    expect(new Set(widths)).toEqual(new Set(['0px']))
    await page.context().close()
  })
})
