/**
 * The console in Chromium: how long the list and a ticket take from a click to the frame that shows them, how long a
 * typed letter takes, what the first visit loads, if a ticket with 300 messages stalls, and what open pages cost the
 * service. Beside what a busy machine makes longer stands the processor time of the page. Settings: BENCH_PAGES (50),
 * BENCH_REST_MS (60000) of open pages.
 */
import type { Page } from 'playwright-core'
import { enter, startBrowser, whyNoConsole } from '../support/console'
import { clickAndSee, scrollThrough, watchLetters } from './console-page'
import { traced } from './console-trace'
import { placeOfLargest } from './latency'
import { type Cpu, cpuOfEach } from './processes'
import { type Aim, aimText, printHead, printTable, rounded, verdict } from './report'
import type { Rig } from './rig'
import { ADMIN } from './volume/fill'
import { tenantId } from './volume/tenants'

const PAGES = Number(process.env.BENCH_PAGES ?? 50)
const REST_MS = Number(process.env.BENCH_REST_MS ?? 60_000)
/** Pages have read all that they show after this time. */
const SETTLE_MS = 10_000
const TICKETS = 40
/** Then each connection to the database has its plans. After 3 the service took 70 ms for the next one, not 40. */
const WARM_UP = 10
const ROUNDS = 3
const LONG = 300
const VIEWS = ['mine', 'unassigned', 'open', 'pending', 'resolved', 'all']
const CLICK: Aim = { at_most: 150 }
const OPENED: Aim = { at_most: 120 }
const TASK: Aim = { at_most: 50 }
const LETTER: Aim = { at_most: 50 }
const WORDS = 'Hello Carla, thank you for your patience. The parcel left us today; here is where it is now. '

type Row = [what: string, reached: number, aim?: Aim]
type Browser = Awaited<ReturnType<typeof startBrowser>>

/** Measures and prints all of it; says so when there is no Chromium. */
export async function benchConsole(rig: Rig): Promise<void> {
  printHead(`The console in Chromium, ${Math.max(...rig.sizes)} tickets in the organization`)
  const reason = whyNoConsole()
  if (reason) return console.log(`skipped: ${reason}`)
  const organization_id = tenantId(placeOfLargest(rig.sizes))
  const long_subject = await addLongTicket(rig, organization_id)
  const browser = await startBrowser()
  try {
    await warmUp(rig, browser, organization_id)
    const page = await signIn(rig, browser, organization_id, ADMIN.email)
    const rows: Row[] = [['first visit, kB compressed', await loadedKilobytes(page), { at_most: 120 }]]
    rows.push(...(await measureClicks(rig, page)))
    rows.push(...(await measureLongTicket(page, long_subject)))
    rows.push(...(await measureTyping(page)))
    await page.context().close()
    rows.push(...(await measureOpenPages(rig, browser, organization_id)))
    printTable(
      ['What', 'reached', 'aim', ''],
      rows.map(([what, reached, aim]) => [what, rounded(reached), aimText(aim), verdict(what, reached, aim)]),
    )
  } finally {
    await browser.close()
  }
}

/** Opens some tickets on a page of its own, so that the service has compiled its code and PostgreSQL its plans. */
async function warmUp(rig: Rig, browser: Browser, organization_id: string): Promise<void> {
  const page = await signIn(rig, browser, organization_id, ADMIN.email)
  for (let place = 1; place <= WARM_UP; place++)
    await page.locator('.list .row a').nth(place).evaluate(clickAndSee, 'ticket')
  await page.context().close()
}

/** A page with the list of open tickets, in a profile of its own. */
async function signIn(rig: Rig, browser: Browser, organization_id: string, email: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } })
  const page = await context.newPage()
  await page.goto(`${rig.service.url}/#/${organization_id}/tickets?status=open`)
  await enter(page, email, ADMIN.password)
  await page.locator('.list .row').first().waitFor()
  // Not as a script of the context, which would run in the frame of each message too.
  await page.evaluate(watchLetters)
  // Nobody clicks before the page has read the rest.
  await page.waitForTimeout(1000)
  return page
}

