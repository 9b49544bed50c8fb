/** The number of requests that the console sends: an agent at work never meets a limit. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { choose, enter, openTicket, type StartedConsole, sendNow, startConsole, whyNoConsole } from '../support/console'
import { visit } from '../support/console-pages'
import { until } from '../support/service'

const TICKETS = 60
/** A list shows so many at first. */
const PAGE = 50
const MOST = { sign_in: 8, opening: 2, act: 2, change: 1 }

describe.skipIf(whyNoConsole() !== undefined)('requests', () => {
  let desk: StartedConsole
  let page: Page
  const bob = { email: 'bob@desk.example', password: 'bobs own password' }
  const asked: string[] = []
  const refused: string[] = []
  const call = async (method: string, path: string, body?: unknown) =>
    (await desk.service().call(method, path, body)).body

  beforeAll(async () => {
    desk = await startConsole(() => ({ RATE_LIMIT_PER_MINUTE: '100' }))
    await call('POST', '/users', { ...bob, name: 'Bob' })
    await call('POST', '/labels', { name: 'bug', color: '#EF4444' })
    for (let number = 1; number <= TICKETS; number++) await desk.mail(`Question ${number}.`)
    await until('all are filed', async () => (await call('GET', '/tickets?per_page=1')).meta.total === TICKETS)
    page = await (await desk.profile()).newPage()
    page.on('request', (request) => {
      const [, path] = /\/api\/v1(\/[^?]*)/.exec(request.url()) ?? []
      // Presence stands beside, and what is written is kept while one types.
      const is_beside = path?.endsWith('/viewing') || /\/drafts(\/[0-9a-f-]+)?$/.test(path ?? '')
      if (path && !is_beside) asked.push(`${request.method()} ${path}`)
    })
    page.on('response', (response) => {
      if (response.status() === 429) refused.push(response.url())
    })
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  /** The requests of something that is done, up to a rest. @param at_most how many may be sent */
  async function expectAtMost(at_most: number, run: () => Promise<unknown>): Promise<void> {
    asked.length = 0
    await run()
    // Longer than after an event something may be read again.
    await page.waitForTimeout(2500)
    expect([asked.slice(at_most), asked]).toEqual([[], asked])
  }
  const idOf = async (subject: string) =>
    (await call('GET', `/tickets?search=${encodeURIComponent(`"${subject}"`)}`)).data[0].id

  test('signing in asks at most eight times, opening a ticket and each act at most twice', async () => {
    await expectAtMost(MOST.sign_in, async () => {
      await page.goto(desk.service().url)
      await enter(page, bob.email, bob.password)
      await page.getByText(`${TICKETS} tickets`, { exact: true }).waitFor()
    })
    await expectAtMost(MOST.opening, () => openTicket(page, 'Question 60.'))
    await expectAtMost(MOST.opening, () => openTicket(page, 'Question 59.'))
    await expectAtMost(MOST.act, async () => {
      await choose(page, 'Priority', 'High')
      await page.getByRole('button', { name: 'Priority: High' }).waitFor()
    })
    await expectAtMost(MOST.act, async () => {
      await choose(page, 'Assignee', 'Bob (you)')
      await page.getByText('Assigned to: Bob.').waitFor()
    })
    await expectAtMost(MOST.act, async () => {
      await page.keyboard.press('l')
      await page.keyboard.type('bug')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Remove the label bug' }).waitFor()
    })
    await expectAtMost(MOST.act, async () => {
      await page.keyboard.press('n')
      await page.keyboard.type('She is new here.')
      await page.getByText('Saved as a draft').waitFor()
      await page.keyboard.press('Control+Enter')
      await page.locator('.message-text', { hasText: 'She is new here.' }).waitFor()
    })
    await page.keyboard.press('Escape')
    await expectAtMost(MOST.opening + MOST.act, async () => {
      await page.keyboard.press('r')
      await page.keyboard.type('Use water.')
      await page.getByText('Saved as a draft').waitFor()
      await page.getByRole('button', { name: 'Send and resolve' }).click()
      await sendNow(page)
      await page.getByText('The answer is sent. The ticket is now: Resolved.').waitFor()
    })
    await page.getByText(`${TICKETS - 1} tickets`, { exact: true }).waitFor()
  })

  test('what somebody else changes is seen with at most one request', async () => {
    await openTicket(page, 'Question 50.')
    await page.waitForTimeout(2500)
    const id = await idOf('Question 50.')
    await expectAtMost(MOST.change, async () => {
      await call('PATCH', `/tickets/${id}`, { priority: 'urgent' })
      await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor()
      await page.locator('.row', { hasText: 'Question 50.' }).getByText('Urgent').waitFor({ state: 'attached' })
    })
    await expectAtMost(MOST.change, async () => {
      await call('POST', `/tickets/${id}/messages`, { body: 'Look at this.', is_internal: true })
      await page.locator('.message-text', { hasText: 'Look at this.' }).waitFor()
    })
    await expectAtMost(MOST.change, async () => {
      await desk.mail('Question 61.')
      await page.locator('.row', { hasText: 'Question 61.' }).waitFor()
      await page.getByText(`${TICKETS} tickets`, { exact: true }).waitFor()
    })
    // The page changes next what somebody else has changed.
    await choose(page, 'Priority', 'Low')
    await page.getByRole('button', { name: 'Priority: Low' }).waitFor()
  })

  test('"show more" reads one page at each click', async () => {
    await visit(page, 'tickets')
    await page.waitForTimeout(2500)
    expect(await page.locator('.row').count()).toBe(PAGE)
    await expectAtMost(1, async () => {
      await page.getByRole('button', { name: 'Show more' }).click()
      await page.locator('.row').nth(TICKETS).waitFor()
    })
    await expectAtMost(MOST.change, async () => {
      await call('PATCH', `/tickets/${await idOf('Question 1.')}`, { subject: 'The very first' })
      await page.locator('.row', { hasText: 'The very first' }).waitFor()
    })
    expect(await page.locator('.row').count()).toBe(TICKETS + 1)
  })

  test(`${TICKETS} tickets are looked at and given a priority, one after the other, without a refusal`, async () => {
    await visit(page, 'tickets?status=open&sort=created_at')
    await page.locator('.row a').first().click()
    const begun_ms = Date.now()
    for (let number = 0; number < TICKETS; number++) {
      const subject = await page.locator('.head h1').textContent()
      await choose(page, 'Priority', number % 2 === 0 ? 'Urgent' : 'High')
      await page
        .getByText(/Urgent|High/)
        .first()
        .waitFor()
      await page.keyboard.press(']')
      await page.locator('.head h1', { hasText: subject! }).waitFor({ state: 'detached' })
      // Nobody is faster than this: a ticket in two seconds.
      await page.waitForTimeout(Math.max(0, begun_ms + (number + 1) * 2000 - Date.now()))
    }
    expect(refused).toEqual([])
  })

  test('an answer to the oldest ticket is news to a page that is loaded anew', async () => {
    const [oldest] = (await call('GET', '/tickets?sort=created_at&per_page=1')).data
    await desk.mail(`Re: ${oldest.subject} [${oldest.code}]`)
    await page.reload()
    await page.waitForFunction(() => document.title.startsWith('(1) '))
  })
})
