/** The work of admins in the console: people, keys, webhooks, mail, domains, sign-in, and old tickets. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { issueCertificate } from '../support/certificates'
import {
  ADDRESS,
  enter,
  openPart,
  openSection,
  type StartedConsole,
  startConsole,
  whyNoConsole,
} from '../support/console'
import { visit } from '../support/console-pages'
import { startStubProvider } from '../support/identity-provider'
import { lastLetterTo } from '../support/letters'
import { startReceiver } from '../support/receiver'
import { ADMIN, until } from '../support/service'
import { startTokenServer } from '../support/token-server'

/** An answer of a receiver, and a name, that would run a script if it were not text. */
const HOSTILE = '<img src=x onerror=alert(1)>'

const reason = whyNoConsole()
if (reason) console.warn(`The console is not looked at in a browser: ${reason}`)

describe.skipIf(reason !== undefined)('an admin', () => {
  let desk: StartedConsole
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let page: Page
  const call = (method: string, path: string, body?: unknown) => desk.service().call(method, path, body)
  const found = async (path: string) => (await call('GET', path)).body.data
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })

  beforeAll(async () => {
    receiver = await startReceiver({ answer: 500 })
    const { ca_file } = await issueCertificate()
    desk = await startConsole((sink) => ({
      SYSTEM_SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SYSTEM_MAIL_FROM: 'desk@operator.example',
      WEBHOOK_CA_FILE: receiver.ca_file,
      IDENTITY_ALLOWED_NETWORKS: '127.0.0.0/8',
      IDENTITY_CA_FILE: ca_file,
    }))
    page = await desk.open()
  })
  // A failed test leaves no dialog over the page of the next.
  afterEach(async () => {
    while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape')
  })
  afterAll(async () => {
    await desk.stop()
    receiver[Symbol.dispose]()
    expect(desk.faults).toEqual([])
  })

  test('sees a webhook fail, looks at the attempt, and sends it again', async () => {
    await openPart(page, 'Webhooks')
    await button('Add a webhook').click()
    await page.getByLabel('Address', { exact: true }).fill('http://plain.example')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'must be an https URL' }).waitFor()
    await page.getByLabel('Address', { exact: true }).fill(receiver.url)
    await button('Save').click()
    await page.getByRole('link', { name: receiver.url }).click()
    await button('Test it').click()
    await page.getByText('It failed:').first().waitFor()
    await desk.mail('An event for the webhook')
    await page
      .getByRole('row', { name: /ticket.created retrying/ })
      .getByRole('link')
      .click()
    await dialog('Delivery').getByText('An event for the webhook').waitFor()
    receiver.answer = 200
    await button('Send it again').click()
    await dialog('Delivery').getByText('success').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /ticket.created success 200/ }).waitFor()
  })

  test('edits a webhook with a filter and an order, and replays what it missed', async () => {
    await openPart(page, 'Webhooks')
    await button(`Edit ${receiver.url}`).click()
    await page.getByLabel('One at a time, in the order of the events').check()
    await page.getByRole('group', { name: 'Only tickets of this priority' }).getByLabel('Urgent').check()
    await page.getByRole('group', { name: 'Events' }).getByLabel('ticket.deleted').uncheck()
    await button('Save').click()
    await page.getByRole('row', { name: /in order.*filtered/ }).waitFor()
    const [hook] = await found('/webhooks')
    expect(hook).toMatchObject({ ordered: true, filter: { priority: ['urgent'] } })
    expect(hook.events).not.toContain('ticket.deleted')
    expect(hook.events).toContain('ticket.merged')
    // Opened again, it shows the filter, and takes it away.
    await button(`Edit ${receiver.url}`).click()
    const urgent = page.getByRole('group', { name: 'Only tickets of this priority' }).getByLabel('Urgent')
    expect(await urgent.isChecked()).toBe(true)
    await urgent.uncheck()
    await button('Save').click()
    await until('the filter is gone', async () => (await found('/webhooks'))[0].filter === null)
    await page.getByRole('link', { name: receiver.url }).click()
    await button('Send events again').click()
    const replay = dialog('Send events again')
    await replay.getByLabel('Events from').fill(new Date(Date.now() - 86_400_000).toISOString().slice(0, 16))
    await replay.getByLabel('Which').selectOption('every event that it wants, as a new delivery')
    await replay.getByRole('button', { name: 'Send events again' }).click()
    await page
      .getByText(/deliver(y is|ies are) on (its|their) way/)
      .first()
      .waitFor()
    await button('Switch it off').click()
    await button('Enable it again').waitFor()
    await page.getByRole('link', { name: 'All webhooks' }).click()
    await button(`Delete ${receiver.url}`).click()
    await dialog(`Delete ${receiver.url}?`).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No webhooks yet.').waitFor()
  })

  test('makes a key, which works, and revokes it', async () => {
    await openPart(page, 'API keys')
    await button('Make a key').click()
    await page.getByLabel('Name').fill('Night shift')
    await page.getByLabel('Networks').fill('no network')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'must be a network' }).waitFor()
    await page.getByLabel('Networks').fill('127.0.0.0/8')
    await button('Save').click()
    const key = await dialog('The key of Night shift').locator('.secret code').textContent()
    const ask = () => fetch(`${desk.service().url}/api/v1/tickets`, { headers: { authorization: `ApiKey ${key}` } })
    expect((await ask()).status).toBe(200)
    await button('Close').click()
    await button('Revoke Night shift').click()
    await dialog('Revoke Night shift?').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: /Night shift.*revoked/ }).waitFor()
    expect((await ask()).status).toBe(401)
  })

  test('invites somebody, who accepts and sees no pages of admins', async () => {
    await openPart(page, 'People')
    await button('Invite somebody').click()
    await page.getByLabel('Email').fill('bob@desk.example')
    await page.getByLabel('Name').fill('Bob')
    await button('Save').click()
    await page.getByRole('row', { name: /bob@desk.example agent invited/ }).waitFor()
    const isThere = () => desk.sink.messages.some(({ to }) => to.includes('bob@desk.example'))
    await until('the invitation has left', isThere)
    const { link } = await lastLetterTo(desk.sink, 'bob@desk.example')
    const other = await (await desk.profile()).newPage()
    await other.goto(link)
    await other.getByLabel('Your name').fill('Bob')
    await other.getByLabel('New password').fill('bobs own password')
    await other.keyboard.press('Enter')
    await other.getByText('You are a member now.').waitFor()
    await other.goto(desk.service().url)
    await enter(other, 'bob@desk.example', 'bobs own password')
    await other.getByRole('region', { name: 'Tickets' }).waitFor()
    await other.getByRole('link', { name: 'Reports' }).click()
    await other.getByRole('heading', { name: 'Reports' }).waitFor()
    expect(await other.getByRole('link', { name: 'Operation' }).count()).toBe(0)
    await other.context().close()
    await openPart(page, 'People')
    await button('Edit Bob').click()
    await page.getByLabel('Role').selectOption('admin')
    await page.getByLabel('Hourly rate').fill('75')
    await button('Save').click()
    await page.getByRole('row', { name: /bob@desk.example admin \$75\.00 active/ }).waitFor()
    await button('Remove Bob').click()
    await dialog('Remove Bob?').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('row', { name: /bob@desk.example/ }).waitFor({ state: 'detached' })
  })

  test('adds a mailbox, tests it, and what is typed stays when the list is drawn again', async () => {
    await openPart(page, 'Mailboxes')
    await button(`Test ${ADDRESS}`).click()
    await page.getByText('took the sign-in').first().waitFor()
    await button('Add a mailbox').click()
    await page.getByLabel('Address', { exact: true }).fill(ADDRESS)
    await page.getByLabel('Server for outbound email').fill('127.0.0.1')
    await call('POST', '/mailboxes', { address: 'other@desk.example' })
    await page.locator('td', { hasText: 'other@desk.example' }).waitFor()
    expect(await page.getByLabel('Server for outbound email').inputValue()).toBe('127.0.0.1')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'already used' }).waitFor()
    await page.getByLabel('Address', { exact: true }).fill('sales@desk.example')
    await page.getByLabel('Port', { exact: true }).fill(String(desk.sink.port))
    await page.getByLabel('Security', { exact: true }).selectOption('no encryption')
    await page.getByLabel('Signs in by').selectOption('nothing')
    await page.getByText('More settings').click()
    await page.getByLabel('Sign with the key of the domain').fill('desk.example')
    await page.getByLabel('Selector').fill('desk')
    await page.getByLabel('Signature').fill('Regards,\n{{user.name}}')
    await button('Save').click()
    await button('Test sales@desk.example').click()
    await page.getByText('The server of sales@desk.example took the sign-in').first().waitFor()
    await page.getByText('Record of the DKIM key').click()
    await page.getByText('desk._domainkey.desk.example').waitFor()
  })

  test('sets tokens (OAuth2) for a mailbox, and back to a password', async () => {
    using tokens = await startTokenServer()
    await openPart(page, 'Mailboxes')
    await button('Edit sales@desk.example').click()
    await page.getByLabel('Security', { exact: true }).selectOption('STARTTLS')
    await page.getByLabel('Signs in by').selectOption('tokens (OAuth2)')
    await page.getByLabel('User', { exact: true }).fill('sales@desk.example')
    await page.getByLabel('Token URL').fill('http://plain.example/token')
    await page.getByLabel('Client id').fill('desk')
    await page.getByLabel('Client secret').fill('a secret of the client')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'must be an https URL' }).waitFor()
    await page.getByLabel('Token URL').fill(tokens.url)
    await button('Save').click()
    await page.getByText('by tokens (OAuth2), client desk').waitFor()
    const stored = (await found('/mailboxes')).find(({ address }: { address: string }) => address.startsWith('sales'))
    expect(stored.smtp.auth).toMatchObject({ grant: 'client_credentials', client_id: 'desk', has_client_secret: true })
    // A stored value stays while something else is changed.
    await button('Edit sales@desk.example').click()
    await page.getByLabel('Name', { exact: true }).fill('Sales')
    await button('Save').click()
    await page.getByText('Sales', { exact: true }).waitFor()
    await button('Edit sales@desk.example').click()
    await page.getByLabel('Signs in by').selectOption('password')
    await page.getByLabel('Password', { exact: true }).fill('correct')
    await button('Save').click()
    await page.getByText('by tokens (OAuth2)').waitFor({ state: 'detached' })
  })

  test('makes an inlet, whose address is shown once and takes mail, and closes it', async () => {
    await openPart(page, 'Mailboxes')
    await button('Inbound webhook of sales@desk.example').click()
    await page.getByLabel('Provider', { exact: true }).selectOption('Mailgun')
    await button('Add an inbound webhook').click()
    await page.locator('.field .fault', { hasText: 'is required' }).waitFor()
    await page.getByLabel('Provider', { exact: true }).selectOption('anything that posts an email')
    await button('Add an inbound webhook').click()
    const url = await page.locator('.secret code').textContent()
    const body = 'From: erin@customer.example\r\nSubject: Through the inlet\r\n\r\nHi\r\n'
    const path = new URL(url!).pathname
    const posted = await fetch(`${desk.service().url}${path}?from=erin@customer.example`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822' },
      body,
    })
    expect(posted.status).toBe(200)
    await button('Close').click()
    await page.getByText('by raw').waitFor()
    await button('Inbound webhook of sales@desk.example').click()
    await button('Remove the inbound webhook').click()
    await dialog('Remove the inbound webhook of sales@desk.example?')
      .getByRole('button', { name: 'Remove the inbound webhook' })
      .click()
    await page.getByText('by raw').waitFor({ state: 'detached' })
    await button('Delete sales@desk.example').click()
    await dialog('Delete sales@desk.example?').getByRole('button', { name: 'Delete' }).click()
    await page.locator('td', { hasText: 'sales@desk.example' }).waitFor({ state: 'detached' })
  })

  test('searches the ledger, blocks a sender, and releases what is held', async () => {
    const subject = await desk.mail('A row of the ledger')
    await openPart(page, 'Inbound mail')
    await page.getByLabel('Subject').fill('row ledger')
    const row = page.getByRole('row', { name: new RegExp(`${subject}.*new ticket`) })
    await row.waitFor()
    await row.getByRole('link').first().click()
    const download = page.waitForEvent('download')
    await button('Download the original').click()
    expect(readFileSync(await (await download).path(), 'utf8')).toContain(subject)
    await button('Block this sender').click()
    await page.getByText('Mail from carla@customer.example is held from now on.').first().waitFor()
    await page.keyboard.press('Escape')
    await desk.mail('Held for its sender')
    await page.getByLabel('Subject').fill('')
    await page.getByLabel('Outcome').selectOption('held as spam')
    await page
      .getByRole('row', { name: /Held for its sender.*held as spam/ })
      .getByRole('link')
      .first()
      .click()
    await dialog('Inbound email').getByText('a rule of yours').waitFor()
    await button('Release it').click()
    await page.getByText('It is released and filed.').first().waitFor()
    await dialog('Inbound email').getByRole('link', { name: 'Open the ticket' }).waitFor()
    await page.keyboard.press('Escape')
    await openPart(page, 'Blocked senders')
    await button('Delete carla@customer.example').click()
    await dialog('Delete carla@customer.example?').getByRole('button', { name: 'Delete' }).click()
    await button('Add a rule').click()
    await dialog('Add a rule').getByLabel('Sender').fill('spam.example')
    await button('Save').click()
    await page.getByRole('row', { name: /spam.example is held/ }).waitFor()
    await openPart(page, 'Inbound mail')
    await button('What would become of a message?').click()
    await page.getByLabel('or as text').fill('From: dora@customer.example\nSubject: Nothing yet\n\nHi')
    await button('Try it').click()
    await page.getByText('Outcome: new ticket. Rule: fits no ticket. Sender: dora@customer.example.').waitFor()
    await page.keyboard.press('Escape')
  })

  test('finds what went out, and why it did not arrive', async () => {
    const [ticket] = await found('/tickets?per_page=1')
    await call('POST', `/tickets/${ticket.id}/messages`, { body: 'An answer' })
    await openPart(page, 'Outbound mail')
    await page.getByLabel('To').fill('@customer.example')
    await page.getByLabel('Status').selectOption('sent')
    await page
      .getByRole('row', { name: /carla@customer.example sent/ })
      .first()
      .waitFor()
    await page.getByLabel('Status').selectOption('failed')
    await page.getByText('No email has gone out.').waitFor()
  })

  test('claims a domain, whose record is not published yet', async () => {
    await openPart(page, 'Domains')
    await button('Add a domain').click()
    await dialog('Add a domain').getByLabel('Domain').fill('no domain')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'must be a domain' }).waitFor()
    await dialog('Add a domain').getByLabel('Domain').fill('desk.example')
    await button('Save').click()
    await page.getByText('_deskwire-challenge.desk.example').waitFor()
    await button('Check the record of desk.example').click()
    await page
      .getByRole('alert')
      .getByText(/verified|record/)
      .first()
      .waitFor()
  })

  test('sets an identity provider, requires no factor without one, and removes it', async () => {
    const provider = await startStubProvider()
    await openPart(page, 'Sign-in')
    await button('Require a second factor').click()
    await page.getByRole('alert').first().waitFor()
    await page.getByLabel('Issuer').fill('https://127.0.0.1:1')
    await page.getByLabel('Client id').fill('desk')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'cannot be used' }).waitFor()
    await page.getByLabel('Issuer').fill(provider.issuer)
    await page.getByLabel('Client secret').fill('a secret of the provider')
    await page.getByLabel('Claim with the role').fill('groups')
    await page.getByLabel('Values that make an admin').fill('desk-admins')
    await page.getByLabel('Values that make an agent').fill('desk-agents\nsupport')
    await button('Save').click()
    await page.getByText('The provider is saved.').first().waitFor()
    expect(await found('/identity-provider')).toMatchObject({
      issuer: provider.issuer,
      has_client_secret: true,
      role_claim: 'groups',
      role_values: { admin: ['desk-admins'], agent: ['desk-agents', 'support'] },
    })
    await button('Remove the provider').click()
    await dialog(/^Remove https/)
      .getByRole('button', { name: 'Remove the provider' })
      .click()
    await button('Remove the provider').first().waitFor({ state: 'detached' })
    expect((await call('GET', '/identity-provider')).status).toBe(404)
    provider[Symbol.dispose]()
  })

  test('changes the settings of the organization, and only those', async () => {
    await openPart(page, 'Organization')
    await page.getByLabel('Spam', { exact: true }).selectOption('is filed, and only marked')
    await page.getByLabel('Web forms that send you mail').fill('wix.example\nno sender')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'must be an email address or a domain' }).waitFor()
    await page.getByLabel('Web forms that send you mail').fill('wix.example')
    // Somebody else changes something meanwhile: what is shown is old.
    await call('PATCH', '/organization', { ticket_prefix: 'ACME' })
    await button('Save').click()
    await page.getByRole('alert').getByText('has changed').first().waitFor()
    expect((await found('/organization')).spam_policy).toBe('hold')
    await openPart(page, 'Organization')
    await page.getByLabel('Spam', { exact: true }).selectOption('is filed, and only marked')
    await page.getByLabel('Web forms that send you mail').fill('wix.example')
    await button('Save').click()
    await page.getByText('The settings are saved.').first().waitFor()
    expect(await found('/organization')).toMatchObject({
      spam_policy: 'mark',
      form_senders: ['wix.example'],
      ticket_prefix: 'ACME',
    })
  })

  test('looks at what a rule about old tickets would do, saves it, and keeps some by a label', async () => {
    const label = (await call('POST', '/labels', { name: `hold ${HOSTILE}`, color: '#EF4444' })).body.data
    const ticket = (await found('/tickets?per_page=1'))[0]
    await call('PATCH', `/tickets/${ticket.id}`, { status: 'closed' })
    await openPart(page, 'Old tickets')
    await button('Add a rule').click()
    await page.getByLabel('Days after the last change').fill('0')
    await button('Show what would go now').click()
    await page.getByRole('alert').getByText('must be a whole number from 1 to 36500').waitFor()
    await page.getByLabel('Days after the last change').fill('1')
    await page.getByLabel('Then').selectOption('delete the ticket')
    await button('Show what would go now').click()
    await page.getByText('0 tickets would be deleted now.').waitFor()
    await page.getByRole('group', { name: 'Labels that keep a ticket' }).getByLabel(`hold ${HOSTILE}`).check()
    await button('Save').click()
    await page.getByText('The rules are saved.').first().waitFor()
    expect(await found('/retention')).toMatchObject({
      rules: [{ status: 'closed', days: 1, action: 'delete' }],
      hold_label_ids: [label.id],
    })
    await button('Remove rule 1').click()
    await button('Save').click()
    await page.getByText('There is no rule: everything stays.').waitFor()
    await until('the rule is gone', async () => (await found('/retention')).rules.length === 0)
  })

  test('makes a rule, which is named in the timeline, and switches it off and on', async () => {
    await call('POST', '/macros', { name: `thanks ${HOSTILE}`, body: 'Seen', is_internal: true })
    await openPart(page, 'Rules')
    await button('Add a rule').click()
    await page.getByLabel('Name', { exact: true }).fill(`rule ${HOSTILE}`)
    await page.getByLabel('When').selectOption('message.created')
    await page.getByLabel('Macro', { exact: true }).selectOption(`thanks ${HOSTILE}`)
    await page.getByLabel('Messages from').selectOption('customers only')
    await button('Save').click()
    const row = page.getByRole('row', { name: /message.created/ })
    await row.getByText('active').waitFor()
    const [rule] = await found('/rules')
    expect(rule).toMatchObject({ on: 'message.created', filter: { direction: 'inbound' } })
    await desk.mail('A fire for the rule')
    const arrived = () => found('/tickets?search=the+rule')
    await until('the mail is a ticket', async () => (await arrived()).length > 0)
    const [ticket] = await arrived()
    const wrote = async () => (await found(`/tickets/${ticket.id}/activity`)).some(({ type }: never) => type === 'note')
    await until('the rule is applied', wrote)
    await visit(page, `tickets/${ticket.id}`)
    await page.locator('summary', { hasText: 'Timeline' }).first().click()
    await page.getByText(`Rule “rule ${HOSTILE}”`).waitFor()
    await openPart(page, 'Rules')
    await row.getByRole('button', { name: 'Switch off' }).click()
    await row.getByText('off', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Switch on' }).click()
    await until('it is active', async () => (await found('/rules'))[0].active)
  })

  test('keeps labels, macros and views in order', async () => {
    await openPart(page, 'Labels')
    await button('Add a label').click()
    await page.getByLabel('Name').fill('bug')
    await button('Save').click()
    await page.getByRole('row', { name: /^bug/ }).waitFor()
    await openPart(page, 'Macros')
    await button('Add a macro').click()
    await page.getByLabel('Name', { exact: true }).fill('Stand back')
    await page.getByLabel('Text').fill('Dear {{contact.nickname}}')
    await button('Save').click()
    await page.locator('.field .fault', { hasText: 'must name no variables but' }).waitFor()
    await page.getByLabel('Text').fill('Dear {{contact.name}}')
    await page.getByLabel('Status').selectOption('Waiting')
    await page.getByLabel('Assignee').selectOption('assigned to nobody')
    await page.getByRole('group', { name: 'Labels that it adds' }).getByLabel('bug').check()
    await button('Save').click()
    await page.getByRole('row', { name: /Stand back.*Waiting, assigned to nobody, bug/ }).waitFor()
    await button('Edit Stand back').click()
    await page.getByLabel('Status').selectOption('stays')
    await button('Save').click()
    await page.getByRole('row', { name: /Stand back.*answer assigned to nobody, bug/ }).waitFor()
    await openPart(page, 'Views')
    await button('Add a view').click()
    await page.getByLabel('Name').fill('Mine')
    await page.getByLabel('Filter').fill('status:open label:bug\nassignee:me\ncustom.mark=7')
    await page.getByLabel('Everybody sees it').check()
    await button('Save').click()
    await page.getByRole('row', { name: /Mine.*status:open label:bug assignee:me custom.mark=7 Admin/ }).waitFor()
    await button('Edit Mine').click()
    expect(await page.getByLabel('Filter').inputValue()).toBe('status:open\nlabel:bug\nassignee:me\ncustom.mark=7')
    await page.getByLabel('Filter').fill('label:nothing')
    await button('Save').click()
    await page.getByRole('dialog').getByText('label:nothing').waitFor()
    await button('Cancel').click()
    await button('Delete Mine').click()
    await dialog('Delete Mine?').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No views yet.').waitFor()
  })

  test('promises answers in time, and is told at the field what is missing', async () => {
    await openPart(page, 'SLA policies')
    await button('Add a policy').click()
    await page.getByLabel('Name', { exact: true }).fill('Everybody')
    await button('Save').click()
    const first = page.getByLabel('Urgent: first reply')
    await first.and(page.locator('[aria-invalid=true]:focus')).waitFor()
    await page.getByText('fill in one of these fields').waitFor()
    await first.fill('480')
    await page.getByLabel('Low: resolved').fill('2880')
    await button('Save').click()
    await page.getByRole('row', { name: /Everybody.*Urgent: first reply 8 hr.*Low: resolved 2 days/ }).waitFor()
  })

  test('ends another session, changes the password, and reads reports and the audit log', async () => {
    await call('POST', '/auth/login', ADMIN)
    await openPart(page, 'Sessions')
    await page.getByText('this one').waitFor()
    await button('End all others').click()
    await until('one session is left', async () => (await page.getByRole('row').count()) === 2)
    await openPart(page, 'Account')
    await page.getByLabel('Your present password').fill('not this one')
    await page.getByLabel('New password').fill('another long password')
    await button('Set the password').click()
    await page.getByRole('alert').first().waitFor()
    await openPart(page, 'Audit log')
    await page.getByLabel('What').selectOption('Made an API key')
    await page.getByTitle('api_key.created').first().waitFor()
    await page.getByRole('row', { name: /Made an API key.*Night shift/ }).waitFor()
    await page.getByRole('link', { name: 'API key', exact: true }).first().waitFor()
    expect(await page.getByRole('table').textContent()).not.toContain('{"')
    await page
      .getByRole('row', { name: /Added a mailbox/ })
      .first()
      .waitFor({ state: 'detached' })
    await openPart(page, 'Imports')
    await page.getByText('Nothing was imported.').waitFor()
    await openSection(page, 'Reports')
    await page.getByRole('cell', { name: '0 / 0' }).first().waitFor()
    await page.getByRole('link', { name: 'Operation' }).click()
    await page
      .getByText('Nothing needs attention.')
      .or(page.getByRole('list', { name: 'What needs attention' }))
      .waitFor()
    for (const name of ['Last hour', 'Last 24 hours', 'Last 30 days']) {
      await page.getByRole('button', { name }).click()
      await page.getByText(/new tickets: [1-9]/).waitFor({ state: 'attached' })
    }
    await page.locator('.plot canvas').nth(4).waitFor()
  })
})