/** The bytes that the page itself has loaded, without answers of the API. */
function loadedKilobytes(page: Page): Promise<number> {
  return page.evaluate(() => {
    const files = performance.getEntries() as PerformanceResourceTiming[]
    const own = files.filter(({ name, encodedBodySize }) => encodedBodySize > 0 && !name.includes('/api/'))
    return own.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000
  })
}

async function measureClicks(rig: Rig, page: Page): Promise<Row[]> {
  const first = await page.locator('.list .row a').first().evaluate(clickAndSee, 'ticket')
  const tickets: number[] = []
  const before = rig.cpu('service')
  const { opening_ms } = await traced(page, async () => {
    for (let place = 1; place <= TICKETS; place++) {
      tickets.push(await page.locator('.list .row a').nth(place).evaluate(clickAndSee, 'ticket'))
    }
  })
  const { service_ms, database_ms } = cpuOfEach(before, rig.cpu('service'), TICKETS)
  const lists: number[] = []
  for (const place of Array.from({ length: ROUNDS }, () => VIEWS.keys()).flatMap((places) => [...places])) {
    lists.push(await page.locator('.views li a').nth(place).evaluate(clickAndSee, 'list'))
  }
  const sections: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await page.locator('.rail nav a').nth(1).click()
    await page.locator('.content table').waitFor()
    sections.push(await page.locator('.rail nav a').first().evaluate(clickAndSee, 'list'))
  }
  return [
    ['first ticket, ms from the click', first, CLICK],
    [`${TICKETS} tickets, ms from the click: 95th percentile`, shareOf(tickets, 0.95), OPENED],
    ['a ticket, processor ms of the page: 95th percentile', shareOf(opening_ms, 0.95)],
    ['a ticket, processor ms of the service and the database', service_ms + database_ms],
    ...ofAll(`${lists.length} times another view, ms from the click`, lists),
    ...ofAll('back from the contacts to the list, ms from the click', sections),
  ]
}

function ofAll(what: string, times: number[]): Row[] {
  return [
    [`${what}: median`, shareOf(times, 0.5)],
    [`${what}: longest`, Math.max(...times), CLICK],
  ]
}

/** The least time that this share of the times does not exceed. */
function shareOf(times: number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1]!
}

/** Opens the ticket and goes through all of its messages. */
async function measureLongTicket(page: Page, subject: string): Promise<Row[]> {
  await page.locator('.views li a').nth(VIEWS.indexOf('open')).click()
  const row = page.getByRole('link', { name: subject })
  await row.waitFor()
  let opened_ms = 0
  const open = await traced(page, async () => {
    opened_ms = await row.evaluate(clickAndSee, 'ticket')
    await page.waitForTimeout(1000)
  })
  let scrolled = 0
  const scroll = await traced(page, async () => {
    scrolled = await page.evaluate(scrollThrough)
  })
  if (scrolled < LONG) throw new Error(`${scrolled} messages were shown`)
  return [
    [`${LONG} messages: ms from the click`, opened_ms, CLICK],
    [`${LONG} messages: processor ms of the page until they are seen`, open.opening_ms[0]!],
    [`${LONG} messages: longest task after they are seen, processor ms`, open.longest_after_ms, TASK],
    [`${LONG} messages: longest task while all are scrolled, processor ms`, scroll.longest_after_ms, TASK],
  ]
}

