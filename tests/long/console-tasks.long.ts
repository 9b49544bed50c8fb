/** Tasks of agents and admins that no other test of the console does. `tests/console/tasks.ts` lists all of them. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import type { Page } from 'playwright-core'
import {
  ADDRESS,
  choose,
  enter,
  leave,
  openPart,
  openTicket,
  type StartedConsole,
  sendNow,
  startConsole,
  whyNoConsole,
} from '../support/console'
import { importFolder, newFolder, writeRows } from '../support/imports'
import { codeOf } from '../support/second-factor'
import { ADMIN, until } from '../support/service'
import { sendMail } from '../support/smtp'

const BOB = { email: 'bob@desk.example', password: 'bobs own password' }

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('a task', () => {
  let desk: StartedConsole
  let page: Page
  const call = async (method: string, path: string, body?: unknown) =>
    (await desk.service().call(method, path, body)).body?.data
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const reply = () => page.getByPlaceholder('Reply to carla@customer.example')
  const sent = (words: string) => desk.sink.messages.filter(({ raw }) => raw.includes(words))
  /** Files an email that has more than text. */
  const mail = async (subject: string, given: object) => {
    const from = 'carla@customer.example'
    await sendMail({ port: desk.service().smtp_port, from, to: ADDRESS, mail: { from, subject, text: 'Hi', ...given } })
    await openAll()
    await openTicket(page, subject)
  }
  const openAll = async () => {
    await page.keyboard.press('Escape')
    await page.evaluate(() => {
      location.hash = `${location.hash.split('/').slice(0, 2).join('/')}/tickets`
    })
  }

  beforeAll(async () => {
    desk = await startConsole()
    await call('POST', '/users', { ...BOB, name: 'Bob' })
    page = await desk.open({ viewport: { width: 1500, height: 900 } })
  })
  afterEach(async () => {
    while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape')
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  test('answer with a copy to somebody else', async () => {
    await mail('Two of us', {})
    await page.getByRole('textbox', { name: 'Cc' }).fill('dora@customer.example')
    await reply().fill('For both of you.')
    await button('Send').click()
    await sendNow(page)
    await until('it has left', () => sent('Two of us').length === 1)
    expect(sent('Two of us')[0]!.to.sort()).toEqual(['carla@customer.example', 'dora@customer.example'])
    expect(sent('Two of us')[0]!.raw.toString()).toMatch(/^Cc: dora@customer.example\r$/m)
  })

  test('answer with a list, a link, a quotation and code', async () => {
    await mail('Formatted', {})
    await reply().fill('one')
    for (const [format, words] of [
      ['List', 'two'],
      ['Quotation', 'three'],
      ['Code', 'a < b'],
    ] as const) {
      await button(format).click()
      await page.locator('.tiptap').waitFor()
      await page.keyboard.press('Control+End')
      await page.keyboard.type(words)
      await page.keyboard.press('Enter')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Enter')
    }
    await button('Link').click()
    await page.getByLabel('Address of the link').fill('https://desk.example/help')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('Saved as a draft').waitFor()
    await button('Send').click()
    await sendNow(page)
    await until('it has left', () => sent('Formatted').length === 1)
    const raw = sent('Formatted')[0]!.raw.toString().replace(/=\r\n/g, '').replaceAll('=3D', '=')
    for (const part of ['<ul>', '<blockquote>', 'a &lt; b', 'href="https://desk.example/help"'])
      expect(raw).toContain(part)
  })

  test('search by what came before a day and after it', async () => {
    await openAll()
    const counted = async (words: string, count: string) => {
      await page.getByRole('combobox', { name: 'Search tickets' }).or(page.getByLabel('Search tickets')).fill(words)
      await page.keyboard.press('Enter')
      await page.getByText(count, { exact: true }).waitFor()
    }
    await counted('before:yesterday Formatted', '0 tickets')
    await counted('after:yesterday Formatted', '1 ticket')
    await counted('before:"last week" company:nobody', '0 tickets')
  })

  test('look at what is open and mine', async () => {
    await mail('Mine alone', {})
    await choose(page, 'Assignee', 'Admin (you)')
    await page.getByText('Assigned to: Admin.').waitFor()
    await page.getByRole('link', { name: /^My open/ }).click()
    await page.getByText('3 tickets', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Mine alone' }).first().waitFor()
  })

  test('raise the priority, and change the subject', async () => {
    await mail('Wrong wrods', {})
    await page.locator('.head h1').click()
    await page.keyboard.press('p')
    await page.locator('[popover]:popover-open').getByRole('button', { name: 'High' }).press('Enter')
    await button('Priority: High').waitFor()
    await button('More').click()
    await button('Edit the subject').click()
    await page.getByRole('textbox', { name: 'Subject' }).fill('Right words')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Right words' }).waitFor()
    await page.locator('.row', { hasText: 'Right words' }).getByText('High').waitFor({ state: 'attached' })
  })

  test('split a ticket in two, and take that back', async () => {
    await mail('Two things', {})
    const code = (await page.locator('.head .code').textContent())!
    const path = new URL(page.url()).hash.replace(/.*(\/tickets\/[^?]*).*/, '$1')
    for (const body of ['The other thing', 'More of it']) {
      await call('POST', `${path}/messages`, { body, is_internal: true })
    }
    const move = page
      .getByRole('article')
      .nth(1)
      .getByRole('button', { name: /^Move to a new ticket/ })
    await move.click()
    await page.getByRole('textbox', { name: 'Subject' }).fill('The second thing')
    await page.getByLabel('Move the later message, too').check()
    await button('Open the ticket').click()
    await page.getByRole('heading', { name: 'The second thing' }).waitFor()
    expect(await page.getByRole('article').count()).toBe(2)
    await button('Undo').last().click()
    await page.locator('.head .code', { hasText: code }).waitFor()
    await page.getByRole('article').nth(2).waitFor()
  })

  test('load images of a mail on request, and not before', async () => {
    await page
      .context()
      .route('https://pictures.example/**', (route) =>
        route.fulfill({
          contentType: 'image/svg+xml',
          body: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
        }),
      )
    await mail('With a picture', { html: '<p>Look</p><img src="https://pictures.example/a.svg">' })
    await page.getByText('An image is not loaded').waitFor()
    expect(desk.faults).toEqual([])
    await button('Show images').click()
    const image = page.frameLocator('.message-frame').locator('img')
    await until('it is shown', () => image.evaluate((one: HTMLImageElement) => one.naturalWidth === 9))
    expect(desk.faults.splice(0)).toEqual(['requests https://pictures.example/a.svg'])
  })

  test('unfold what a mail quotes, and see where an answer to it goes', async () => {
    const quoted =
      'Thanks\n\nOn Mon, 2 Feb 2026 at 10:00, Desk <support@desk.example> wrote:\n> The old words\n> of ours\n'
    await mail('With a quotation', { text: quoted, replyTo: 'erin@customer.example' })
    await page.getByText('Reply-To: erin@customer.example').waitFor()
    await page.getByText('Nothing proves who sent this mail.').waitFor({ state: 'attached' })
    await page.locator('.message .text', { hasText: 'Thanks' }).waitFor()
    expect(await page.locator('.message iframe').count()).toBe(0)
    await button('Show quoted text').click()
    await page.locator('.message-text').getByText('The old words').waitFor()
  })

  test('see who else has the ticket open, and writes', async () => {
    await desk.mail('Seen by two')
    const other = await desk.open({}, BOB)
    await openTicket(other, 'Seen by two')
    await other.getByPlaceholder('Reply to carla@customer.example').fill('I am at it')
    await other.getByText('Saved as a draft').waitFor()
    await openAll()
    await openTicket(page, 'Seen by two')
    await page.getByText('Bob is writing').waitFor()
    await other.context().close()
  })

  test('read the beginning of a long conversation', async () => {
    await mail('A long one', {})
    const path = new URL(page.url()).hash.replace(/.*(\/tickets\/[^?]*).*/, '$1')
    for (let number = 1; number <= 32; number++) {
      await call('POST', `${path}/messages`, { body: `Note ${number}.`, is_internal: true })
    }
    await button('Show earlier messages (3)').click()
    await page.getByRole('article').nth(32).waitFor()
    // Those far away take no time, whatever is in them.
    const first = page.getByRole('article').first()
    await until('it is drawn', async () => (await first.locator('.message-later').count()) === 0)
    const isLaidOut = () =>
      first.evaluate((one) => one.firstElementChild!.checkVisibility({ contentVisibilityAuto: true }))
    await until('it is in sight', async () => {
      await first.scrollIntoViewIfNeeded()
      return isLaidOut()
    })
    await page.getByRole('article').last().scrollIntoViewIfNeeded()
    await until('it is far away', async () => !(await isLaidOut()))
  })

  test('type before all of a long conversation is drawn: the rest of it waits', async () => {
    await openAll()
    await page.getByRole('article').first().waitFor({ state: 'detached' })
    const typing = await page.evaluateHandle(() => {
      const state = { keys: 0, timer: 0 }
      const type = () => state.keys++ >= 0 && dispatchEvent(new KeyboardEvent('keydown', { key: 'Shift' }))
      state.timer = window.setInterval(type, 50)
      return state
    })
    await openTicket(page, 'A long one')
    await page.getByText('Note 32.').waitFor()
    const keys = await typing.evaluate((state) => state.keys)
    await until('a second has passed', () => typing.evaluate((state, keys) => state.keys > keys + 20, keys))
    expect(await page.locator('.message-later').count()).toBeGreaterThan(10)
    await typing.evaluate(({ timer }) => clearInterval(timer))
    await until('the rest is drawn', async () => (await page.locator('.message-later').count()) === 0)
  })

  test('read a mail in a frame that was loaded before', async () => {
    const spares = page.locator('[hidden] > iframe')
    await until('spare frames are there', async () => (await spares.count()) === 4)
    await spares.evaluateAll((all) => {
      for (const one of all) one.setAttribute('data-before', '')
    })
    await mail('A newsletter', { html: '<table><tr><td>An offer</td></tr></table>' })
    await page.frameLocator('.message iframe[data-before]').getByText('An offer').waitFor()
    await until('there are as many as before', async () => (await spares.count()) === 4)
  })

  test('send a failed mail again, and delete a message', async () => {
    await mail('Refused at first', {})
    desk.sink.answer(({ stage }) => (stage === 'rcpt' ? '550 5.1.1 No such user here' : undefined))
    await reply().fill('Does it come?')
    await button('Send').click()
    await sendNow(page)
    await page
      .getByText(/was not sent:/)
      .first()
      .waitFor()
    desk.sink.answer()
    await openAll()
    await openTicket(page, 'Refused at first')
    await page.getByText('No such user here').first().waitFor()
    await button('Send again: the message of Admin').click()
    await until('it has left', () => sent('Refused at first').length === 1)
    const message = page.locator('.message.outbound')
    await message.hover()
    await message.getByRole('button', { name: 'Delete the message of Admin' }).click()
    await page.getByRole('dialog', { name: 'Delete this message?' }).getByRole('button', { name: 'Delete' }).click()
    await message.waitFor({ state: 'detached' })
  })

  test('add somebody who gets every answer', async () => {
    await mail('With a colleague', {})
    await button('Add a participant').click()
    await page.getByRole('complementary').getByLabel('Email').fill('finn@customer.example')
    await page.keyboard.press('Enter')
    await button('Remove finn@customer.example').waitFor()
    await reply().fill('To all of you')
    await button('Send').click()
    await sendNow(page)
    await until('it has left', () => sent('With a colleague').length === 1)
    expect(sent('With a colleague')[0]!.to).toContain('finn@customer.example')
  })

  test('set up a second factor, sign in with it, and remove it', async () => {
    const one = await desk.open({}, BOB)
    await openPart(one, 'Second factor')
    await one.getByRole('button', { name: 'Set up a second factor' }).click()
    await one.getByLabel('Your present password').fill('wrong')
    await one.getByRole('button', { name: 'Go on' }).click()
    await one.getByRole('alert').first().waitFor()
    await one.getByLabel('Your present password').fill(BOB.password)
    await one.getByRole('button', { name: 'Go on' }).click()
    await one.getByRole('img', { name: 'QR code of the key' }).waitFor()
    const secret = (await one.getByRole('dialog').locator('.copyable code').textContent())!
    await one.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await one.getByRole('button', { name: 'Confirm' }).click()
    const codes = (await one.locator('.secret code').textContent())!.split('\n')
    await one.getByRole('button', { name: 'Close' }).click()
    await leave(one)
    await one.locator('input[name=email]').fill(BOB.email)
    await one.locator('input[name=password]').fill(BOB.password)
    await one.keyboard.press('Enter')
    await one.getByRole('textbox', { name: 'Code' }).fill(codes[0]!)
    await one.keyboard.press('Enter')
    await one.getByRole('navigation', { name: 'Sections' }).waitFor()
    await openPart(one, 'Second factor')
    await one.getByRole('button', { name: 'Remove the second factor' }).click()
    await one.getByLabel('Your present password').fill(BOB.password)
    await one.getByRole('textbox', { name: 'Code' }).fill(codes[1]!)
    await one.getByRole('dialog').getByRole('button', { name: 'Remove the second factor' }).click()
    await one.getByRole('button', { name: 'Set up a second factor' }).waitFor()
    await leave(one)
    await enter(one, BOB.email, BOB.password)
    await one.context().close()
  })

  test('make a key that may only read contacts', async () => {
    await openPart(page, 'API keys')
    await button('Make a key').click()
    await page.getByLabel('Name', { exact: true }).fill('Address book')
    await page.getByLabel('*:read', { exact: true }).uncheck()
    await page.getByLabel('contacts:read', { exact: true }).check()
    await button('Save').click()
    const key = await page.locator('.secret code').textContent()
    await button('Close').click()
    const ask = (path: string) =>
      fetch(`${desk.service().url}/api/v1${path}`, { headers: { authorization: `ApiKey ${key}` } })
    expect([(await ask('/contacts')).status, (await ask('/tickets')).status]).toEqual([200, 403])
  })

  test('make a key for a program that drafts, which can send nothing', async () => {
    await openPart(page, 'API keys')
    await button('For a program that drafts').click()
    await page.getByLabel('Name', { exact: true }).fill('Answering machine')
    await button('Save').click()
    const key = await page.locator('.secret code').textContent()
    await button('Close').click()
    await page.getByRole('row', { name: /Answering machine.*tickets:read.*drafts:write/ }).waitFor()
    const answer = await fetch(`${desk.service().url}/mcp?tools=all`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    const names = ((await answer.json()) as { result: { tools: { name: string }[] } }).result.tools.map(
      ({ name }) => name,
    )
    expect(names).toContain('createDraft')
    expect(names.filter((name) => /^(send|createMessage|createTicket|apply)/.test(name))).toEqual([])
  })

  test('share a view and a macro with the team', async () => {
    await openPart(page, 'Views')
    await button('Add a view').click()
    await page.getByLabel('Name', { exact: true }).fill('Urgent ones')
    await page.getByLabel('Filter').fill('priority:urgent')
    await page.getByLabel('Everybody sees it').check()
    await button('Save').click()
    await page.getByRole('row', { name: /Urgent ones/ }).waitFor()
    await call('POST', '/macros', { name: 'Thanks to all', body: 'Thank you.' })
    const other = await desk.open({ viewport: { width: 1500, height: 900 } }, BOB)
    await other.getByRole('link', { name: /^Urgent ones/ }).click()
    await other.getByText('0 tickets', { exact: true }).waitFor()
    await other.getByRole('link', { name: /^All tickets/ }).click()
    await openTicket(other, 'Two of us')
    await other.getByRole('button', { name: 'Put in a macro' }).click()
    await other.getByRole('option', { name: 'Thanks to all' }).waitFor()
    await other.context().close()
  })

  test('read the report of an import', async () => {
    const folder = newFolder()
    const rows = {
      companies: [{ external_id: 'c:1', name: 'Umbrella' }],
      labels: [{ external_id: 'l:1', name: 'old' }],
    }
    writeRows(folder, rows)
    const { id } = await call('GET', '/organization')
    const { code, stderr } = await importFolder(folder, id, desk.env)
    expect([code, stderr]).toEqual([0, ''])
    rmSync(folder, { recursive: true })
    await openPart(page, 'Imports')
    await page.getByRole('row', { name: 'companies 1 0' }).waitFor()
    await page.getByRole('row', { name: 'labels 1 0' }).waitFor()
  })

  test('understand in German what is wrong', async () => {
    const one = await desk.open({ locale: 'de-DE' })
    await one.evaluate(() => {
      location.hash = `${location.hash.split('/').slice(0, 2).join('/')}/settings/mailboxes`
    })
    await one.getByRole('button', { name: 'Postfach hinzufügen' }).click()
    await one.locator('input[name=address]').fill(ADDRESS)
    await one.getByRole('button', { name: 'Speichern' }).click()
    await one.locator('.field .fault', { hasText: 'wird schon verwendet' }).waitFor()
    await one.keyboard.press('Escape')
    await one.evaluate(() => {
      location.hash = location.hash.replace('mailboxes', 'keys')
    })
    await one.getByRole('button', { name: 'Schlüssel anlegen' }).click()
    await one.locator('input[name=name]').fill('Netz')
    await one.locator('textarea[name=allowed_networks]').fill('kein Netz')
    await one.getByRole('button', { name: 'Speichern' }).click()
    await one.locator('.field .fault', { hasText: 'muss ein Netz wie' }).waitFor()
    await one.keyboard.press('Escape')
    await leaveGerman(one)
    await one.locator('input[name=email]').fill(ADMIN.email)
    await one.locator('input[name=password]').fill('not this one')
    await one.keyboard.press('Enter')
    await one.getByText('E-Mail oder Passwort').first().waitFor()
    await one.context().close()
  })
})

async function leaveGerman(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Ihr Konto/ }).click()
  await page.getByRole('button', { name: 'Abmelden' }).click()
}
