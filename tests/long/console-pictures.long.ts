/** Takes the pictures of the README: `DESKWIRE_PICTURES=1 bun run test:long console-pictures` puts them in place. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { ADDRESS, openTicket, startConsole, whyNoConsole } from '../support/console'
import { visit } from '../support/console-pages'
import { importFolder, newFolder, writeRows } from '../support/imports'
import { insertFigures, JONAS, MAYA, pictureRows } from '../support/picture-desk'
import { sendMail } from '../support/smtp'

/** Size of all together. */
const MOST_BYTES = 300_000
const SIZE = { width: 1440, height: 820 }
const NAMES = ['light', 'dark'].flatMap((scheme) => [`inbox-${scheme}.webp`, `overview-${scheme}.webp`])

const reason = whyNoConsole()
if (reason) console.warn(`No pictures are taken: ${reason}`)

test.skipIf(reason !== undefined)('the README shows small pictures of the console, in light and dark', async () => {
  const is_kept = process.env.DESKWIRE_PICTURES === '1'
  const folder = is_kept ? path.join(import.meta.dir, '../console') : mkdtempSync(path.join(tmpdir(), 'pictures-'))
  const desk = await startConsole()
  const call = async (method: string, path: string, body?: unknown) =>
    (await desk.service().call(method, path, body)).body?.data
  try {
    await call('PATCH', '/organization', { name: 'Nordwind' })
    await call('POST', '/users', { ...MAYA, role: 'admin' })
    await call('POST', '/users', JONAS)
    const rows = newFolder()
    writeRows(rows, pictureRows())
    const { id } = await call('GET', '/organization')
    const { code, stderr } = await importFolder(rows, id, desk.env)
    rmSync(rows, { recursive: true })
    expect([code, stderr]).toEqual([0, ''])
    await insertFigures(desk.env.DATABASE_URL!, id)
    for (const from of ['finn@mail.example', 'grace@mail.example']) {
      const mail = { from, subject: 'Which tyre fits?', text: 'Is 28 inches the right size?' }
      await sendMail({ port: desk.service().smtp_port, from, to: ADDRESS, mail })
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await desk.open({ viewport: SIZE, colorScheme, reducedMotion: 'reduce' }, MAYA)
      const take = async (name: string) => {
        await page.mouse.move(0, 0)
        await page.locator('.notice').waitFor({ state: 'detached' })
        writeFileSync(path.join(folder, `${name}-${colorScheme}.webp`), await smaller(page, await page.screenshot()))
      }
      await openTicket(page, 'Two of the eight frames')
      await page.locator('.message.outbound').waitFor()
      await page.locator('.customer').getByText('Radhaus Kiel').waitFor()
      await take('inbox')
      await visit(page, 'reports/operation')
      await page.getByText(/new tickets: \d/).waitFor({ state: 'attached' })
      await take('overview')
      await page.context().close()
    }
    const sizes = NAMES.map((name) => readFileSync(path.join(folder, name)).length)
    console.info(`pictures: ${sizes.join(', ')} bytes`)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES)
    expect(desk.faults).toEqual([])
  } finally {
    await desk.stop()
    if (!is_kept) rmSync(folder, { recursive: true })
  }
  const readme = readFileSync(path.join(import.meta.dir, '../../README.md'), 'utf8')
  for (const name of NAMES) expect(readme).toContain(`tests/console/${name}`)
})

/** Makes a WebP of a picture: the browser of the test does so on a page that has no policy. */
async function smaller(page: Page, png: Buffer): Promise<Buffer> {
  const blank = await page.context().newPage()
  const address = await blank.evaluate(
    async (address) => {
      const image = new Image()
      image.src = address
      await image.decode()
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
      canvas.getContext('2d')!.drawImage(image, 0, 0)
      return canvas.toDataURL('image/webp', 0.85)
    },
    `data:image/png;base64,${png.toString('base64')}`,
  )
  await blank.close()
  return Buffer.from(address.split(',')[1]!, 'base64')
}
