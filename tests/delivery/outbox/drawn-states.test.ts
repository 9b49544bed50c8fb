/** The pages of the rooms draw the states of their rows: every state stands there. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DELIVERY_STATUSES, LEDGER_OUTCOMES } from '../../../src/base/db/schema'

const SRC = path.join(import.meta.dir, '../../../src')

test.each([
  ['delivery/webhooks', 'States of a delivery', DELIVERY_STATUSES],
  ['mail/inbound', 'States of a ledger row', LEDGER_OUTCOMES],
  ['delivery/outbox', 'States of a row', ['due', 'waiting', 'leased', 'parked']],
] as const)('the page of %s draws all %s', (room, title, states) => {
  const page = readFileSync(path.join(SRC, room, 'README.md'), 'utf8')
  const drawing = page.split(`# ${title}\n`)[1]?.split('```')[1] ?? ''
  expect(states.filter((state) => !new RegExp(`\\b${state}\\b`).test(drawing))).toEqual([])
})
