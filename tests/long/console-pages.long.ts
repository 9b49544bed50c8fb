/** The needs of every page: without faults of axe, in both languages, at all sizes and on paper, with any names. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { faultsOf } from '../support/axe'
import { EICAR, startClamd, type TestClamd } from '../support/clamd'
import { ADDRESS, leave, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'
import { openDialogs, tooWide, turnedAround, visit, visitAll } from '../support/console-pages'
import { fillHostile, startHostileReceiver } from '../support/hostile-desk'
import { sendMail } from '../support/smtp'

const PAGES = [
  ...['tickets', 'tickets/:id', 'contacts', 'contacts/:id', 'companies', 'companies/:id', 'reports'],
  ...['reports/tickets', 'reports/operation'],
  ...['time', 'time/entries', 'time/report', 'time/timers'],
  ...'account audit domains factor imports inbound inbound/:id keys labels macros mailboxes notify organization outbound people'
    .concat(
      ' policies retention rules schedules senders sessions signin start teams views webhooks webhooks/:id webhooks/:id/:id',
    )
    .split(' ')
    .map((part) => `settings/${part}`),
  'settings',
].sort()

/** A desktop, the same at 200 %, and a phone. */
const SIZES = { desktop: [1280, 800], large: [640, 400], phone: [390, 844] } as const

