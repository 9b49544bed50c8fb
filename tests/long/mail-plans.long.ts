/**
 * Checks that lists of sent mail and the preview of retention read indexes alone. MAIL_PLANS_TICKETS: 100,000 by
 * default.
 */
import { test } from 'bun:test'
import { checkMailPlansOf } from '../support/mail-plans'

test('sent mail is listed and counted, and retention previewed, by indexes', async () => {
  console.table(await checkMailPlansOf(Number(process.env.MAIL_PLANS_TICKETS ?? 100_000)))
}, 900_000)
