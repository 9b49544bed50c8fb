/** Long HTML of messages becomes text beside the loop, so that others get their turn meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { safeHtmlToText } from '../../../src/base/html/text'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { quoteMessages } from '../../../src/desk/quotations/quote-messages'
import { readHistory } from '../../../src/desk/quotations/read-history'
import { transcriptOf } from '../../../src/desk/transcript/queries'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createTicket } from '../../support/factories'
import { longestTurn } from '../../support/longest-turn'

beforeAll(() => startApi())
afterAll(stopApi)

/** HTML that takes more work than its text is long. */
const SLOW = `${'<table><tbody><tr><td>'.repeat(300)}${'<p>a</p>'.repeat(100_000)}${'</td></tr></tbody></table>'.repeat(300)}`

const quote = (scope: Scope, id: string) =>
  inTransaction(scope, (inner) => quoteMessages(inner, [id], { body: '', format: 'html', body_html: '' }, []))

test.each<[string, (scope: Scope, ticket_id: string, id: string) => Promise<unknown>]>([
  ['a transcript', (scope, ticket_id) => transcriptOf(scope, ticket_id, {})],
  [
    'a history below an email',
    (scope, _, id) => readHistory(scope, [id], () => ({ sender_name: '', sender_email: '' })),
  ],
  ['a quotation', (scope, _, id) => quote(scope, id)],
])('%s of a message of 800 kB of HTML leaves the loop to others', async (_, read) => {
  const { agent, scope } = await createOrganization()
  const ticket = await createTicket(agent)
  const id = newId()
  await scope.sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, format, is_internal, direction, sender_name)
    values (${scope.organization_id}, ${id}, ${ticket.id}, '<p>a', ${SLOW}, 'html', false, 'outbound', 'Anna')`
  await read(scope, ticket.id, id)
  const whole = await longestTurn(async () => safeHtmlToText(SLOW.slice(0, 500_000)))
  expect(await longestTurn(() => read(scope, ticket.id, id))).toBeLessThan(whole / 2)
})