/** Half a minute, and ten times as long on a busy machine. */
const MOST_MS = 600_000

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('every page', () => {
  let desk: StartedConsole
  let clamd: TestClamd
  let receiver: Awaited<ReturnType<typeof startHostileReceiver>>
  let made: Awaited<ReturnType<typeof fillHostile>>

  beforeAll(async () => {
    clamd = await startClamd()
    receiver = await startHostileReceiver()
    desk = await startConsole(() => ({ CLAMD_HOST: clamd.place, WEBHOOK_CA_FILE: receiver.ca_file }))
    made = await fillHostile(desk, ADDRESS, receiver.url)
  })
  afterAll(async () => {
    await desk.stop()
    clamd[Symbol.dispose]()
    receiver[Symbol.dispose]()
    expect(desk.faults).toEqual([])
  })

  test(
    'has no fault of axe, and nothing is too wide, in light and in dark, at 200 % and on a phone',
    async () => {
      // Nothing moves, so that colours are final at once.
      const page = await desk.open({ reducedMotion: 'reduce' })
      const faults: string[] = []
      let dialogs = 0
      const look = async (path: string, name: keyof typeof SIZES, judge: typeof tooWide) => {
        const [width, height] = SIZES[name]
        await page.setViewportSize({ width, height })
        faults.push(...(await judge(page)).map((fault) => `${path}, ${name}: ${fault}`))
      }
      const more = { made: `tickets/${made.ticket_id}` }
      const pages = await visitAll(
        page,
        async (path) => {
          for (const name of ['large', 'phone', 'desktop'] as const) {
            await look(path, name, faultsOf)
            await look(path, name, tooWide)
          }
          await look(path, 'desktop', turnedAround)
          if (path.endsWith(':id') && path.startsWith('settings')) return
          dialogs += await openDialogs(page, async (dialog) => {
            for (const judge of [faultsOf, turnedAround]) await look(`${path} ${dialog}`, 'desktop', judge)
            await look(`${path} ${dialog}`, 'phone', tooWide)
            await page.setViewportSize({ width: 1280, height: 800 })
          })
        },
        more,
      )
      expect(pages).toEqual(['made', ...PAGES].sort())
      expect(dialogs).toBeGreaterThan(25)
      expect(faults).toEqual([])
      await visit(page, 'contacts')
      await leave(page)
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      for (const path of ['/invitation?token=x', '/password-reset?token=x']) {
        await page.goto(desk.service().url + path)
        expect([path, await faultsOf(page), await tooWide(page)]).toEqual([path, [], []])
      }
      await page.context().close()
    },
    MOST_MS,
  )

  test(
    'has none of these faults where something is begun, and while an answer is held back, in German too',
    async () => {
      const faults: string[] = []
      for (const locale of ['en', 'de-DE']) {
        const page = await desk.open({ locale, reducedMotion: 'reduce' })
        const look = async (what: string) => {
          for (const [name, [width, height]] of Object.entries(SIZES)) {
            await page.setViewportSize({ width, height })
            for (const judge of [faultsOf, tooWide]) {
              faults.push(...(await judge(page)).map((fault) => `${locale}, ${what}, ${name}: ${fault}`))
            }
          }
          await page.setViewportSize({ width: 1280, height: 800 })
        }
        await page.locator('body').press('c')
        await page.locator('dialog [name=subject]').waitFor()
        await look('a new ticket')
        await page.keyboard.press('Escape')
        await page.keyboard.press('Control+k')
        await page.locator('dialog [role=combobox]').waitFor()
        await look('the palette')
        await page.keyboard.press('Escape')
        await visit(page, `tickets/${made.ticket_id}`)
        await page.locator('.recipients .chip').first().waitFor()
        for (const [key, what] of [
          ['f', 'forwarding'],
          ['#', 'deleting'],
        ] as const) {
          await page.locator('.head h1').click()
          await page.keyboard.press(key)
          await page.locator('dialog .buttons').waitFor()
          await look(what)
          await page.keyboard.press('Escape')
        }
        await page.locator('.recipients .line').first().getByRole('button').click()
        await page.locator('[popover]:popover-open [role=option]').nth(1).waitFor()
        await look('choosing a mailbox')
        await page.keyboard.press('Escape')
        await page.locator('.composer textarea').fill('An answer')
        await page.locator('.recipients').getByRole('textbox').fill('nobody')
        await page.keyboard.press('Enter')
        await look('recipients')
        await page.locator('.recipients').getByRole('textbox').fill('')
        await page.locator('.composer .buttons .main').click()
        await page.locator('.notice .undo').waitFor()
        await page.waitForFunction(() => !document.querySelector('.skeleton'))
        await look('an answer that is held back')
        await page.locator('.notice .undo').click()
        await page.locator('.composer textarea').fill('')
        await page.context().close()
      }
      expect(faults).toEqual([])
    },
    MOST_MS,
  )

  test('speaks German, and says nothing in English', async () => {
    const page = await desk.open({ locale: 'de-DE' })
    await visitAll(page, async (path) => {
      const words = (await page.locator('#content').allInnerTexts()).join()
      const found = words.match(/\b(Delete|Edit|Add|Save|Search|Since|Until|Actions|There is no|Show more)\b/)
      expect([path, found]).toEqual([path, null])
    })
    await page.context().close()
  })

  test('moves nothing for people who want that', async () => {
    const page = await desk.open({ reducedMotion: 'reduce' })
    await openTicket(page, made.subject)
    await page.getByRole('button', { name: 'Internal note' }).click()
    const moving = await page.evaluate(
      () =>
        [...document.querySelectorAll('*')].filter((one) => {
          const { animationName, transitionProperty, transitionDuration } = getComputedStyle(one)
          return animationName !== 'none' || (transitionProperty !== 'none' && !/^(0s(, )?)+$/.test(transitionDuration))
        }).length,
    )
    expect(moving).toBe(0)
    await page.context().close()
  })

  test('prints the whole conversation, and nothing to press', async () => {
    const [contact] = (await desk.service().call('GET', '/contacts')).body.data
    const given = { subject: 'For the files', contact_id: contact.id }
    const { id } = (await desk.service().call('POST', '/tickets', given)).body.data
    for (let number = 1; number <= 12; number++) {
      const body = `Page ${number}.\n${'A line of it.\n'.repeat(12)}`
      await desk.service().call('POST', `/tickets/${id}/messages`, { body, is_internal: true })
    }
    const page = await desk.open()
    await openTicket(page, 'For the files')
    await page.locator('.message-text', { hasText: 'Page 12.' }).waitFor()
    await page.emulateMedia({ media: 'print' })
    expect(
      await page.locator('button:visible:not(.properties > *), input:visible, textarea:visible, nav:visible').count(),
    ).toBe(0)
    await page.getByRole('heading', { name: 'For the files' }).waitFor()
    for (const text of ['Page 1.', 'Page 12.']) await page.locator('.message-text', { hasText: text }).waitFor()
    const pdf = await page.pdf()
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)!.length).toBeGreaterThan(1)
    await page.context().close()
  })

  test('names a file with a virus, and does not offer it', async () => {
    const attachments = [{ filename: 'eicar.txt', content: EICAR }]
    const from = 'mallory@evil.example'
    const mail = { from, subject: 'With a virus', text: 'See the file', attachments }
    await sendMail({ port: desk.service().smtp_port, from, to: ADDRESS, mail })
    const page = await desk.open()
    await openTicket(page, 'With a virus')
    await page.getByText('a virus was found').waitFor()
    expect(await page.getByRole('link', { name: 'eicar.txt' }).count()).toBe(0)
    await page.context().close()
  })
})
