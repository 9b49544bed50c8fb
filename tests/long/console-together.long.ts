/** Two people in one ticket: each sees what the other does, and one who is alone asks nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enter, openTicket, type StartedConsole, sendNow, startConsole, whyNoConsole } from '../support/console'
import { visit } from '../support/console-pages'
import { ADMIN, until } from '../support/service'

describe.skipIf(whyNoConsole() !== undefined)('together', () => {
  let desk: StartedConsole
  const bob = { email: 'bob@desk.example', password: 'bobs own password' }

  beforeAll(async () => {
    desk = await startConsole()
    await desk.service().call('POST', '/users', { ...bob, name: 'Bob' })
  })
  afterAll(async () => {
    await desk.stop()
    // A clock of the test is a script, which the frames of messages refuse.
    expect(desk.faults.filter((fault) => !fault.includes('Blocked script execution'))).toEqual([])
  })

  test('presence and drafts come without being asked for, and one who is alone asks nothing', async () => {
    const subject = await desk.mail('Somebody else is here')
    const context = await desk.profile()
    await context.clock.install()
    const first = await context.newPage()
    const asked: string[] = []
    first.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`))
    const shared = () => asked.filter((one) => /viewing$|drafts$/.test(one))
    await first.goto(desk.service().url)
    await enter(first, ADMIN.email, ADMIN.password)
    await openTicket(first, subject)
    await until('the page has said that it is here', () => shared().some((one) => one.endsWith('viewing')))
    await first.clock.runFor(2000)
    await first.evaluate(() => fetch('readyz'))
    asked.length = 0
    // Longer than between two readings without notices.
    await first.clock.runFor(28_000)
    // Answers to earlier questions are known when this is.
    await first.evaluate(() => fetch('readyz'))
    expect([shared(), asked.at(-1)]).toEqual([[], 'GET /readyz'])

    const second = await desk.open({}, bob)
    await openTicket(second, subject)
    await first.locator('.viewer', { hasText: 'Bob' }).waitFor()
    await second.locator('.viewer', { hasText: 'Admin' }).waitFor()
    await second.getByPlaceholder('Reply to carla@customer.example').fill('I am on it.')
    await first.locator('.viewer.is-writing', { hasText: 'Bob' }).waitFor()

    const { id } = (await desk.service().call('GET', '/tickets?sort=-created_at')).body.data[0]
    const { key } = (await desk.service().call('POST', '/api-keys', { name: 'Robot', permissions: ['*:write'] })).body
      .data
    const draft = await fetch(`${desk.service().url}/api/v1/tickets/${id}/drafts`, {
      method: 'POST',
      headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ body: 'Have you tried to turn it off?' }),
    })
    expect(draft.status).toBe(201)
    await first.getByRole('article', { name: /Robot/ }).waitFor()
    await desk.service().call('DELETE', `/drafts/${(await draft.json()).data.id}`)
    await first.getByRole('article', { name: /Robot/ }).waitFor({ state: 'detached' })

    await second.close({ runBeforeUnload: false })
    const third = await desk.open({}, bob)
    await openTicket(third, subject)
    await third.getByPlaceholder('Reply to carla@customer.example').waitFor()
    await third.goBack()
    await first.locator('.viewer', { hasText: 'Bob' }).waitFor({ state: 'detached' })
    for (const page of [first, third]) await page.context().close()
  })

  test('who begins to write is seen at once, and who passes by is not', async () => {
    const subject = await desk.mail('Whose is it')
    const context = await desk.profile()
    await context.clock.install()
    const page = await context.newPage()
    const said: unknown[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/viewing') && request.method() === 'PUT') said.push(request.postDataJSON())
    })
    await page.goto(desk.service().url)
    await enter(page, bob.email, bob.password)
    await page.locator('.row', { hasText: subject }).waitFor()
    await context.clock.pauseAt(Date.now() + 60_000)
    await openTicket(page, subject)
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    await area.waitFor()
    expect(said).toEqual([])
    await area.fill('Mine.')
    await until('it is said', () => said.length > 0)
    expect(said).toMatchObject([{ writing: true }])
    await context.close()
    const [{ id }] = (await desk.service().call('GET', '/tickets?sort=-created_at')).body.data
    await desk.service().call('DELETE', `/tickets/${id}`)
  })

  test('what is unread stays so after a reload, and what was read can be unread again', async () => {
    const context = await desk.profile()
    await context.clock.install({ time: new Date('2049-01-01T00:00:00Z') })
    const page = await context.newPage()
    await page.goto(desk.service().url)
    await enter(page, ADMIN.email, ADMIN.password)
    await page.locator('.list-head').first().waitFor()
    const row = (subject: string, is_new: boolean) =>
      page.locator(is_new ? '.row.is-new' : '.row:not(.is-new)', { hasText: subject }).waitFor()
    await desk.mail('Read already')
    await desk.mail('Fresh news')
    await row('Read already', true)
    await row('Fresh news', true)
    await openTicket(page, 'Read already')
    await page.goBack()
    await row('Fresh news', true)
    await page.reload()
    await row('Fresh news', true)
    expect(await page.locator('.row.is-new').count()).toBe(1)

    await openTicket(page, 'Read already')
    await page.keyboard.press('U')
    await page.goBack()
    await row('Read already', true)
    await page.reload()
    await row('Read already', true)
    await context.close()
  })

  test('what one has written is not unread, and what a customer answers is', async () => {
    const call = desk.service().call
    const subject = await desk.mail('My own words')
    const page = await desk.open()
    const row = (text: string, is_new: boolean) =>
      page.locator(is_new ? '.row.is-new' : '.row:not(.is-new)', { hasText: text })
    await openTicket(page, subject)
    await page.getByPlaceholder('Reply to carla@customer.example').fill('Here you are.')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const [{ id, updated_at }] = (await call('GET', '/tickets?search="My own words"')).body.data
    // Times of the service are whole seconds.
    await until('it is a later second', () => Date.now() > Date.parse(updated_at) + 1000)
    await sendNow(page)
    await page.getByText('The answer is sent.').waitFor()
    await visit(page, 'tickets')
    const times = async () => [
      (await call('GET', `/tickets/${id}`)).body.data.updated_at,
      await page.locator('.row', { hasText: subject }).locator('time').getAttribute('datetime'),
    ]
    await until('the list shows the answer', async () =>
      (([now, shown]) => now !== updated_at && now === shown)(await times()),
    )
    await row(subject, false).waitFor()

    await desk.mail('A newer one')
    await row('A newer one', true).waitFor()
    const code = (await call('GET', `/tickets/${id}`)).body.data.code
    await until('it is a later second', async () => Date.now() > Date.parse((await times())[0]!) + 1000)
    await desk.mail(`Re: ${subject} [${code}]`)
    await row(subject, true).waitFor()
    await page.context().close()
  })

  test('on a phone a ticket is opened at its newest message', async () => {
    const subject = await desk.mail('A long story')
    const call = desk.service().call
    await until('it is a ticket', async () => (await call('GET', '/tickets')).body.data[0]?.subject === subject)
    const { id } = (await call('GET', '/tickets')).body.data[0]
    for (let part = 1; part <= 12; part++) {
      const body = `Part ${part}.\n\n${'And so it went on. '.repeat(20)}`
      await call('POST', `/tickets/${id}/messages`, { body, is_internal: true })
    }
    const page = await desk.open({ viewport: { width: 390, height: 700 } })
    await openTicket(page, subject)
    await page.waitForFunction(() => {
      const messages = document.querySelectorAll('.messages > li')
      const { top, bottom } = messages[messages.length - 1]!.getBoundingClientRect()
      return messages.length === 13 && top < 700 && bottom > 0
    })
    // The page itself does not scroll: the sections stay at its end.
    expect(await page.evaluate(() => document.scrollingElement!.scrollHeight)).toBe(700)
    await page.context().close()
  })
})