/** Types with the keyboard in the ticket that is open. A letter takes as long as the browser needs to show it. */
async function measureTyping(page: Page): Promise<Row[]> {
  const longest = () => page.evaluate(() => (globalThis as unknown as { takeLongest(): number }).takeLongest())
  const type = async (where: string): Promise<Row[]> => {
    await longest()
    await page.keyboard.type(WORDS.repeat(2), { delay: 20 })
    const seen_ms = await longest()
    const { longest_after_ms } = await traced(page, () => page.keyboard.type(WORDS, { delay: 20 }))
    return [
      [`a letter in ${where}, longest ms`, seen_ms, LETTER],
      [`letters in ${where}: longest task, processor ms`, longest_after_ms, TASK],
    ]
  }
  await page.locator('.composer textarea').focus()
  const plain = await type('an answer')
  await page.keyboard.press('Control+b')
  await page.locator('.composer [contenteditable]').waitFor()
  await page.waitForTimeout(500)
  const rich = await type('the editor')
  await page.locator('[type=search]').focus()
  return [...plain, ...rich, ...(await type('the search'))]
}

/** Each page is of another agent and another browser profile, and shows a ticket. */
async function measureOpenPages(rig: Rig, browser: Browser, organization_id: string): Promise<Row[]> {
  const alone = await cpuOfRest(rig)
  let requests = 0
  for (let number = 1; number <= PAGES; number++) {
    const page = await signIn(rig, browser, organization_id, `agent${number}@org1.example`)
    page.on('request', () => requests++)
    await page
      .locator('.list .row a')
      .nth(number % 40)
      .evaluate(clickAndSee, 'ticket')
  }
  await Bun.sleep(SETTLE_MS)
  requests = 0
  const { service_ms, database_ms } = await cpuOfRest(rig)
  const share = (ms: number) => (100 * ms) / REST_MS
  return [
    ['no page: service, % of a processor', share(alone.service_ms)],
    ['no page: PostgreSQL, % of a processor', share(alone.database_ms)],
    [`${PAGES} pages on tickets add to the service`, share(service_ms - alone.service_ms)],
    [`${PAGES} pages on tickets add to PostgreSQL`, share(database_ms - alone.database_ms)],
    [
      `${PAGES} pages on tickets add to both`,
      share(service_ms + database_ms - alone.service_ms - alone.database_ms),
      { at_most: 2 },
    ],
    [`${PAGES} pages on tickets: requests a minute of each`, (requests * 60_000) / REST_MS / PAGES],
  ]
}

async function cpuOfRest(rig: Rig): Promise<Cpu> {
  const before = rig.cpu('service')
  await Bun.sleep(REST_MS)
  return cpuOfEach(before, rig.cpu('service'), 1)
}

/**
 * Gives an open ticket below the others 300 messages: half of them newsletters in HTML. Its newest one stays, and so
 * does its place in the list.
 * @returns its subject
 */
async function addLongTicket({ sql }: Rig, organization_id: string): Promise<string> {
  const subject = 'A long conversation of many months'
  const cell =
    '<td style="padding:8px;color:#333333;background:#fafafa"><p>Some words about an <a href="https://shop.example/1">offer</a></p></td>'
  const newsletter = `<table style="width:600px"><tbody>${`<tr>${cell.repeat(3)}</tr>`.repeat(30)}</tbody></table>`
  const [ticket] = await sql<{ id: string; last_message_id: string }[]>`
    update tickets set subject = ${subject} where organization_id = ${organization_id} and id = (
      select id from tickets where organization_id = ${organization_id} and status = 'open'
      order by last_message_id desc nulls last, id desc offset ${TICKETS + 1} limit 1)
    returning id, last_message_id`
  const { id, last_message_id } = ticket!
  await sql`
    delete from messages
    where organization_id = ${organization_id} and ticket_id = ${id} and id <> ${last_message_id}`
  await sql`
    insert into messages (organization_id, id, ticket_id, is_internal, direction, sender_name, sender_email, format,
      body, body_html)
    select ${organization_id}::uuid, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${id}::uuid,
      false, case n % 2 when 0 then 'inbound' else 'outbound' end, 'Carla Costa', 'carla@customer.example', 'html',
      'Some words',
      case n % 2 when 0 then ${newsletter} else '<p>Thank you. The parcel is on its way.</p><p>Best wishes</p>' end
    from generate_series(1, ${LONG - 1}::int) n`
  return subject
}
