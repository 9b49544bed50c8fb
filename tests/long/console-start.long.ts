/** Leads a new admin in the console from nothing to real mail, out and back. */
import { expect, test } from 'bun:test'
import { openPart, startConsole, whyNoConsole } from '../support/console'
import { visit } from '../support/console-pages'
import { startDns } from '../support/dns'

const reason = whyNoConsole()
if (reason) console.warn(`The first steps are not gone in a browser: ${reason}`)

test.skipIf(reason !== undefined)('the first steps end with mail that came in, went out and came back', async () => {
  const desk = await startConsole((sink) => ({
    SYSTEM_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    SYSTEM_MAIL_FROM: 'desk@operator.example',
    SMTP_HOSTNAME: 'desk',
  }))
  try {
    const { call, smtp_port } = desk.service()
    // The server that sends brings mail for the mailbox back, as the MX record of a domain does.
    const [mailbox] = (await call('GET', '/mailboxes')).body.data
    await call('DELETE', `/mailboxes/${mailbox.id}`)
    const page = await desk.open()
    const welcome = page.getByRole('region', { name: 'Welcome to Deskwire' })
    await welcome.getByLabel('Name', { exact: true }).first().fill('Desk Ltd')
    await welcome.getByRole('button', { name: 'Save' }).click()
    await welcome.getByText('1 of 6 done').waitFor()
    await welcome.getByRole('button', { name: 'Add a mailbox' }).click()
    await page.getByLabel('Address', { exact: true }).fill('help@desk.example')
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Desk Ltd')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await welcome.getByRole('button', { name: 'Set the server' }).click()
    await page.getByLabel('Server for outbound email').fill('127.0.0.1')
    await page.getByLabel('Port', { exact: true }).fill(String(smtp_port))
    await page.getByLabel('Security', { exact: true }).selectOption('no encryption')
    await page.getByLabel('Signs in by').selectOption('nothing')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await welcome.getByText('The server of help@desk.example took the sign-in').waitFor()
    await welcome.getByText('Waiting for the first email').waitFor()
    await welcome.getByRole('button', { name: 'Claim the domain' }).click()
    await welcome.getByText('_deskwire-challenge.desk.example').waitFor()
    await welcome.getByRole('button', { name: 'Make a key' }).click()
    await welcome.getByText('deskwire._domainkey.desk.example').waitFor()
    // Nobody outside finds a bare name, or this machine by its own address.
    await welcome.getByText('which nobody outside finds').waitFor()
    await welcome.getByText('v=spf1 mx ~all').waitFor()
    expect(await welcome.locator('.records').textContent()).not.toContain('127.0.0.1')

    await openPart(page, 'First steps')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('It came back to the mailbox.').waitFor()
    await page.getByText(/SPF \w+, DKIM \w+, DMARC \w+/).waitFor()
    const [row] = (await call('GET', '/inbound-messages?outcome=own')).body.data
    expect(row.recipients).toEqual(['help@desk.example'])

    await page.locator('.step').last().getByLabel('Name', { exact: true }).fill('Bea')
    await page.getByLabel('Email', { exact: true }).fill('bea@desk.example')
    await page.getByRole('button', { name: 'Invite somebody' }).click()
    await page.getByText('6 of 6 done').waitFor()
    expect(desk.faults).toEqual([])
  } finally {
    await desk.stop()
  }
})

test.skipIf(reason !== undefined)('the records of a proven domain are checked, in both languages', async () => {
  using dns = await startDns({
    '*': {},
    'desk.example': { MX: ['mx.elsewhere.co'] },
    'mx.elsewhere.co': { A: ['93.184.216.40'] },
    'mx.desk.co': { A: ['93.184.216.41'] },
    '_dmarc.desk.example': { TXT: ['v=DMARC1; p=reject'] },
  })
  const desk = await startConsole(() => ({ DNS_SERVERS: dns.address, SMTP_HOSTNAME: 'mx.desk.co' }))
  try {
    const { call } = desk.service()
    const [{ id }] = (await call('GET', '/mailboxes')).body.data
    const dkim = { domain: 'desk.example', selector: 'd1' }
    await call('PATCH', `/mailboxes/${id}`, { dkim })
    const claim = (await call('POST', '/domains', { domain: 'desk.example' })).body.data
    dns.add({ [claim.dns_record.name]: { TXT: [claim.dns_record.value] } })
    expect((await call('POST', `/domains/${claim.id}/verify`)).status).toBe(200)
    const [page, german] = [await desk.open(), await desk.open({ locale: 'de-DE' })]
    for (const one of [page, german]) await visit(one, 'settings/start')
    const shows = (one: typeof page, name: string, ...texts: string[]) =>
      Promise.all(texts.map((text) => one.getByRole('row', { name }).getByText(text).first().waitFor()))
    await shows(page, 'Where mail goes', 'something else is there', 'mx.elsewhere.co', '10 mx.desk.co.')
    await shows(page, 'Who sends (SPF)', 'not found', 'Receivers may take your answers for forged.')
    await shows(page, 'Signature (DKIM)', 'not found', 'Signatures of answers fail.')
    await shows(page, 'Policy (DMARC)', 'as it should be')
    await shows(german, 'Wohin Mail geht', 'dort steht etwas anderes', 'Gefunden:')
    await shows(german, 'Wer sendet (SPF)', 'nicht gefunden', 'Empfänger können Ihre Antworten für gefälscht halten.')
    await shows(german, 'Signatur (DKIM)', 'nicht gefunden', 'Signaturen der Antworten schlagen fehl.')
    await shows(german, 'Richtlinie (DMARC)', 'wie es sein soll')

    const asked = german.waitForResponse(/\/records$/)
    await german.getByRole('button', { name: 'Signatur (DKIM) prüfen' }).click()
    expect((await asked).status()).toBe(200)
    expect(desk.faults).toEqual([])
  } finally {
    await desk.stop()
  }
})
