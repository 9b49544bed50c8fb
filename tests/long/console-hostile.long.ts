/** Hostile messages in the console: none runs a script, requests anything, or leads away. */
import { expect, test } from 'bun:test'
import { openTicket, startConsole, whyNoConsole } from '../support/console'
import { VECTORS } from '../xss/vectors'

const PER_TICKET = 40

const reason = whyNoConsole()
if (reason) console.warn(`Hostile messages are not looked at in the console: ${reason}`)

test.skipIf(reason !== undefined)(
  'every hostile message is shown, and does nothing',
  async () => {
    const desk = await startConsole()
    try {
      const service = desk.service()
      const { body } = await service.call('POST', '/contacts', { name: 'Mallory', email: 'mallory@evil.example' })
      const subjects: string[] = []
      for (let start = 0; start < VECTORS.length; start += PER_TICKET) {
        const subject = `Hostile ${start}`
        subjects.push(subject)
        const ticket = await service.call('POST', '/tickets', { subject, contact_id: body.data.id })
        for (const vector of VECTORS.slice(start, start + PER_TICKET)) {
          const message = { body: `<p>before</p>${vector}<p>after</p>`, is_internal: true }
          const { status } = await service.call('POST', `/tickets/${ticket.body.data.id}/messages`, message)
          expect([vector, status]).toEqual([vector, 201])
        }
      }
      const page = await desk.open()
      for (const subject of subjects) {
        await openTicket(page, subject)
        const frames = page.locator('.message-frame')
        const shown = Math.min(PER_TICKET, VECTORS.length - subjects.indexOf(subject) * PER_TICKET)
        await frames.nth(shown - 1).waitFor()
        await page
          .frameLocator('.message-frame')
          .nth(shown - 1)
          .getByText('before')
          .first()
          .waitFor()
        expect(await page.locator('script').count()).toBe(1)
        expect(page.url()).toContain('/tickets/')
      }
      expect(desk.faults).toEqual([])
    } finally {
      await desk.stop()
    }
  },
  480_000,
)
