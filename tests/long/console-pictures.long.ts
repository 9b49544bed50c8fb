/** Takes the pictures of the README: `DESKWIRE_PICTURES=1 bun run test:long console-pictures` puts them in place. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ADDRESS, choose, openSection, openTicket, sendNow, startConsole, whyNoConsole } from '../support/console'
import { sendMail } from '../support/smtp'

/** Size of both together. */
const MOST_BYTES = 200_000
const MAIL = [
  [
    'Carla Conti',
    'carla@customer.example',
    'The printer is on fire',
    'It began after the last update.\nWhat shall we do?',
  ],
  ['Dora Diaz', 'dora@customer.example', 'Invoice 2041 names the wrong company', 'Please send it again.'],
  ['Emil Ek', 'emil@other.example', 'How do I add a second mailbox?', 'I found no button for it.'],
  ['Finn Fox', 'finn@other.example', 'Password reset does not arrive', 'Neither here nor in spam.'],
] as const

const reason = whyNoConsole()
if (reason) console.warn(`No pictures are taken: ${reason}`)

test.skipIf(reason !== undefined)('the README shows two small pictures of the console', async () => {
  const is_kept = process.env.DESKWIRE_PICTURES === '1'
  const folder = is_kept ? path.join(import.meta.dir, '../console') : mkdtempSync(path.join(tmpdir(), 'pictures-'))
  const desk = await startConsole()
  try {
    for (const [name, address, subject, text] of MAIL) {
      const mail = { from: `${name} <${address}>`, subject, text }
      await sendMail({ port: desk.service().smtp_port, from: address, to: ADDRESS, mail })
    }
    const page = await desk.open({ viewport: { width: 1440, height: 820 } })
    await openTicket(page, MAIL[0][2])
    await choose(page, 'Assignee', 'Admin (you)')
    await page.getByPlaceholder(/Reply to/).fill('Use water, then send us the serial number.')
    await page.getByRole('button', { name: 'More ways to send' }).click()
    await page.getByRole('button', { name: 'Send and wait' }).click()
    await sendNow(page)
    await page.getByText('The ticket is now: Waiting').waitFor()
    await page.getByRole('link', { name: 'All tickets' }).click()
    await page.getByText('4 tickets', { exact: true }).waitFor()
    await openTicket(page, MAIL[0][2])
    await page.locator('.message.outbound').waitFor()
    await page.getByRole('link', { name: 'All open 3' }).waitFor()
    await page.locator('.notice').last().waitFor({ state: 'detached' })
    await page.mouse.move(0, 0)
    await page.screenshot({ path: path.join(folder, 'inbox.png') })
    await openSection(page, 'Reports')
    await page.getByText(/new tickets: 4/).waitFor({ state: 'attached' })
    await page.screenshot({ path: path.join(folder, 'overview.png') })
    const sizes = ['inbox.png', 'overview.png'].map((name) => statSync(path.join(folder, name)).size)
    expect(sizes[0]! + sizes[1]!).toBeLessThan(MOST_BYTES)
  } finally {
    await desk.stop()
    if (!is_kept) rmSync(folder, { recursive: true })
  }
  const readme = readFileSync(path.join(import.meta.dir, '../../README.md'), 'utf8')
  for (const name of ['inbox.png', 'overview.png']) expect(readme).toContain(`tests/console/${name}`)
})
