/** Hostile messages in the console: none runs a script, requests anything, or leads away. */
import { expect, test } from 'bun:test'
import { openTicket, startConsole, whyNoConsole } from '../support/console'
import type { Service } from '../support/service'
import { VECTORS } from '../xss/vectors'

/** As many as a ticket shows at once. */
const PER_TICKET = 30

const reason = whyNoConsole()
if (reason) console.warn(`Hostile messages are not looked at in the console: ${reason}`)

test.skipIf(reason !== undefined)(
  'every hostile message is shown, and does nothing',
  async () => {
    const desk = await startConsole()
    try {
      const service = desk.service()
      const mailbox_id = (await service.call('GET', '/mailboxes')).body.data[0].id
      const subjects: string[] = []
      for (let start = 0; start < VECTORS.length; start += PER_TICKET) {
        const subject = `Hostile from ${start} on`
        subjects.push(subject)
        let code = ''
        for (const vector of VECTORS.slice(start, start + PER_TICKET)) {
          const row = await importHtml(service, mailbox_id, `${subject}${code && ` [${code}]`}`, vector)
          if (!code) code = (await service.call('GET', `/tickets/${row.ticket_id}`)).body.data.code
          expect([vector, row.rule]).toEqual([vector, vector === VECTORS[start] ? 'new' : 'subject_code'])
        }
      }
      const page = await desk.open()
      for (const subject of subjects) {
        await openTicket(page, subject)
        const shown = Math.min(PER_TICKET, VECTORS.length - subjects.indexOf(subject) * PER_TICKET)
        const last = page.locator('.message').nth(shown - 1)
        await last.locator('.message-frame, .message-text').waitFor()
        const is_text = (await last.locator('.message-text').count()) > 0
        await (is_text ? last : last.frameLocator('.message-frame')).getByText('before').first().waitFor()
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

/** Files an email with HTML; gives its row of the ledger. */
async function importHtml(service: Service, mailbox_id: string, subject: string, vector: string) {
  const html = Buffer.from(`<p>before</p>${vector}<p>after</p>`).toString('base64').replace(/.{76}/g, '$&\r\n')
  const raw = `From: mallory@evil.example\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${html}\r\n`
  const response = await fetch(`${service.url}/api/v1/inbound-messages?mailbox_id=${mailbox_id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token()}`, 'content-type': 'message/rfc822' },
    body: raw,
  })
  return (await response.json()).data
}
